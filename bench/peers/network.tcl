# What the ns-2 scripts share. The network of the dumbbell and of the single flow: N sources and N sinks around one bottleneck.
#
#   source i --access-- router 1 --bottleneck-- router 2 --access-- sink i
#
# Units: bits per second, seconds, bytes, packets.

# Make ns-2 faster than it is as installed, without a change to its results; before the simulator object exists.
proc tune {} {
    # Keep only the headers that one-way TCP uses, so that a packet is small and cheap to allocate.
    remove-all-packet-headers
    add-packet-header Common IP TCP Flags
    # The link-use history serves only QuickStart, which no script here turns on.
    Queue set util_records_ 0
}

# Queue room of the access links and of the way back: more than any run can fill.
set unlimited_packets 100000000

# Fill the array `option` from `defaults`, then from the command line: name value name value ...
proc read_options {defaults} {
    global argv option
    array set option $defaults
    foreach {name value} $argv {
        if {![info exists option($name)]} {
            puts stderr "unknown option '$name', known: [lsort [array names option]]"
            exit 2
        }
        set option($name) $value
    }
}

# A counter of dropped packets; `component` is a queue or an error model.
# It sits on the drop path only, so packets that are not dropped do not pay for it.
proc count_drops {simulator component} {
    set monitor [new QueueMonitor]
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $monitor
    $snoop target [$simulator set nullAgent_]
    $component drop-target $snoop
    return $monitor
}

# Lose packets on their way out of a link: after the queue and after the transmission, so that a lost packet has used its
# share of the capacity.
proc lose_after_link {simulator link model} {
    set wire [$link link]
    $model target [$wire target]
    $wire target $model
    return [count_drops $simulator $model]
}

# Each seed takes its own part of the random stream.
proc random_losses {loss seed} {
    set generator [new RNG]
    for {set i 0} {$i < $seed} {incr i} {
        $generator next-substream
    }
    set uniform [new RandomVariable/Uniform]
    $uniform set min_ 0.0
    $uniform set max_ 1.0
    $uniform use-rng $generator
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $loss
    $model ranvar $uniform
    return $model
}

# Build the nodes and links; returns {router_1 router_2 sources sinks}.
# queue_packets is how many packets may wait, not counting the one being sent: DropTail drops when
# (waiting + 1) >= limit_, hence the + 1.
proc build_network {simulator flows access_bps access_seconds bottleneck_bps bottleneck_seconds queue_packets} {
    global unlimited_packets
    set router_1 [$simulator node]
    set router_2 [$simulator node]
    $simulator duplex-link $router_1 $router_2 $bottleneck_bps $bottleneck_seconds DropTail
    $simulator queue-limit $router_1 $router_2 [expr {$queue_packets + 1}]
    $simulator queue-limit $router_2 $router_1 $unlimited_packets
    set sources {}
    set sinks {}
    for {set i 0} {$i < $flows} {incr i} {
        foreach router [list $router_1 $router_2] side {sources sinks} {
            set host [$simulator node]
            $simulator duplex-link $host $router $access_bps $access_seconds DropTail
            $simulator queue-limit $host $router $unlimited_packets
            $simulator queue-limit $router $host $unlimited_packets
            lappend $side $host
        }
    }
    return [list $router_1 $router_2 $sources $sinks]
}

# Attach a sender and a receiver to their hosts and join them.
proc join_agents {simulator source sender sink receiver} {
    $simulator attach-agent $source $sender
    $simulator attach-agent $sink $receiver
    $simulator connect $sender $receiver
}

# A JSON array of numbers.
proc json_list {values} {
    return "\[[join $values {, }]\]"
}
