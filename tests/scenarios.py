"""Scenario texts that several tests share."""

LINE = """\
title = "A line"

[topology]
links = [
    { source = "A", target = "B", capacity = "10Mbps", delay = "5ms" },
    { source = "B", target = "C", capacity = "1Gbps", length = "1000km", cost = 7.0 },
]

[[traffic]]
from = "A"
to = "C"
bulk = true
stack = "newreno"

[run]
duration = "2s"
"""

DESIGN = """\
title = "What packet spraying does to TCP"

[topology]
from = "topozoo/Abilene"                 # or a file, a generator, or inline nodes and links
capacity = "10Mbps"
delay = { speed = "2e8 m/s", plus = "1ms" }   # from length
queue = { discipline = "drop-tail", limit = "100 packets" }

[routing]
ospf  = { metric = "hop-count" }
spray = { paths = { disjoint = 2 }, select = "round-robin", per = "packet" }

[stacks]
newreno = { preset = "newreno" }
mprc    = { congestion = "newreno", detection = { name = "fast-rto", gamma = 1.5 }, ack = "immediate" }
cubic-over-fast-rto = { congestion = "cubic", detection = "fast-rto" }

[[traffic]]
from = "Seattle"
to = "Atlanta"
bulk = true
stack = ["newreno", "mprc"]
routing = ["ospf", "spray"]

[[events]]
at = "10s"
fail = ["Denver", "Kansas City"]

[run]
duration = "30s"
warm_up = "5s"
seeds = 5
sample = "100ms"
"""
