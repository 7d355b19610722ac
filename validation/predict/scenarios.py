"""Random scenarios that the predict engine answers."""

import random
from collections.abc import Callable
from typing import Any

Spec = dict[str, Any]
STACKS = ("newreno", "cubic", "linux-reno", "linux-cubic", "kikolo")
PATH_STACKS = ("newreno", "cubic", "linux-reno", "linux-cubic", "mprc", "path-count")
"""Stacks of sprayed flows."""
OTHER_STACKS = ("bic", "highspeed", "scalable", "htcp", "westwood", "illinois", "compound", "vegas", "dctcp")
"""Stacks without a formula, whose law is observed, and Vegas."""
DURATION_S, WARM_UP_S = 120, 20


def document(seed: int) -> dict[str, Any]:
    """A random scenario; the families take turns."""
    draw = random.Random(f"predict {seed}")
    family = FAMILIES[seed % len(FAMILIES)]
    found = family(draw)
    run = {"duration": f"{DURATION_S}s", "warm_up": f"{WARM_UP_S}s", "seeds": [seed]}
    return {"title": f"{family.__name__.strip('_')} {seed}", "run": run, **found}


def log_uniform(draw: random.Random, low: float, high: float) -> float:
    """A number between two, whose logarithm is uniform."""
    return low * (high / low) ** draw.random()


def _dumbbell(
    draw: random.Random, groups: list[dict[str, Any]], rtts_ms: list[float], loss: float = 0.0
) -> dict[str, Any]:
    """Each group between hosts of its own, over one link."""
    rate_mbps = log_uniform(draw, 3, 60)
    bdp = max(2.0, rate_mbps * 1e6 * (sum(rtts_ms) / len(rtts_ms)) / 1e3 / 12000)
    queue = max(5, min(2000, round(bdp * log_uniform(draw, 0.2, 3))))
    links: list[dict[str, Any]] = [
        {"source": "left", "target": "right", "capacity": f"{rate_mbps:.2f}Mbps", "delay": "1ms"}
    ]
    traffic = []
    for index, (group, rtt_ms) in enumerate(zip(groups, rtts_ms, strict=True)):
        delay_ms = max(0.1, (rtt_ms / 2 - 1) / 2)
        links.append({"source": f"s{index}", "target": "left", "delay": f"{delay_ms:.3f}ms", "capacity": "1Gbps"})
        links.append({"source": "right", "target": f"d{index}", "delay": f"{delay_ms:.3f}ms", "capacity": "1Gbps"})
        traffic.append({"from": f"s{index}", "to": f"d{index}", **group})
    found: dict[str, Any] = {"topology": topology(links, queue), "traffic": traffic}
    if loss:
        found["impairments"] = [{"link": ["left", "right"], "loss": round(loss, 6), "one_way": True}]
    return found


def topology(links: list[dict[str, Any]], queue: int) -> dict[str, Any]:
    """A topology of these links, with queues of so many packets."""
    names = dict.fromkeys(name for link in links for name in (link["source"], link["target"]))
    return {"nodes": [{"name": name} for name in names], "links": links, "queue": {"limit": f"{queue} packets"}}


def _alone(draw: random.Random) -> dict[str, Any]:
    return _dumbbell(draw, [{"stack": draw.choice(STACKS)}], [log_uniform(draw, 8, 150)])


def _one_rtt(draw: random.Random) -> dict[str, Any]:
    flows, rtt_ms = draw.randint(2, 20), log_uniform(draw, 8, 150)
    stack = draw.choice(STACKS)
    return _dumbbell(draw, [{"stack": stack}] * flows, [rtt_ms] * flows)


def _mixed_rtts(draw: random.Random) -> dict[str, Any]:
    flows, stack = draw.randint(2, 12), draw.choice(STACKS)
    return _dumbbell(draw, [{"stack": stack}] * flows, [log_uniform(draw, 8, 150) for _ in range(flows)])


def _mixed_stacks(draw: random.Random) -> dict[str, Any]:
    flows, one_rtt = draw.randint(2, 12), log_uniform(draw, 8, 150)
    rtts = [one_rtt if draw.random() < 0.5 else log_uniform(draw, 8, 150) for _ in range(flows)]
    return _dumbbell(draw, [{"stack": draw.choice(STACKS)} for _ in range(flows)], rtts)


