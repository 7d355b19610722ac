"""A random scenario for each number: topology, routing, stacks, traffic, losses and events in any combination."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any

from anabranch import _core, flow_trace
from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario, ScenarioError
from bench.fuzz.originals import SCENARIOS

DURATION_S = 5
"""Virtual time of a run: with the rates below, some ten thousand packet-hops."""
NODES = {
    "line": lambda size: [f"n{index}" for index in range(1, size + 1)],
    "grid": lambda size: [f"r{row}c{column}" for row in (1, 2) for column in range(1, size + 1)],
    "dumbbell": lambda size: [f"{side}{index}" for side in "sd" for index in range(1, size + 1)],
    "parallel": lambda size: [f"{side}{index}" for side in "sd" for index in (1, 2)],
    "fat-tree": lambda size: [f"p{pod}e1h{host}" for pod in (1, 2, 3) for host in (1, 2)],
}
"""Names of nodes that may send and receive, by generator and size."""
ABILENE = ["Seattle", "Denver", "Atlanta", "Chicago", "Houston"]


@cache
def _registries() -> Mapping[str, list[str]]:
    described = json.loads(_core.algorithms())
    return {kind: [algorithm["name"] for algorithm in algorithms] for kind, algorithms in described.items()}


def random_scenario(number: int) -> dict[str, Any]:
    """The scenario of this number, as a document; the same on every machine."""
    draw = Random(number)
    topology, nodes = _topology(draw)
    stacks = {f"stack-{index}": _stack(draw) for index in range(draw.randint(1, 2))}
    routings = _routings(draw)
    document: dict[str, Any] = {
        "topology": topology | {"queue": _queue(draw)},
        "stacks": stacks,
        "routing": routings,
        "traffic": [_traffic(draw, nodes, list(stacks), list(routings)) for _ in range(draw.randint(1, 3))],
        "run": {"duration": f"{DURATION_S}s", "seed": draw.randint(1, 10**6)},
    }
    if draw.random() < 0.6:
        document["run"]["warm_up"] = f"{draw.randint(1, 4000)}ms"
    if draw.random() < 0.5:
        document["run"]["sample"] = f"{draw.choice([7, 50, 100, 333])}ms"
    if draw.random() < 0.5:
        document["impairments"] = [{"link": "all", "loss": _loss(draw)}]
    vary = Random(f"varying {number}")  # so that other scenarios stay what they were
    if vary.random() < 0.15:
        document["topology"]["override"] = [{"jitter": _jitter(vary)}]
        if "links" in topology:
            link = vary.choice(topology["links"])
            change = {"link": [link["source"], link["target"]], "delay": _ms(vary, 0.001, 0.05), "outage": "150ms"}
            document["events"] = [{"at": f"{vary.randint(1, 4000)}ms", "change": change | {"capacity": _rate(vary)}}]
    elif draw.random() < 0.2 and "links" in topology:
        document["events"] = _events(draw, topology["links"])
    many = Random(f"many pairs {number}")
    if many.random() < 0.2:
        ends = {"stack": many.choice(list(stacks)), "routing": many.choice(list(routings))}
        document["traffic"].append(_of_many_pairs(many, nodes) | ends)
    schedule = Random(f"schedule {number}")
    if schedule.random() < 0.15:
        document["topology"].setdefault("override", [{}])[0] |= _schedule(schedule)
    fabric = Random(f"fabric {number}")
    if fabric.random() < 0.2:
        _make_fabric(fabric, document, nodes)
    split = Random(f"subflows {number}")
    if split.random() < 0.15:
        _split(split, document)
    return document


def compiled(document: dict[str, Any]) -> dict[str, Any] | None:
    """The first variant and seed of a scenario, compiled; ``None`` if the scenario is refused with its problems."""
    try:
        scenario = Scenario(document, directory=SCENARIOS)
    except ScenarioError as error:
        if not error.problems:
            raise ValueError(f"refused without a problem: {error}") from error
        return None
    return compile_run(scenario.cases[0], scenario.seeds[0])


def _ms(draw: Random, low: float, high: float) -> str:
    return f"{round(1000 * draw.uniform(low, high))}us"


def _rate(draw: Random) -> str:
    return draw.choice(["1Mbps", "3.7Mbps", "10Mbps", "60Mbps"])


def _topology(draw: Random) -> tuple[dict[str, Any], list[str]]:
    kind = draw.choice([*NODES, "links", "links", "links", "topozoo/Abilene"])
    size = draw.randint(2, 4)
    if kind == "topozoo/Abilene":
        return {"from": kind, "capacity": _rate(draw), "delay": {"speed": "2e8 m/s", "plus": "1ms"}}, ABILENE
    if kind == "links":
        return _random_links(draw, size + 1)
    nodes = NODES[kind](size)
    generate: dict[str, Any] = {"kind": kind}
    if kind == "dumbbell":
        generate |= {
            "pairs": size,
            "access": "100Mbps",
            "bottleneck": _rate(draw),
            "bottleneck_delay": _ms(draw, 1, 60),
        }
    elif kind == "parallel":
        generate |= {"paths": size, "pairs": 2, "rate": _rate(draw), "access": "50Mbps", "delay": _ms(draw, 1, 60)}
        generate["difference"] = _ms(draw, 0, 40)
    elif kind == "grid":
        generate |= {"rows": 2, "columns": size, "rate": _rate(draw), "delay": _ms(draw, 0.1, 30)}
    elif kind == "line":
        generate |= {"nodes": size, "rate": _rate(draw), "delay": _ms(draw, 0.1, 60)}
    else:
        generate |= {"k": 4, "rate": "10Mbps", "delay": _ms(draw, 0.1, 2)}
    return {"generate": generate}, nodes


def _random_links(draw: Random, size: int) -> tuple[dict[str, Any], list[str]]:
    """A ring, so that every node reaches every other, with chords."""
    nodes = [f"v{index}" for index in range(size)]
    pairs = [(nodes[index], nodes[(index + 1) % size]) for index in range(size)] if size > 2 else [(nodes[0], nodes[1])]
    chords = [(one, other) for one in nodes for other in nodes if one < other and {one, other} not in map(set, pairs)]
    pairs += draw.sample(chords, draw.randint(0, len(chords)))
    links = [
        {"source": one, "target": other, "capacity": _rate(draw), "delay": _ms(draw, 0.05, 80)} for one, other in pairs
    ]
    return {"links": links}, nodes


def _queue(draw: Random) -> dict[str, Any]:
    limit = draw.choice(["2 packets", "7 packets", "50 packets", "1 bdp", "4000 bytes", "60 kB"])
    kind = draw.choice(["drop-tail", "drop-tail", "red", "codel", "ecn-threshold"])
    queue: dict[str, Any] = {"discipline": kind, "limit": limit}
    if kind in ("red", "codel") and draw.random() < 0.5:
        queue["ecn"] = True
    if kind == "ecn-threshold":
        queue["mark"] = draw.randint(1, 20)
    return queue


def _stack(draw: Random) -> dict[str, Any]:
    kinds = _registries()
    stack: dict[str, Any] = {
        "congestion": draw.choice(kinds["congestion"]),
        "detection": draw.choice(kinds["detection"]),
        "ack": draw.choice(kinds["ack"]),
        "slow_start": draw.choice(kinds["slow_start"]),
    }
    choices: Mapping[str, list[Any]] = {
        "sack": [True, True, False],
        "spurious": ["none", "dsack", "eifel"],
        "f_rto": [True, False],
        "limited_transmit": [True, False],
        "ecn": [True, False],
        "pacing": [True, False],
        "follows": ["rfc", "linux", "ns-2"],
        "handshake": [True, False],
        "mss": ["1460 bytes", "536 bytes", "100 bytes"],
        "initial_window": ["1 packets", "10 packets", "40 packets"],
        "receive_window": ["64 MB", "20 kB"],
        "min_rto": ["200ms", "10ms", "1s"],
        "rto_granularity": ["10ms", "200ms", "1ms"],
    }
    for key, values in choices.items():
        if draw.random() < 0.3:
            stack[key] = draw.choice(values)
    return stack


def _routings(draw: Random) -> dict[str, Any]:
    routing: dict[str, Any] = {"metric": draw.choice(["hop-count", "delay", "ospf", "hop-count, delay", "widest"])}
    shape = draw.choice(["single", "single", "equal-cost", "disjoint", "shortest", "link-state"])
    if shape == "equal-cost":
        routing |= {"metric": "hop-count", "select": draw.choice(["hash", "round-robin", "random"])}
    elif shape == "disjoint":
        routing |= {"metric": "delay", "paths": {"disjoint": draw.randint(1, 3)}}
    elif shape == "shortest":
        routing |= {"metric": "delay", "paths": {"shortest": draw.randint(1, 4)}}
    elif shape == "link-state":
        routing |= {"metric": "delay", "link_state": {"sample": "300ms", "window": 2, "recompute": "400ms"}}
    if "paths" in routing:
        routing["select"] = draw.choice(["hash", "round-robin", "random"])
    if "select" in routing:
        per = ["flow"] if routing["select"] == "hash" else ["packet", "flow", {"flowlet": "5ms"}]
        routing["per"] = draw.choice(per)
    if draw.random() < 0.5:
        routing["reconverge"] = "100ms"
    named = {"chosen": routing, "plain": {"metric": "delay"}}
    if draw.random() < 0.3:
        routing["acks"] = "plain"
    return named


def _traffic(draw: Random, nodes: list[str], stacks: list[str], routings: list[str]) -> dict[str, Any]:
    src, dst = draw.sample(nodes, 2)
    applications: list[Callable[[], dict[str, Any]]] = [
        lambda: {"bulk": True},
        lambda: {"size": draw.choice(["1 B", "5 kB", "60 kB", "400 kB"])},
        lambda: {"constant": draw.choice(["100kbps", "2Mbps", "30Mbps"])},
        lambda: {"poisson": "1Mbps"},
        lambda: {"on-off": {"peak": "8Mbps", "on": "50ms", "off": "80ms"}},
        lambda: {"short": {"arrivals": "40/s", "sizes": [[200, 0.0], [10_000, 0.9], [100_000, 1.0]]}},
    ]
    is_udp = draw.random() < 0.15
    application = draw.choice(applications[2:5] if is_udp else [*applications[:1] * 4, *applications])()
    entry: dict[str, Any] = {"from": src, "to": dst, "routing": draw.choice(routings)} | application
    entry |= {"transport": "udp"} if is_udp else {"stack": draw.choice(stacks)}
    if "short" not in application and draw.random() < 0.4:
        entry |= {"flows": draw.randint(1, 4), "stagger": _ms(draw, 0, 50)}
    if draw.random() < 0.3:
        entry["start"] = _ms(draw, 0, 500)
    if draw.random() < 0.2:
        entry["stop"] = f"{draw.randint(600, 4500)}ms"
    return entry


def _of_many_pairs(draw: Random, nodes: list[str]) -> dict[str, Any]:
    """Traffic that a trace, a matrix or a pattern says."""
    ends = {"from": nodes, "to": nodes}
    pairs = [draw.sample(nodes, 2) for _ in range(draw.randint(1, 8))]
    flows = [(*pair, f"{draw.randint(0, 4000)}ms", draw.choice([1, 900, "20kB"])) for pair in pairs]
    rates: dict[str, dict[str, str]] = {}
    for source, target in pairs:
        rates.setdefault(source, {})[target] = draw.choice(["10kbps", "800kbps"])
    pattern = draw.choice(["permutation", "incast", "outcast", "all-to-all"])
    repeated = {"every": "900ms"} if draw.random() < 0.5 else {}
    return draw.choice(
        [
            {"trace": flow_trace(flows)},
            {"matrix": rates, "scale": draw.choice([0.5, 3])},
            ends | {"gravity": {"total": "2Mbps"}},
            ends | {"gravity": {"total": "2Mbps"}, "short": {"sizes": [[200, 0.0], [9000, 1.0]]}},
            ends | {"pattern": pattern, "size": "7 kB"} | repeated,
        ]
    )


def _make_fabric(draw: Random, document: dict[str, Any], nodes: list[str]) -> None:
    """Gives switches trimming queues and selectors of a fabric, senders entropy values, and some traffic messages."""
    kinds = _registries()
    limit, share = draw.choice(["3 packets", "20 packets", "9 kB", "1 bdp"]), draw.random()
    marks = {"mark_from": share / 2, "mark_to": share}
    trims = {"trim": draw.random() < 0.8, "control": draw.randint(1, 4)}
    document["topology"]["queue"] = {"discipline": "trimming", "limit": limit} | marks | trims
    select = draw.choice(["adaptive", "drill", "hash"])
    per = draw.choice(["packet", "packet", "flow", *([] if select == "hash" else [{"flowlet": "5ms"}])])
    paths = draw.choice([{}, {"paths": {"disjoint": 2}}])
    spray = {"metric": "hop-count", "select": select, "per": per} | paths
    if draw.random() < 0.5:
        spray["reconverge"] = "100ms"
    document["routing"]["chosen"] = spray
    for stack in document["stacks"].values():
        stack["entropy"] = draw.choice(kinds["entropy"])
    control = draw.choice(["nscc", "rccc", "both"])
    protocol = {"name": "uet", "control": control, "trimming": trims["trim"], "grant": draw.randint(1, 6)}
    sizes = {"mss": draw.choice(["1000 B", "4086 B"]), "header": "64 B", "ecn": draw.random() < 0.8}
    document["stacks"]["messages"] = {"protocol": protocol, "entropy": draw.choice(kinds["entropy"])} | sizes
    ends = {"stack": "messages", "routing": "chosen"}
    pairs = [draw.sample(nodes, 2) for _ in range(draw.randint(1, 4))]
    size = draw.choice(["1 B", "4086 B", "60 kB", "400 kB"])
    document["traffic"] += [{"from": source, "to": target, "size": size} | ends for source, target in pairs]


def _split(draw: Random, document: dict[str, Any]) -> None:
    """Splits the flows of a stack over subflows, whose routes do not change during the run."""
    stack = document["stacks"]["stack-0"]
    stack.pop("entropy", None)
    scheduler = draw.choice(["min-rtt", "blest", "ecf"])
    stack["protocol"] = {"name": "mptcp", "subflows": draw.randint(1, 6), "scheduler": scheduler}
    if draw.random() < 0.7:
        stack["congestion"] = draw.choice(["lia", "olia", "balia"])
    for routing in document["routing"].values():
        routing.pop("reconverge", None)
        routing.pop("link_state", None)


def _schedule(draw: Random) -> dict[str, Any]:
    """A capacity or a delay that changes, from the files of the examples."""
    table = {"table": "traces/satellite.csv", "repeat": draw.choice(["60s", "61.5s"])}
    return draw.choice(
        [
            {"capacity": {"trace": "traces/cellular.down"}},
            {"capacity": table, "delay": table | {"interpolate": True}},
            {"delay": table | {"interpolate": draw.random() < 0.5}},
        ]
    )


def _loss(draw: Random) -> Any:
    return draw.choice(
        [
            draw.choice([0.0, 1e-3, 0.01, 0.1]),
            {"model": "gilbert-elliott", "good_to_bad": 0.02, "bad_to_good": 0.3},
            {"model": "periodic", "every": draw.randint(2, 300)},
            {"model": "list", "packets": sorted(draw.sample(range(1, 60), 5))},
        ]
    )


def _jitter(draw: Random) -> dict[str, Any]:
    distribution = draw.choice(
        [
            {"distribution": "uniform", "up_to": "5ms"},
            {"distribution": "normal", "mean": "4ms", "deviation": "2ms"},
            {"distribution": "pareto", "mean": "2ms"},
        ]
    )
    return distribution | {"reorder": draw.random() < 0.5}


def _events(draw: Random, links: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    link = draw.choice(links)
    ends = [link["source"], link["target"]]
    return [{"at": "400ms", "fail": ends}, {"at": f"{draw.randint(410, 4000)}ms", "repair": ends}]
