"""A variant and a seed compile to the run that the Rust core takes: worked numbers, and the core's own reader."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _core
from anabranch.compile.run import compile_run, longest_round_trip
from anabranch.engines.refusal import refusals
from anabranch.foundation import units
from anabranch.network.topologies import Link, Node, Topology
from anabranch.scenario import Scenario, ScenarioError
from anabranch.scenario.algorithms import REGISTRIES
from tests.scenarios import DESIGN, LINE

EXAMPLES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))


def compiled(*replacements: tuple[str, str], seed: int = 1) -> dict[str, Any]:
    text = LINE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return compile_run(Scenario.from_toml(text).cases[0], seed)


def test_a_line_compiles_to_its_numbers() -> None:
    spec = compiled()
    assert spec["seed"] == 1
    assert spec["duration"] == 2 * 10**12
    assert (spec["warm_up"], spec["sample"], spec["events"], spec["captures"]) == (0, None, [], [])
    assert spec["nodes"] == ["A", "B", "C"]
    forward, back, far, _ = spec["links"]
    assert forward == {
        "src": 0,
        "dst": 1,
        "rate": 10**7,
        "delay": 5 * 10**9,
        "cost": 1.0,
        "queue": {"discipline": "drop-tail", "limit": {"packets": 100}},
        "loss": None,
    }
    assert (back["src"], back["dst"]) == (1, 0)
    # 1000 km at 2e8 m/s
    assert (far["delay"], far["cost"], far["rate"]) == (5 * 10**9, 7.0, 10**9)
    assert spec["traffic"] == [
        {
            "name": "traffic-1",
            "pairs": [(0, 2)],
            "flows_per_pair": 1,
            "transport": {"tcp": {"stack": 0}},
            "routing": 0,
            "start": 0,
            "stagger": 0,
            "stop": None,
            "application": {"kind": "bulk", "bytes": None},
        }
    ]
    assert spec["routings"][0]["hops"] == {"kind": "shortest", "metric": "ospf"}
    assert spec["stacks"][0]["congestion"]["name"] == "newreno"
    assert (spec["stacks"][0]["mss"], spec["stacks"][0]["min_rto"]) == (1460, 200 * 10**9)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_core_takes_every_variant_of_every_example(path: Path) -> None:
    for case in Scenario.load(path).cases:
        _core.Simulation(json.dumps(compile_run(case, 1)))


@pytest.mark.parametrize(
    "traffic",
    [
        'size = "1MB"',
        'constant = "1Mbps"',
        'poisson = "1Mbps"',
        'on-off = { peak = "2Mbps", on = "100ms", off = "100ms", shape = 1.5 }',
        'short = { arrivals = "10/s", sizes = "web-search" }',
        'short = { arrivals = "10/s", sizes = [[0, 0], [1000, 1.0]] }',
    ],
)
def test_the_core_takes_every_application(traffic: str) -> None:
    _core.Simulation(json.dumps(compiled(("bulk = true", traffic))))


@pytest.mark.parametrize(
    "queue",
    [
        '"drop-tail"',
        '{ discipline = "drop-tail", limit = "10 kB" }',
        '{ discipline = "red", minimum = 5.0, maximum = 15.0, probability = 0.1, weight = 0.002, ecn = true }',
        '{ discipline = "codel", target = "5ms", interval = "100ms" }',
        '{ discipline = "ecn-threshold", mark = 20, limit = "1 bdp" }',
    ],
)
def test_the_core_takes_every_queue(queue: str) -> None:
    _core.Simulation(json.dumps(compiled(("[topology]", f"[topology]\nqueue = {queue}"))))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("0.01", {"model": "bernoulli", "ratio": 0.01}),
        ("0.0", None),
        ('{ model = "periodic", every = 100 }', {"model": "periodic", "every": 100}),
        ('{ model = "list", packets = [9, 3, 9] }', {"model": "list", "packets": [9, 3, 9]}),
        (
            '{ model = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.1 }',
            {"model": "gilbert-elliott", "good_to_bad": 0.01, "bad_to_good": 0.1, "loss_good": 0.0, "loss_bad": 1.0},
        ),
    ],
)
def test_losses_on_one_or_both_directions(loss: str, expected: Mapping[str, Any]) -> None:
    for one_way in (False, True):
        text = f'[[impairments]]\nlink = ["B", "A"]\none_way = {str(one_way).lower()}\nloss = {loss}\n[run]'
        spec = compiled(("[run]", text))
        assert spec["links"][1]["loss"] == expected
        assert spec["links"][0]["loss"] == (None if one_way else expected)
        assert spec["links"][2]["loss"] is None
        _core.Simulation(json.dumps(spec))


def test_overrides_and_the_latest_of_them() -> None:
    override = """[[topology.override]]
