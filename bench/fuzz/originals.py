"""Valid files of every kind that a command reads, between the nodes ``n1``, ``n2`` and ``n3`` of a line."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from anabranch.topologies.export import to_graphml, to_json
from anabranch.topologies.generate import line

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SCRIPTS = Path(__file__).parents[2] / "tests" / "drill"
EVERYTHING = '''\
title = "Every section"

[topology]
nodes = [{ name = "n1", latitude = 50.9, longitude = 6.9 }, { name = "n2" }, { name = "n3" }, { name = "n4" }]
links = [
    { source = "n1", target = "n2", capacity = "10Mbps", delay = "5ms", loss = "0.1%" },
    { source = "n2", target = "n3", capacity = "1Gbps", length = "1000km", cost = 7.0 },
    { source = "n1", target = "n3", capacity = "2Mbps", delay = "9ms", directed = true },
    { source = "n3", target = "n1", capacity = "2Mbps", delay = "9ms", directed = true },
    { source = "n3", target = "n4", capacity = "2Mbps", delay = "9ms" },
]
queue = { discipline = "red", limit = "1 bdp", minimum = 5.0, maximum = 15.0, weight = "1%" }

[[topology.override]]
link = ["n1", "n2"]
jitter = { distribution = "normal", mean = "4ms", deviation = "1ms", reorder = true }
delay = { speed = "2e8 m/s", plus = "1ms" }
queue = { discipline = "codel", limit = "50 packets", target = "5ms", ecn = true }

[stacks.mine]
congestion = { name = "cubic", beta = 0.7 }
detection = { name = "fast-rto", gamma = 1.5 }
ack = "delayed"
mss = "1460 bytes"

[routing]
spray = { metric = "delay", paths = { disjoint = 2 }, select = "random", per = { flowlet = "5ms" }, acks = "back" }
back = { paths = [["n3", "n2", "n1"]], select = "weighted", weights = [1.0] }

[[traffic]]
name = "short"
from = "n1"
to = ["n3"]
short = { arrivals = "5/s", sizes = [[0, 0], [1000, 0.5], [20000, 1.0]] }
stack = ["mine", "linux-cubic"]
routing = "spray"

[[traffic]]
from = "hosts"
to = "n*"
pattern = "random-pairs"
count = 3
on-off = { peak = "1Mbps", on = "10ms", off = "10ms", shape = 1.5 }
transport = "udp"
packet = "1000 bytes"
routing = "ospf"
stop = "1s"

[[traffic]]
matrix = { n1 = { n3 = "10kbps" }, n3 = { n1 = "1kbps", n2 = "0bps" } }
scale = [1, 2.5]
routing = "ospf"

[[traffic]]
routing = "ospf"
gravity = { total = "50kbps", weights = { n1 = 3, n2 = 1.5, n3 = 0 } }
short = { sizes = "data-mining" }

[[traffic]]
trace = """
src,dst,start,size
n1,n3,0,30kB
n3,n1,1.5ms,1000
"""
routing = "ospf"

[[traffic]]
routing = "ospf"
pattern = "incast"
from = "all"
to = "n3"
count = 2
size = "5 kB"
every = "300ms"

[[traffic]]
from = "n1"
to = "n3"
short = { load = 0.1, link = ["n1", "n2"] }
routing = "ospf"

[[impairments]]
link = "all"
loss = { model = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = "50%" }

[[events]]
at = "1s"
fail = ["n1", "n2"]

[[events]]
at = "1.2s"
change = { link = ["n2", "n3"], one_way = true, capacity = "5Mbps", delay = "7ms", outage = "20ms" }

[run]
duration = "2s"
warm_up = "500ms"
seeds = [1, 7]
sample = "100ms"
'''
BETWEEN = """
[[traffic]]
from = "n1"
to = "n3"
size = "10 kB"
"""
ON_FILE = '[topology]\nfrom = "{}"\ncapacity = "10Mbps"\ndelay = "1ms"\n' + BETWEEN
ON_LINE = '[topology]\nfrom = "line"\n' + BETWEEN
CSV = """source,target,capacity,delay,loss
n1,n2,10Mbps,5 ms,
n2,n3,1e9,0.001,1%
n2,n3,2e9,0.001,1%
"""
GML = """graph [ directed 0
 node [ id 0 label "n1" Latitude 50.94 Longitude 6.96 ]
 node [ id 1 label "n2" ]
 node [ id 2 label "n3" ]
 edge [ source 0 target 1 delay "5ms" length 25000 capacity "10 Mbps" cost 7 ]
 edge [ source 1 target 2 loss 0.01 ]
]
"""
SNDLIB = """<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0"><networkStructure>
<nodes coordinatesType="geographical"><node id="n1"><coordinates><x>6.96</x><y>50.94</y></coordinates></node>
<node id="n2"/><node id="n3"/></nodes><links>
<link id="L1"><source>n1</source><target>n2</target><delay>5ms</delay><routingCost>7</routingCost><additionalModules>
<addModule><capacity>2.5</capacity><cost>1</cost></addModule></additionalModules></link>
<link id="L2"><source>n2</source><target>n3</target></link></links></networkStructure>
<demands><demand id="D"><source>n1</source><target>n3</target><demandValue>2.5</demandValue></demand></demands></network>
"""
REPETITA = """NODES 3
label x y
n1 6.96 50.94
n2 7.1 50.73
n3 8.27 50

