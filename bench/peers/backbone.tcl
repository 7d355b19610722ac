# Bulk TCP NewReno flows between all pairs of a network's nodes; prints one line of JSON.
#
#   ns backbone.tcl links FILE [name value ...]      (names and defaults: see read_options below)
#
# FILE has a line for each link, in both directions: node node bits-per-second seconds. Nodes are counted from 0. Routes have the
# least number of links. Packets as in dumbbell.tcl.

source [file join [file dirname [info script]] network.tcl]

read_options {
    links ""
    seconds 1
    queue_packets 1000
    start_interval_seconds 0.0001
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
Agent/TCP set packetSize_ [expr {$option(wire_bytes) - 40}]
Agent/TCP set windowInit_ $option(initial_window)
Agent/TCP set window_ 1000000

set simulator [new Simulator]
$simulator use-scheduler $scheduler
set file [open $option(links)]
while {[gets $file line] >= 0} {
    foreach {a b bps seconds} $line break
    foreach end [list $a $b] {
        if {![info exists node($end)]} {
            set node($end) [$simulator node]
        }
    }
    $simulator duplex-link $node($a) $node($b) $bps $seconds DropTail
    $simulator queue-limit $node($a) $node($b) [expr {$option(queue_packets) + 1}]
    $simulator queue-limit $node($b) $node($a) [expr {$option(queue_packets) + 1}]
}
close $file

set senders {}
set nodes [lsort -integer [array names node]]
foreach src $nodes {
    foreach dst $nodes {
        if {$src == $dst} {
            continue
        }
        set sender [new Agent/TCP/Newreno]
        set receiver [new Agent/TCPSink]
        join_agents $simulator $node($src) $sender $node($dst) $receiver
        $simulator at [expr {[llength $senders] / 2 * $option(start_interval_seconds)}] "$sender send -1"
        lappend senders $sender [list $node($src) $node($dst)]
    }
}

# The number of links that ns-2's routes take from one node to another.
proc links_between {src dst} {
    global simulator
    set logic [$simulator get-routelogic]
    set count 0
    set here [$src id]
    while {$here != [$dst id]} {
        set here [$logic lookup $here [$dst id]]
        incr count
    }
    return $count
}

# As in dumbbell.tcl, an ACK that came back stands for a data packet and itself; what was dropped or is under way is left out.
proc report {} {
    global senders
    set hops 0
    foreach {sender ends} $senders {
        foreach {src dst} $ends break
        set links [expr {[links_between $src $dst] + [links_between $dst $src]}]
        set hops [expr {$hops + $links * wide([$sender set nackpack_])}]
    }
    puts "{\"packet_hops\": $hops}"
    exit 0
}

$simulator at $option(seconds) report
$simulator run