link = "all"
capacity = "50Mbps"
[[topology.override]]
link = ["B", "C"]
one_way = true
delay = "1ms"
queue = { discipline = "codel" }
cost = 3.0
"""
    spec = compiled(("[[traffic]]", override + "[[traffic]]"))
    assert [link["rate"] for link in spec["links"]] == [50 * 10**6] * 4
    assert [link["delay"] for link in spec["links"]] == [5 * 10**9, 5 * 10**9, 10**9, 5 * 10**9]
    assert spec["links"][2]["queue"]["discipline"] == "codel"
    assert [link["cost"] for link in spec["links"]] == [1.0, 1.0, 3.0, 7.0]


def test_a_bandwidth_delay_product_is_rate_times_the_longest_round_trip() -> None:
    spec = compiled(("[topology]", '[topology]\nqueue = { discipline = "drop-tail", limit = "2 bdp" }'))
    # A to C and back: 20 ms; 10 Mbit/s x 20 ms = 25 kB, 1 Gbit/s x 20 ms = 2.5 MB
    assert [link["queue"]["limit"] for link in spec["links"]] == [{"bytes": 50_000}] * 2 + [{"bytes": 5_000_000}] * 2


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 100)), max_size=15))
def test_the_longest_round_trip_equals_brute_force(edges: list[tuple[int, int, int]]) -> None:
    ring = [(node, (node + 1) % 5, 50) for node in range(5)] + [((node + 1) % 5, node, 50) for node in range(5)]
    delays = {(a, b): delay for a, b, delay in [*edges, *ring] if a != b}
    topology = Topology("t", tuple(Node(str(n)) for n in range(5)), tuple(Link(str(a), str(b)) for a, b in delays))
    best = {(a, b): delays.get((a, b), 0 if a == b else 10**6) for a in range(5) for b in range(5)}
    for through in range(5):  # Floyd and Warshall
        best = {(a, b): min(d, best[a, through] + best[through, b]) for (a, b), d in best.items()}
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    found = longest_round_trip(topology, list(delays.values()), [(str(a), str(b)) for a, b in pairs])
    assert found == max(best[a, b] + best[b, a] for a, b in pairs)


@pytest.mark.parametrize(
    ("routing", "hops", "select", "per"),
    [
        ('metric = "delay"', {"kind": "shortest", "metric": "delay"}, "hash", {"unit": "flow"}),
        ('select = "hash"', {"kind": "equal-cost", "metric": "ospf"}, "hash", {"unit": "flow"}),
        ('select = "random"', {"kind": "equal-cost", "metric": "ospf"}, "random", {"unit": "packet"}),
        (
            'paths = { disjoint = 2 }, select = "round-robin", per = { flowlet = "1ms" }',
            {"kind": "disjoint", "metric": "ospf", "paths": 2, "by": "links"},
            "round-robin",
            {"unit": "flowlet", "gap": 10**9},
        ),
        (
            'paths = { disjoint = 2, by = "nodes" }',
            {"kind": "disjoint", "metric": "ospf", "paths": 2, "by": "nodes"},
            "hash",
            {"unit": "flow"},
        ),
        ("paths = { shortest = 3 }", {"kind": "k-shortest", "metric": "ospf", "paths": 3}, "hash", {"unit": "flow"}),
        (
            'paths = { shortest = 3 }, metric = "tcpbp-exact"',
            {"kind": "k-shortest", "metric": "tcpbp-exact", "paths": 3},
            "hash",
            {"unit": "flow"},
        ),
        (
            'paths = { within = 0.05 }, select = "weighted", metric = "delay"',
            {"kind": "near-equal", "metric": "delay", "threshold": 0.05, "paths": 8},
            "weighted",
            {"unit": "packet"},
        ),
        (
            'paths = { within = 0, most = 3 }, metric = "tcpbp-exact"',
            {"kind": "near-equal", "metric": "tcpbp-exact", "threshold": 0.0, "paths": 3},
            "hash",
            {"unit": "flow"},
        ),
        (
            'paths = [["A", "B", "C"]], weights = [2.0], select = "weighted"',
            {"kind": "explicit", "paths": [[0, 1, 2], [2, 1, 0]], "weights": [2.0, 2.0]},
            "weighted",
            {"unit": "packet"},
        ),
        (
            'paths = [["A", "B", "C"], ["C", "B", "A"]]',
            {"kind": "explicit", "paths": [[0, 1, 2], [2, 1, 0]], "weights": [1.0, 1.0]},
            "hash",
            {"unit": "flow"},
        ),
    ],
)
def test_routings(routing: str, hops: Mapping[str, Any], select: str, per: Mapping[str, Any]) -> None:
    spec = compiled(("[run]", f"[routing]\nx = {{ {routing} }}\n[run]"))
    assert len(spec["routings"]) == 1
    found = spec["routings"][0]
    assert (found["hops"], found["select"], found["per"]) == (hops, {"name": select}, per)
    _core.Simulation(json.dumps(spec))


def test_acks_may_take_another_routing() -> None:
    spec = compiled(("[run]", '[routing]\nx = { select = "random", acks = "ospf" }\n[run]'))
    assert [routing["name"] for routing in spec["routings"]] == ["ospf", "x"]
    assert spec["routings"][1]["acks"] == 0
    assert spec["traffic"][0]["routing"] == 1


def test_patterns_of_pairs() -> None:
    every = compiled(('from = "A"', 'from = "all"'), ('to = "C"', 'to = ["A", "B"]'))
    assert every["traffic"][0]["pairs"] == [(0, 1), (1, 0), (2, 0), (2, 1)]
    side = compiled(('from = "A"', 'from = ["A", "B"]\npattern = "pairs"'), ('to = "C"', 'to = ["C", "A"]'))
    assert side["traffic"][0]["pairs"] == [(0, 2), (1, 0)]


@given(st.integers(0, 2**63 - 1))
def test_random_pairs_follow_from_the_seed(seed: int) -> None:
    text = (('from = "A"', 'from = "all"\npattern = "random-pairs"\ncount = 20'), ('to = "C"', 'to = "all"'))
    pairs = compiled(*text, seed=seed)["traffic"][0]["pairs"]
    assert pairs == compiled(*text, seed=seed)["traffic"][0]["pairs"]
    assert len(pairs) == 20
    assert all(source != target for source, target in pairs)


def test_udp_has_a_packet_instead_of_a_stack() -> None:
    spec = compiled(("bulk = true", 'constant = "1Mbps"\ntransport = "udp"'), ('stack = "newreno"\n', ""))
    assert spec["traffic"][0]["transport"] == {"udp": {"packet": 1500}}
    _core.Simulation(json.dumps(spec))


def test_events_and_captures() -> None:
    actions = (("1s", 'fail=["A","B"]'), ("1.5s", 'repair=["B","A"]'), ("1.5s", "reroute=true"))
    text = "".join(f'[[events]]\nat="{at}"\n{action}\n' for at, action in actions) + "[run]"
    spec = compiled(("[run]", text), ("title =", 'capture = [["A", "B"], ["A", "B"]]\ntitle ='))
    assert spec["events"] == [
        {"at": 10**12, "action": "fail", "links": [0, 1]},
        {"at": 15 * 10**11, "action": "repair", "links": [1, 0]},
        {"at": 15 * 10**11, "action": "reroute", "links": []},
    ]
    assert spec["captures"] == [0]
    _core.Simulation(json.dumps(spec))


@pytest.mark.parametrize("kind", ["congestion", "slow_start", "detection", "ack"])
def test_the_core_takes_every_algorithm_with_its_defaults_written_out(kind: str) -> None:
    for algorithm in REGISTRIES[kind]:
        base = {"congestion": "newreno"} | {kind: algorithm["name"]}
        stack = ", ".join(f'{name} = "{value}"' for name, value in base.items())
        spec = compiled(
            ("[[traffic]]", f"[stacks]\nx = {{ {stack} }}\n[[traffic]]"), ('stack = "newreno"', 'stack = "x"')
        )
        written = spec["stacks"][0][kind]
        assert written == {"name": algorithm["name"]} | {p["name"]: p["default"] for p in algorithm["parameters"]}
        _core.Simulation(json.dumps(spec))


@pytest.mark.parametrize("discipline", REGISTRIES["queue"], ids=lambda one: one["name"])
def test_the_core_takes_every_queue_discipline_with_its_defaults_written_out(discipline: dict[str, Any]) -> None:
    spec = compiled(("[topology]", f'[topology]\nqueue = "{discipline["name"]}"'))
    defaults = {parameter["name"]: parameter["default"] for parameter in discipline["parameters"]}
    written = spec["links"][0]["queue"]
    limit = units.queue_limit(discipline["limit"])
    assert written == {"discipline": discipline["name"], "limit": {limit.unit: limit.amount}} | defaults
    _core.Simulation(json.dumps(spec))


@pytest.mark.parametrize("model", REGISTRIES["loss"], ids=lambda one: one["name"])
def test_the_core_takes_every_loss_model_with_its_parameters(model: dict[str, Any]) -> None:
    examples = {"share": 0.5, "integer": 2, "integers": [2, 1]}
    values = {
        one["name"]: examples[one["kind"]] if one["default"] is None else one["default"] for one in model["parameters"]
    }
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in {"model": model["name"], **values}.items())
    spec = compiled(("[[traffic]]", f"[[impairments]]\nloss = {{ {table} }}\n[[traffic]]"))
    assert spec["links"][0]["loss"] == {"model": model["name"]} | values
    _core.Simulation(json.dumps(spec))


@pytest.mark.parametrize("name", [algorithm["name"] for algorithm in REGISTRIES["congestion"]])
def test_every_congestion_control_is_a_preset(name: str) -> None:
    stack = compiled(('stack = "newreno"', f'stack = "{name}"'))["stacks"][0]
    detection = "rack-tlp" if name.startswith(("linux-", "bbr", "prague")) else "dup-ack"
    policies = (detection, "quick-ack" if name.startswith("linux-") else "immediate")
    assert [stack[part]["name"] for part in ("congestion", "detection", "ack")] == [name, *policies]


def test_presets_are_products_and_may_be_overridden() -> None:
    text = DESIGN.replace(
        'newreno = { preset = "newreno" }', 'mine = { preset = "mprc", ack = "delayed", mss = "1000 bytes" }'
    ).replace('"newreno", "mprc"', '"mine", "mprc"')
    stack = compile_run(Scenario.from_toml(text).cases[0], 1)["stacks"][0]
    assert [stack[part]["name"] for part in ("congestion", "detection", "ack")] == ["newreno", "fast-rto", "delayed"]
    assert stack["mss"] == 1000


@pytest.mark.parametrize(
    ("packet", "size"),
    [("", 1500), ('packet = "28 bytes"\n', 28), ('packet = "9000 bytes"\n', 9000), ('packet = "65535 bytes"\n', 65535)],
)
def test_datagrams_have_the_size_that_is_given_and_else_that_of_ethernet(packet: str, size: int) -> None:
    udp = ("bulk = true\n", f'transport = "udp"\n{packet}on-off = {{ peak = "1Mbps", on = "1ms" }}\n')
    spec = compiled(udp, ('stack = "newreno"\n', ""))
    assert spec["traffic"][0]["transport"] == {"udp": {"packet": size}}
    assert spec["stacks"] == []
    _core.Simulation(json.dumps(spec))
    # a packet takes a second at the least peak rate: a thousand times 1 ms
    least = 8 * size
    compiled(udp, ('stack = "newreno"\n', ""), ('"1Mbps", on', f'"{least} bps", on'))
    with pytest.raises(ScenarioError, match=f'over 1000 times on "1ms"; give at least "{least} bps"'):
        compiled(udp, ('stack = "newreno"\n', ""), ('"1Mbps", on', f'"{least - 1} bps", on'))


@pytest.mark.parametrize(
    ("packet", "says"),
    [
        ("65536 bytes", "must be at most 65535 bytes"),
        ("27 bytes", "must be at least 28 bytes: it counts the headers of IPv4 and UDP"),
    ],
)
def test_datagrams_that_no_ip_packet_carries_are_refused(packet: str, says: str) -> None:
    udp = f'transport = "udp"\nconstant = "1Mbps"\npacket = "{packet}"'
    with pytest.raises(ScenarioError, match=f'packet "{packet}" {says}'):
        compiled(('stack = "newreno"\n', ""), ("bulk = true", udp))


def test_the_mtu_of_hosts_holds_the_largest_datagram() -> None:
    """Otherwise the kernel engine would fragment it, or refuse to send it."""
    from anabranch.engines.kernel.hosts import _mtu

    def groups(*sizes: int) -> dict[str, Any]:
        return {
            "traffic": [
                {"transport": {"tcp": {"stack": 0}}},
                *({"transport": {"udp": {"packet": size}}} for size in sizes),
            ]
        }

    stack: Any = SimpleNamespace(mtu=1500)
    assert _mtu(groups(9000, 100), {0: stack}) == 9000
    assert _mtu(groups(100), {0: stack}) == 1500
    assert _mtu(groups(9000), {}) == 9000


BDP = """
topology.generate = { kind = "random", nodes = 12, seed = 2 }
topology.queue = { limit = "1 bdp" }
traffic = [{ from = "all", to = "all", pattern = "random-pairs", count = 3, bulk = true, stack = "newreno" }]
run.duration = "1s"
"""


def test_seeds_after_one_another_compile_as_each_does_alone() -> None:
    """The pairs, and with them the longest round trip and the queues, differ from seed to seed."""
    case = Scenario.from_toml(BDP).cases[0]
    together = [compile_run(case, seed) for seed in (1, 2, 1, 3)]
    alone = [compile_run(Scenario.from_toml(BDP).cases[0], seed) for seed in (1, 2, 1, 3)]
    assert together == alone
    assert len({spec["links"][0]["queue"]["limit"]["bytes"] for spec in alone}) > 1


def test_a_refused_run_leaves_those_of_other_seeds_as_they_are() -> None:
    """The search for all that the engine refuses puts other queues into a compiled run."""
    scenario = Scenario.from_toml(LINE.replace("[topology]", '[topology]\nqueue = { limit = "9 B" }'))
    before = json.dumps(compile_run(scenario.cases[0], 1))
    assert len(refusals(scenario).describe()) == 1
    assert json.dumps(compile_run(scenario.cases[0], 1)) == before
