# Bulk TCP NewReno flows over any network; prints one line of JSON.
#
#   ns flows.tcl links FILE flows FILE [name value ...]      (names and defaults: see read_options below)
#
# The first file has a line for each link, in both directions: node node bits-per-second seconds packets packets ratio, the queues
# there and back and the share of packets lost on the way there. Nodes are counted from 0. The second has a line for each flow: node
# node seconds bytes, when it starts and how much it sends, -1 for no end. Routes have the least number of links. Packets as in
# dumbbell.tcl.

source [file join [file dirname [info script]] network.tcl]

read_options {
    links ""
    flows ""
    seconds 1
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

proc lines_of {name} {
    set file [open $name]
    set lines [split [string trim [read $file]] "\n"]
    close $file
    return $lines
}

# CPU seconds of this process so far, as Linux tells them.
proc cpu_seconds {} {
    return [expr {[lindex [lines_of /proc/self/schedstat] 0 0] * 1e-9}]
}

set simulator [new Simulator]
$simulator use-scheduler $scheduler
foreach line [lines_of $option(links)] {
    foreach {a b bps seconds there back loss} $line break
    foreach end [list $a $b] {
        if {![info exists node($end)]} {
            set node($end) [$simulator node]
        }
    }
    $simulator duplex-link $node($a) $node($b) $bps $seconds DropTail
    $simulator queue-limit $node($a) $node($b) [expr {$there + 1}]
    $simulator queue-limit $node($b) $node($a) [expr {$back + 1}]
    if {$loss > 0} {
        lose_after_link $simulator [$simulator link $node($a) $node($b)] [random_losses $loss 1]
    }
}

set senders {}
foreach line [lines_of $option(flows)] {
    foreach {src dst start bytes} $line break
    set sender [new Agent/TCP/Newreno]
    join_agents $simulator $node($src) $sender $node($dst) [new Agent/TCPSink]
    $simulator at $start "$sender send $bytes"
    lappend senders $sender [list $node($src) $node($dst)]
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
    global senders began
    set spent [expr {[cpu_seconds] - $began}]
    set hops 0
    foreach {sender ends} $senders {
        foreach {src dst} $ends break
        set links [expr {[links_between $src $dst] + [links_between $dst $src]}]
        set hops [expr {$hops + $links * wide([$sender set nackpack_])}]
    }
    puts "{\"packet_hops\": $hops, \"cpu_seconds\": $spent}"
    exit 0
}

# Routes are computed when the simulator starts.
$simulator at 0 {set began [cpu_seconds]}
$simulator at $option(seconds) report
$simulator run