def _managed(draw: random.Random) -> dict[str, Any]:
    """A queue that drops or marks before it is full."""
    flows, one_rtt, stack = draw.randint(1, 12), log_uniform(draw, 8, 150), draw.choice(STACKS)
    rtts = [one_rtt if draw.random() < 0.5 else log_uniform(draw, 8, 150) for _ in range(flows)]
    found = _dumbbell(draw, [{"stack": "sender"}] * flows, rtts)
    discipline = draw.choice(("red", "codel", "ecn-threshold"))
    queue: dict[str, Any] = {"discipline": discipline, "limit": "1000 packets"}
    if discipline == "red":
        minimum = draw.randint(5, 30)
        queue |= {"minimum": minimum, "maximum": 3 * minimum}
    elif discipline == "ecn-threshold":
        queue["mark"] = draw.randint(10, 100)
    found["topology"]["queue"] = queue
    found["stacks"] = {"sender": {"preset": stack, "ecn": discipline == "ecn-threshold"}}
    return found


def _bbr(draw: random.Random) -> dict[str, Any]:
    """BBR alone, or beside senders that answer losses."""
    count, others = draw.randint(1, 6), draw.choice((0, 0, 1, 1, 1)) * draw.randint(1, 6)
    one_rtt, stack = log_uniform(draw, 8, 150), draw.choice(STACKS[:4])
    rtts = [one_rtt if draw.random() < 0.6 else log_uniform(draw, 8, 150) for _ in range(count + others)]
    groups = [{"stack": "bbr" if index < count else stack} for index in range(count + others)]
    return _dumbbell(draw, groups, rtts)


def _loss(draw: random.Random) -> dict[str, Any]:
    flows = draw.randint(1, 4)
    groups = [{"stack": draw.choice(STACKS)} for _ in range(flows)]
    return _dumbbell(draw, groups, [log_uniform(draw, 8, 150) for _ in range(flows)], log_uniform(draw, 0.0005, 0.03))


def _others(draw: random.Random) -> dict[str, Any]:
    """Flows of another control, some of them with losses at random."""
    stack, flows, one_rtt = draw.choice(OTHER_STACKS), draw.choice((1, 1, 2, 3, 5, 8)), log_uniform(draw, 8, 150)
    rtts = [one_rtt if draw.random() < 0.7 else log_uniform(draw, 8, 150) for _ in range(flows)]
    marks = stack == "dctcp"
    loss = 0.0 if marks or draw.random() < 0.6 else log_uniform(draw, 0.0005, 0.02)
    found = _dumbbell(draw, [{"stack": stack}] * flows, rtts, loss)
    if marks:
        mark = draw.randint(10, 60)
        found["topology"]["queue"] = {"discipline": "ecn-threshold", "limit": "1000 packets", "mark": mark}
    return found


def _limits(draw: random.Random) -> dict[str, Any]:
    flows = draw.randint(2, 10)
    groups: list[dict[str, Any]] = []
    for _ in range(flows):
        kind = draw.random()
        group: dict[str, Any] = {"stack": draw.choice(STACKS)}
        if kind < 0.4:
            group = {"stack": draw.choice(STACKS), "constant": f"{log_uniform(draw, 0.1, 3):.3f}Mbps"}
        elif kind < 0.6:
            group = {"transport": "udp", "constant": f"{log_uniform(draw, 0.05, 0.5):.3f}Mbps", "packet": "1000 bytes"}
        groups.append(group)
    return _dumbbell(draw, groups, [log_uniform(draw, 8, 150) for _ in range(flows)])


def _parking_lot(draw: random.Random) -> dict[str, Any]:
    hops = draw.randint(2, 4)
    links = [
        {
            "source": f"n{hop}", "target": f"n{hop + 1}", "capacity": f"{log_uniform(draw, 5, 40):.2f}Mbps", "delay": f"{log_uniform(draw, 2, 30):.2f}ms",
        }
        for hop in range(hops)
    ]  # fmt: skip
    traffic = []
    stack = draw.choice(STACKS)
    for index in range(draw.randint(hops + 1, 3 * hops)):
        first = 0 if index == 0 else draw.randint(0, hops - 1)
        last = hops if index == 0 else draw.randint(first + 1, hops)
        traffic.append({"from": f"n{first}", "to": f"n{last}", "stack": stack})
    return {"topology": topology(links, draw.randint(20, 200)), "traffic": traffic}


def _network(draw: random.Random) -> dict[str, Any]:
    name = draw.choice(("Abilene", "Nsfnet", "Geant2001", "Aconet"))
    topology = {
        "from": f"topozoo/{name}", "capacity": f"{log_uniform(draw, 5, 40):.1f}Mbps", "delay": {"speed": "2e8 m/s", "plus": "1ms"},
        "queue": {"limit": f"{draw.randint(20, 200)} packets"},
    }  # fmt: skip
    pattern = draw.randint(6, 30)
    return {
        "topology": topology,
        "routing": {"ospf": {"metric": "ospf"}},
        "traffic": [
            {
                "from": "*",
                "to": "*",
                "pattern": "random-pairs",
                "count": pattern,
                "stack": draw.choice(STACKS),
                "routing": "ospf",
            }
        ],
    }


