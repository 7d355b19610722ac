# Figure 3 in ns-2, the simulator of the paper: a cross-check of section 4. The study does not run it.
#
#   ns parallel-paths.tcl DELAYS ACCESS WINDOW SEED
#
# DELAYS of the paths in ms with commas ("2,3.3,3.3,3.3" is SLLL at d = 1.3), ACCESS in Mbit/s, WINDOW of the senders in segments.
# Five NewReno connections of 10 s. Each has a segment of 1,000 bytes to send at exponential intervals of 0.4 ms in the mean.
# Prints total throughput and the number of window cuts.
#
# ns-2 has no random choice among links. A chain of error models replaces it: each sends the packets that it "drops" over its own path.
lassign $argv delays access window seed
set duration 10.0
ns-random $seed
set ns [new Simulator]
Agent/TCP set window_ $window
Agent/TCP set packetSize_ 1000
Queue set limit_ 1000

set left [$ns node]
set right [$ns node]
set middles {}
foreach delay [split $delays ,] {
    set middle [$ns node]
    lappend middles $middle
    $ns duplex-link $left $middle 100Mb ${delay}ms DropTail
    # The path's delay is that of its first half; the other only leads on.
    $ns duplex-link $middle $right 10Gb 0.0001ms DropTail
}
for {set i 0} {$i < 5} {incr i} {
    set source($i) [$ns node]
    set sink($i) [$ns node]
    $ns duplex-link $source($i) $left ${access}Mb 0.2ms DropTail
    $ns duplex-link $right $sink($i) ${access}Mb 0.2ms DropTail
    set tcp($i) [new Agent/TCP/Newreno]
    $ns attach-agent $source($i) $tcp($i)
    set end [new Agent/TCPSink]
    $ns attach-agent $sink($i) $end
    $ns connect $tcp($i) $end
}

# The first object of a chain that sends each packet to one of the middle nodes, with equal probability.
proc chooser {from} {
    global ns middles seed
    set chosen [[$ns link $from [lindex $middles end]] head]
    for {set i [expr {[llength $middles] - 2}]} {$i >= 0} {incr i -1} {
        set model [new ErrorModel]
        $model unit pkt
        $model set rate_ [expr {1.0 / ([llength $middles] - $i)}]
        set generator [new RNG]
        $generator seed [expr {1000 * $seed + 17 * $i + [$from id] + 1}]
        set uniform [new RandomVariable/Uniform]
        $uniform use-rng $generator
        $model ranvar $uniform
        $model drop-target [[$ns link $from [lindex $middles $i]] head]
        $model target $chosen
        set chosen $model
    }
    return $chosen
}

proc install {} {
    global left right source sink
    set forth [chooser $left]
    set back [chooser $right]
    for {set i 0} {$i < 5} {incr i} {
        [$left entry] install [$sink($i) id] $forth
        [$right entry] install [$source($i) id] $back
    }
}

set interval [new RandomVariable/Exponential]
$interval set avg_ 0.0004
set generator [new RNG]
$generator seed [expr {$seed + 77}]
$interval use-rng $generator

proc feed {i} {
    global ns tcp interval
    $tcp($i) advanceby 1
    $ns at [expr {[$ns now] + [$interval value]}] "feed $i"
}

proc finish {} {
    global tcp duration
    set segments 0
    set cuts 0
    for {set i 0} {$i < 5} {incr i} {
        incr segments [$tcp($i) set ack_]
        incr cuts [$tcp($i) set ncwndcuts_]
    }
    puts [format "%.1f Mbit/s, %d cuts" [expr {$segments * 8000.0 / $duration / 1e6}] $cuts]
    exit 0
}

$ns at 0.0 install
for {set i 0} {$i < 5} {incr i} { $ns at [expr {0.00007 * $i}] "feed $i" }
$ns at $duration finish
$ns run
