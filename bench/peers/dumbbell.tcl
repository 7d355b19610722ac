# Bulk TCP NewReno flows over one shared bottleneck; prints one line of JSON.
#
#   ns dumbbell.tcl [name value ...]      (names and defaults: see read_options below)
#
# Tuned, it runs with few packet headers and the splay-tree scheduler, the fastest of ns-2's schedulers on this network; else
# as installed, with all headers and the calendar-queue scheduler.
#
# Packets: data 1000 bytes on the wire (packetSize_ 960, to which ns-2 adds 40), ACKs 40 bytes.
# The connection begins with one 40-byte SYN and its 40-byte ACK, which are counted as packets too.

source [file join [file dirname [info script]] network.tcl]

read_options {
    flows 16
    seconds 20
    access_bps 10e9
    access_seconds 0.001
    bottleneck_bps 1e9
    bottleneck_seconds 0.010
    queue_packets 3000
    start_interval_seconds 0.010
    wire_bytes 1000
    initial_window 10
    tuned true
}
if {$option(tuned)} {
    tune
    set scheduler Splay
} else {
    set scheduler Calendar
}
set header_bytes 40

Agent/TCP set packetSize_ [expr {$option(wire_bytes) - $header_bytes}]
Agent/TCP set windowInit_ $option(initial_window)
# window_ is the receive window and also the initial slow-start threshold, in packets.
Agent/TCP set window_ 1000000

set simulator [new Simulator]
$simulator use-scheduler $scheduler
foreach {router_1 router_2 sources sinks} [build_network $simulator $option(flows) \
    $option(access_bps) $option(access_seconds) \
    $option(bottleneck_bps) $option(bottleneck_seconds) $option(queue_packets)] break
set drops [count_drops $simulator [[$simulator link $router_1 $router_2] queue]]

set senders {}
foreach source $sources sink $sinks {
    set sender [new Agent/TCP/Newreno]
    set receiver [new Agent/TCPSink]
    join_agents $simulator $source $sender $sink $receiver
    $simulator at [expr {[llength $senders] * $option(start_interval_seconds)}] "$sender send -1"
    lappend senders $sender
}

# Packet-hops are derived, which costs nothing while the simulation runs: an ACK that came back stands
# for six (its data packet and itself, over three links each), and a packet dropped at the bottleneck
# for the one link it crossed. Packets under way at the end are left out.
# Delivered packets are those the sender knows to have arrived in order, the SYN (number 0) left out;
# the goodput is their payload over the whole run.
proc report {} {
    global option header_bytes senders drops
    set hops [expr {wide([$drops set pdrops_])}]
    set delivered {}
    set goodput {}
    foreach sender $senders {
        set hops [expr {$hops + 6 * wide([$sender set nackpack_])}]
        set packets [expr {max(0, [$sender set ack_])}]
        lappend delivered $packets
        lappend goodput [expr {$packets * ($option(wire_bytes) - $header_bytes) * 8.0 / $option(seconds)}]
    }
    puts "{\"packet_hops\": $hops, \"delivered_packets\": [json_list $delivered],\
        \"goodput_bps\": [json_list $goodput], \"drops\": [$drops set pdrops_]}"
    exit 0
}

$simulator at $option(seconds) report
$simulator run
