# One or more bulk TCP flows over a bottleneck with random loss; prints one line of JSON.
# (The linux variants print further lines, which do not begin with a brace.)
#
#   ns single_flow.tcl [name value ...]      (names and defaults: see read_options below)
#
# variant: reno (Agent/TCP/Reno; a second loss in a window may be retransmitted fast as well, as in RFC 5681, which
# bugFix_ forbids), newreno (Agent/TCP/Newreno), both with Agent/TCPSink; sack1 (Agent/TCP/Sack1, Agent/TCPSink/Sack1) or
# linux-NAME, for instance linux-cubic (Agent/TCP/Linux with that congestion control, Agent/TCPSink/Sack1).
#
# Sizes: packetSize_ is the payload; the sender adds 40 bytes, so a data packet is wire_bytes long when
# packetSize_ is wire_bytes - 40. ACKs are 40 bytes, plus 8 for each SACK block they carry (at most 3).
# The SYN is a 40-byte packet with sequence number 0 and no payload.
# Goodput counts the payload acknowledged in order between warm_up_seconds and seconds (the sender's
# packet number, because the receiver's byte counter is a 32-bit number that wraps). The counts of packets
# sent (retransmissions included), retransmitted and lost and of timeouts are for the same interval.
#
# What is lost after the bottleneck: each packet with probability `loss`, or, with `losses`, the packets whose numbers
# that file holds, in ascending order, counted from 1 over all that leave the bottleneck (another simulator may take the same).
#
# Looked at every 0.1 s:
# flood_seconds: how long the senders together sent more than 2.5 times what the bottleneck can carry. Slow start sends
# twice what is acknowledged, so that no TCP that conserves packets can, but for its initial window.
# below_threshold: share of the flows' time in which cwnd was less than nine tenths of ssthresh, after the first reduction.

source [file join [file dirname [info script]] network.tcl]
tune

read_options {
    variant newreno
    flows 1
    seconds 60
    warm_up_seconds 5
    bottleneck_bps 100e6
    bottleneck_seconds 0.010
    access_seconds 0.001
    queue_packets 300
    start_interval_seconds 0.010
    wire_bytes 1000
    initial_window 10
    window 1000000
    minimum_rto_seconds 0.2
    tick_seconds 0.001
    loss 0
    losses ""
    seed 1
    handshake true
    scheduler Splay
}
set header_bytes 40

foreach class {Agent/TCP Agent/TCP/Linux} {
    $class set packetSize_ [expr {$option(wire_bytes) - $header_bytes}]
    $class set windowInit_ $option(initial_window)
    $class set window_ $option(window)
    $class set minrto_ $option(minimum_rto_seconds)
    $class set tcpTick_ $option(tick_seconds)
    # With the handshake, delay_growth_ holds the data back until the SYN is acknowledged.
    $class set syn_ $option(handshake)
    $class set delay_growth_ $option(handshake)
}

proc make_sender {variant} {
    if {$variant eq "reno"} {
        set sender [new Agent/TCP/Reno]
        $sender set bugFix_ false
        return $sender
    }
    if {$variant eq "newreno"} {
        return [new Agent/TCP/Newreno]
    }
    if {$variant eq "sack1"} {
        return [new Agent/TCP/Sack1]
    }
    if {[regexp {^linux-(.+)$} $variant - congestion_control]} {
        set sender [new Agent/TCP/Linux]
        $sender select_ca $congestion_control
        return $sender
    }
    puts stderr "unknown variant '$variant'"
    exit 2
}

proc make_receiver {variant} {
    return [expr {$variant in {reno newreno} ? [new Agent/TCPSink] : [new Agent/TCPSink/Sack1]}]
}

# ns-2 counts from 0.
proc listed_losses {file} {
    set input [open $file]
    set numbers {}
    foreach number [read $input] {
        lappend numbers [expr {$number - 1}]
    }
    close $input
    set model [new ErrorModel/List]
    $model unit pkt
    if {[llength $numbers] > 0} {
        $model droplist $numbers
    } else {
        $model droplist 2147483647
    }
    return $model
}

set simulator [new Simulator]
$simulator use-scheduler $option(scheduler)
foreach {router_1 router_2 sources sinks} [build_network $simulator $option(flows) \
    [expr {10.0 * $option(bottleneck_bps)}] $option(access_seconds) \
    $option(bottleneck_bps) $option(bottleneck_seconds) $option(queue_packets)] break
set bottleneck [$simulator link $router_1 $router_2]
set queue_drops [count_drops $simulator [$bottleneck queue]]
if {$option(losses) eq ""} {
    set model [random_losses $option(loss) $option(seed)]
} else {
    set model [listed_losses $option(losses)]
}
set losses [lose_after_link $simulator $bottleneck $model]

set senders {}
foreach source $sources sink $sinks {
    set sender [make_sender $option(variant)]
    set receiver [make_receiver $option(variant)]
    join_agents $simulator $source $sender $sink $receiver
    $simulator at [expr {[llength $senders] * $option(start_interval_seconds)}] "$sender send -1"
    lappend senders $sender
}

# The counters so far: first, per flow, the last packet known to have arrived in order, then the totals.
proc counters {} {
    global senders queue_drops losses
    set values {}
    foreach sender $senders {
        lappend values [expr {max(0, [$sender set ack_])}]
    }
    foreach name {ndatapack_ nrexmitpack_ nrexmit_} {
        set total 0
        foreach sender $senders {
            incr total [$sender set $name]
        }
        lappend values $total
    }
    lappend values [$queue_drops set pdrops_] [$losses set pdrops_]
    return $values
}

set watch_interval 0.1
set flood_seconds 0
set below_threshold 0
set sent_before 0

proc watch {} {
    global senders simulator option watch_interval flood_seconds below_threshold sent_before
    set sent 0
    foreach sender $senders {
        incr sent [$sender set ndatapack_]
        set threshold [$sender set ssthresh_]
        if {$threshold < $option(window) && [$sender set cwnd_] < 0.9 * $threshold} {
            set below_threshold [expr {$below_threshold + $watch_interval / $option(flows) / $option(seconds)}]
        }
    }
    if {($sent - $sent_before) * $option(wire_bytes) * 8.0 > 2.5 * $option(bottleneck_bps) * $watch_interval} {
        set flood_seconds [expr {$flood_seconds + $watch_interval}]
    }
    set sent_before $sent
    $simulator at [expr {[$simulator now] + $watch_interval}] watch
}

proc report {} {
    global option header_bytes at_warm_up flood_seconds below_threshold
    set interval [expr {double($option(seconds)) - $option(warm_up_seconds)}]
    set payload_bits [expr {($option(wire_bytes) - $header_bytes) * 8.0}]
    set differences {}
    foreach before $at_warm_up after [counters] {
        lappend differences [expr {$after - $before}]
    }
    set goodput {}
    foreach packets [lrange $differences 0 [expr {$option(flows) - 1}]] {
        lappend goodput [expr {$packets * $payload_bits / $interval}]
    }
    foreach {sent retransmits timeouts queue_drops random_losses} [lrange $differences $option(flows) end] break
    puts "{\"goodput_bps\": [json_list $goodput], \"sent\": $sent, \"retransmits\": $retransmits,\
        \"timeouts\": $timeouts, \"queue_drops\": $queue_drops, \"random_losses\": $random_losses,\
        \"flood_seconds\": $flood_seconds, \"below_threshold\": $below_threshold}"
    exit 0
}

$simulator at $watch_interval watch
$simulator at $option(warm_up_seconds) {set at_warm_up [counters]}
$simulator at $option(seconds) report
$simulator run