EDGES 4
label src dest weight bw delay
e0 0 1 7 10000 5000
e1 1 2 1 155520 1604
e2 2 1 1 155520 1604
e3 1 0 7 10000 5000
"""


@dataclass(frozen=True)
class Original:
    """A valid file, and the command that reads it."""

    name: str
    text: str
    command: tuple[str, ...]
    """``{}`` stands for the file, ``{scenario}`` for a scenario beside it."""
    scenario: str = ""
    """The text of that scenario."""
    weight: int = field(default=1)
    """How often it is broken, compared with others."""


@cache
def originals() -> tuple[Original, ...]:
    """All of them."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(SCENARIOS.glob("*.toml"))]
    texts = [text for text in texts if "traces/" not in text]  # which would be files beside them
    topologies = {
        "net.graphml": to_graphml(line()),
        "net.json": to_json(line()),
        "net.csv": CSV,
        "net.gml": GML,
        "net.sndlib": SNDLIB,
        "net.graph": REPETITA,
    }
    paths = [["n1", "n2", "n3"], ["n3", "n2", "n1"], ["n1", "n2"], ["n2", "n1"], ["n2", "n3"], ["n3", "n2"]]
    splits = {"splits": [{"src": p[0], "dst": p[-1], "paths": [{"path": p, "fraction": 1.0}]} for p in paths]}
    sizes = ON_LINE.replace('size = "10 kB"', 'short = { arrivals = "5/s", sizes = "sizes.csv" }')
    override = ON_LINE + "[[topology.override]]\n"
    table = (
        override
        + 'capacity = { table = "table.csv", repeat = "20s" }\ndelay = { table = "table.csv", interpolate = true }\n'
    )
    trace = override + 'capacity = { trace = "lte.down" }\njitter = { up_to = "5ms", reorder = true }\n'
    with_file = '[topology]\nfrom = "line"\n[[traffic]]\n'
    robust = ("robust", "line", "--capacity", "10Mbps")
    hose = (*robust, "--hose", "1Mbps")
    return (
        Original("everything.toml", EVERYTHING, ("check", "{}"), weight=12),
        *(Original("example.toml", text, ("check", "{}")) for text in texts),
        *(
            Original(name, text, ("check", "{scenario}"), ON_FILE.format(name), weight=4)
            for name, text in topologies.items()
        ),
        *(Original(name, text, ("topology", "show", "{}")) for name, text in topologies.items()),
        Original("sizes.csv", "bytes,cdf\n0,0\n10e3,0.5\n20000,1\n", ("check", "{scenario}"), sizes, weight=3),
        Original(
            "table.csv",
            "time,delay,capacity\n0s,20ms,10Mbps\n5,0.03,0\n5.1s,25ms,20Mbps # near\n",
            ("check", "{scenario}"),
            table,
            weight=4,
        ),
        Original(
            "flows.csv",
            "src,dst,start,size\nn1,n3,0,30kB\nn3,n1,1.5ms,1000\n",
            ("check", "{scenario}"),
            with_file + 'trace = "flows.csv"\n',
            weight=3,
        ),
        Original(
            "demands.csv",
            "source,target,rate\nn1,n3,1Mbps\nn3,n1,200kbps\n",
            ("check", "{scenario}"),
            with_file + 'matrix = "demands.csv"\n',
            weight=2,
        ),
        Original("demands.xml", SNDLIB, ("check", "{scenario}"), with_file + 'matrix = "demands.xml"\n', weight=2),
        Original(
            "people.csv",
            "node,weight\nn1,3e6\nn2,1\nn3,0\n",
            ("check", "{scenario}"),
            with_file + 'gravity = { total = "1Mbps", weights = "people.csv" }\n',
            weight=2,
        ),
        Original("lte.down", "1\n1\n3\n17\n20\n", ("check", "{scenario}"), trace, weight=3),
        Original(
            "splits.json",
            json.dumps(splits),
            ("check", "{scenario}"),
            ON_LINE + '[routing.x]\nfrom = "splits.json"\n',
            weight=3,
        ),
        Original("pairs.csv", "source,target,rate\nn1,n3,1Mbps\nn3,n1,2Mbps\n", (*robust, "--matrix", "{}"), weight=2),
        Original("pairs.toml", '[n1]\nn3 = "1Mbps"\n[n3]\nn1 = "2Mbps"\n', (*robust, "--pipe", "{}")),
        Original("pairs.xml", SNDLIB, (*robust, "--matrix", "{}")),
        Original(
            "hose.csv", "node,sent,received\nn1,1Mbps,2Mbps\nn2,1Mbps,1Mbps\nn3,0bps,1Mbps\n", (*robust, "--hose", "{}")
        ),
        Original(
            "hose.toml",
            'n1 = "1Mbps"\nn2 = { sent = "1Mbps", received = "2Mbps" }\nn3 = "1Mbps"\n',
            (*robust, "--hose", "{}"),
        ),
        Original("paths.json", json.dumps(paths), (*hose, "--paths", "{}")),
        *(
            Original("script.pkt", (SCRIPTS / f"{name}.pkt").read_text(encoding="utf-8"), ("drill", "{}"), weight=3)
            for name in ("closing", "ecn", "nagle", "sack_recovery")
        ),
        Original("groups.json", '{"duct 7": [["n1", "n2"], ["n2", "n3"]]}', (*hose, "--fail", "{}")),
    )
