"""Valid files of every kind that a command reads, between the nodes ``n1``, ``n2`` and ``n3`` of a line."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from anabranch.network.topologies.export import to_graphml, to_json
from anabranch.network.topologies.generate import line

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
DOT = """graph "My net" { // a comment
  edge [delay="1ms"] n1 [label="n1", pos="72,36"]
  subgraph s { n1 -- n2 [capacity=10Mbps] }
  n2 -- {n3} [weight=3];
}
"""
GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph defaultedgetype="undirected">
<attributes class="edge"><attribute id="0" title="latency_ms" type="float"/></attributes>
<nodes><node id="0" label="n1"/><node id="1" label="n2"/><node id="2" label="n3"/></nodes>
<edges><edge id="7" source="0" target="1" weight="4"><attvalues><attvalue for="0" value="2.5"/></attvalues></edge>
<edge id="8" source="1" target="2"/></edges></graph></gexf>
"""
PAJEK = """% a comment
*Vertices 3
1 "n1" 0.1 0.25
2 n2
3 n3
*Arcs
1 2 4
2 1 4 l "10 Gbit/s"
*Edges
2 3 7
"""
YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="n" yfiles.type="nodegraphics"/><key for="edge" id="e" yfiles.type="edgegraphics"/><graph edgedefault="directed">
<node id="a"><data key="n"><y:ShapeNode><y:Geometry x="1.0" y="2.0"/><y:NodeLabel>n1</y:NodeLabel></y:ShapeNode></data></node>
<node id="b"><data key="n"><y:ShapeNode><y:NodeLabel>n3</y:NodeLabel></y:ShapeNode></data></node>
<edge source="a" target="b"><data key="e"><y:PolyLineEdge><y:Arrows source="none" target="none"/></y:PolyLineEdge></data></edge>
</graph></graphml>
"""
BRITE = """Topology: ( 3 Nodes, 2 Edges )
Model (1 - RTWaxman):  3 1000 100 1  2  0.15 0.2 1 1 10.0 1024.0

Nodes: ( 3 )
n1\t912\t491\t1\t1\t-1\tRT_NODE
n2\t311\t851\t1\t1\t-1\tRT_NODE
n3\t-3\t1e2\t1\t1\t-1\tRT_NODE

Edges: ( 2 )
0\tn1\tn2\t587.7\t1.96\t10.0\t-1\t-1\tE_RT\tU
1\tn2\tn3\t1\t-1\t-1\t-1\t-1\tE_RT\tU
"""
NATIVE = """?SNDlib native format; type: network; version: 1.0
NODES (
  n1 ( 10.0 48.4 )
  n2 ( 7.7 50.3 )
  n3
)
LINKS (
  L1 ( n1 n2 ) 0.00 0.00 7.00 9.00 ( 40.00 1.00 155.00 2.00 )
  L2 ( n2 n3 ) 2.50 0.00 0.00 3.00 ( )
)
DEMANDS (
  D1 ( n1 n3 ) 1 0.5 UNLIMITED
)
"""
HTSIM = """Nodes 4
Tiers 2
Podsize 4

Tier 0
Downlink_speed_Gbps 1
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 1
Radix_Down 2
Downlink_Latency_ns 1000
Bundle 2
"""
NUMBERS = BETWEEN.replace('"n1"', '"0"').replace('"n3"', '"2"')
ON_NUMBERS = '[topology]\nfrom = "{}"\ncapacity = "10Mbps"\ndelay = "1ms"\n' + NUMBERS
"""A scenario on a file whose nodes are numbers."""
OF_NUMBERS = '[topology]\nlinks = [{ source = "0", target = "1" }, { source = "1", target = "2" }]\n[[traffic]]\n'


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
        "net.dot": DOT,
        "net.gexf": GEXF,
        "net.net": PAJEK,
        "yed.graphml": YED,
        "net.brite": BRITE,
        "native.txt": NATIVE,
        "net.intra": "n1 n2 3.5\nn2 n1 4\nn2 n3 1\nn3 n2 1\n",
    }
    of_numbers = {
        "net.topo": HTSIM,
        "hpcc.txt": "3 1 2\n1\n0 1 1Gbps 1000ns 0.000000\n1 2 400Mbps 0.002ms 0.01\n",
        "net.inet": "3 2\n0\t5625\t2473\n1\t4505\t4098\n2 1 1\n0\t1\t17\n1\t2\t3\n",
        "as-rel.txt": "# a comment\n0|1|-1\n1|2|0\n",
        "net.cch": "0 @?  (1) -> <1> {-4} =a.example r0\n1 @? (2) &1 -> <0> <2>  =b rn\n2 @?  (1) -> <1> =c r1\n-4 =d r1\n",
    }
    flows = {
        "flows.cm": "Nodes 3\nConnections 2\n0->2 id 1 start 0 size 2000\n2->1 start 2 size 1000\n",
        "triggers.cm": "Nodes 3\nConnections 3\nTriggers 2\n0->2 id 1 start 0 size 2000 send_done_trigger 1 recv_done_trigger 2\n"
        "2->1 id 2 trigger 2 size 1000\n0->1 id 3 trigger 1 size 500\ntrigger id 1 oneshot\ntrigger id 2 barrier count 1\n",
        "flow.txt": "2\n0 2 3 100 2000 0\n2 1 3 100 1000 0.000002\n",
    }
    matrices = {
        "net.demands": "DEMANDS 2\nlabel src dest bw\nd0 0 2 40\nd1 2 1 10\n",
        "plain.txt": "0 500000 1e3\n0 3 0\n7e3,0,9\n",
        "native-demands.txt": NATIVE,
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
        *(
            Original(name, text, ("check", "{scenario}"), ON_NUMBERS.format(name), weight=2)
            for name, text in of_numbers.items()
        ),
        Original("matrix.txt", "0 1 0\n2.5 0 1\n0 1 0\n", ("topology", "show", "{}"), weight=2),
        *(
            Original(name, text, ("check", "{scenario}"), f'{with_file}matrix = "{name}"\n', weight=2)
            for name, text in matrices.items()
        ),
        Original("series.txt", "0 1 1 1 0 1 1 1 0\n0 2 1 3 0 1 1e3 1 0\n", (*robust, "--matrix", "{}#2"), weight=2),
        *(
            Original(name, text, ("check", "{scenario}"), f'{OF_NUMBERS}trace = "{name}"\n', weight=2)
            for name, text in flows.items()
        ),
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