def _sprayed(draw: random.Random) -> dict[str, Any]:
    """Flows over parallel paths, packet by packet."""
    paths, rate_mbps, delay_ms = draw.randint(2, 4), log_uniform(draw, 4, 30), log_uniform(draw, 3, 50)
    links = [{"source": "a", "target": "left", "delay": "0.1ms", "capacity": "1Gbps"}]
    links.append({"source": "right", "target": "b", "delay": "0.1ms", "capacity": "1Gbps"})
    for path in range(paths):
        delay = delay_ms * draw.uniform(1, draw.choice((1.001, 1.05, 1.5)))
        links.append(
            {"source": "left", "target": f"m{path}", "delay": f"{delay:.3f}ms", "capacity": f"{rate_mbps:.2f}Mbps"}
        )
        links.append({"source": f"m{path}", "target": "right", "delay": "0.1ms", "capacity": "1Gbps"})
    routing = {
        "spray": {
            "metric": "hop-count",
            "paths": {"disjoint": paths},
            "select": draw.choice(("random", "round-robin")),
            "per": "packet",
        }
    }
    if draw.random() < 0.5:  # ACKs on one path, or sprayed as well
        routing["one"] = {"metric": "hop-count"}
        routing["spray"]["acks"] = "one"
    stack = draw.choice(PATH_STACKS)
    traffic = [{"from": "a", "to": "b", "stack": stack, "routing": "spray"} for _ in range(draw.randint(1, 3))]
    return {
        "topology": topology(links, draw.randint(30, 200)),
        "routing": routing,
        "stacks": _stack(stack),
        "traffic": traffic,
    }


def _stack(name: str) -> dict[str, Any]:
    return {name: {"preset": "newreno", "detection": name}} if name == "path-count" else {name: {"preset": name}}


def short_document(seed: int) -> tuple[str, dict[str, Any]]:
    """Flows of one size that arrive at random, and what they meet: an idle link, losses, their own load, or long flows."""
    draw = random.Random(f"short {seed}")
    meets = SHORT_MEETS[seed % len(SHORT_MEETS)]
    stack, size = draw.choice(STACKS), round(log_uniform(draw, 1500, 1e6))
    loss = log_uniform(draw, 0.0005, 0.02) if meets == "losses" else 0.0
    found = _dumbbell(draw, [{"stack": stack}], [log_uniform(draw, 8, 150)], loss)
    rate_bps = 1e6 * float(found["topology"]["links"][0]["capacity"].removesuffix("Mbps"))
    load = {"idle": 0.01, "losses": 0.01, "load": draw.uniform(0.2, 0.8), "long flows": draw.uniform(0.02, 0.2)}[meets]
    arrivals = min(200.0, load * rate_bps / (8 * 1.05 * size))
    short = {"arrivals": f"{arrivals:.4f}/s", "sizes": [[size, 0], [1.001 * size, 1]]}
    found["traffic"] = [{"from": "s0", "to": "d0", "stack": stack, "short": short}]
    if meets == "long flows":
        found["traffic"] += [{"from": "s0", "to": "d0", "stack": stack}] * draw.randint(1, 4)
    run = {"duration": f"{DURATION_S}s", "warm_up": "0s", "seeds": [seed]}
    return meets, {"title": f"short {seed}", "run": run, **found}


SHORT_MEETS = ("idle", "losses", "load", "long flows")
"""The conditions that short flows meet."""
FAMILIES: tuple[Callable[[random.Random], dict[str, Any]], ...] = (
    _alone, _one_rtt, _mixed_rtts, _mixed_stacks, _managed, _bbr, _loss, _limits, _parking_lot, _network, _sprayed, _others,
    _bbr, _bbr, _bbr, _sprayed, _loss, _others,
)  # fmt: skip
"""The families that take turns. Classes that few scenarios have, as flows beside BBR, need more turns for an interval."""

KINDS = ("dumbbells and parking lots", "parallel paths", "networks")
"""Kinds of networks."""


def kind(seed: int) -> str:
    """The kind of a scenario's network."""
    return KINDS[{_sprayed: 1, _network: 2}.get(FAMILIES[seed % len(FAMILIES)], 0)]
