"""Random scenarios of flows that tolerate losses or reordering: BBR over several paths, flowlets, and BBR version 3 with losses at random."""

import random
from collections.abc import Callable
from typing import Any

from validation.predict.scenarios import Spec, log_uniform, topology

DURATION_S, WARM_UP_S = 40, 10
BBR_STACKS: dict[str, Spec] = {
    "bbr": {"preset": "bbr"},
    "linux-bbr": {"preset": "linux-bbr"},
    "bbr3": {"preset": "bbr3"},
    "bbr-fast-rto": {"preset": "bbr", "detection": "fast-rto"},
    "bbr-dup-ack": {"preset": "bbr", "detection": "dup-ack"},
}
LOSS_STACKS: dict[str, Spec] = {
    name: {"preset": name} for name in ("newreno", "cubic", "linux-reno", "linux-cubic", "linux-westwood")
}


def document(seed: int) -> Spec:
    """A random scenario; the families take turns."""
    draw = random.Random(f"resilient {seed}")
    family = FAMILIES[seed % len(FAMILIES)]
    run = {"duration": f"{DURATION_S}s", "warm_up": f"{WARM_UP_S}s", "seeds": [seed]}
    return {"title": f"{family.__name__.strip('_')} {seed}", "run": run, **family(draw)}


def far_apart(seed: int) -> Spec:
    """BBR over several paths, of which one has up to ten times the delay of another."""
    draw = random.Random(f"far apart {seed}")
    stack = draw.choice([(name, spec) for name, spec in BBR_STACKS.items() if spec.get("detection") != "dup-ack"])
    routing = {"select": draw.choice(("random", "round-robin")), "per": "packet"}
    run = {"duration": f"{DURATION_S}s", "warm_up": f"{WARM_UP_S}s", "seeds": [seed]}
    return {"title": f"far apart {seed}", "run": run, **_parallel(draw, stack, routing, flows=1, apart=10.0)}


def _parallel(
    draw: random.Random, stack: tuple[str, Spec], routing: Spec, *, flows: int, apart: float | None = None
) -> Spec:
    """Flows over two to four parallel paths, whose delays and rates are equal or not, and which may lose packets."""
    paths, rate_mbps, delay_ms = draw.randint(2, 4), log_uniform(draw, 2, 12), log_uniform(draw, 3, 50)
    delays, rates = draw.choice((1.0, 1.05, 1.5, 3.0)), draw.choice((1.0, 1.0, 1.5, 4.0))
    loss = draw.choice((0.0, 0.0, log_uniform(draw, 2e-4, 0.03)))
    delays = apart or delays
    links: list[Spec] = [
        {"source": "a", "target": "left", "delay": "0.1ms", "capacity": "1Gbps"},
        {"source": "right", "target": "b", "delay": "0.1ms", "capacity": "1Gbps"},
    ]
    for path in range(paths):
        delay, rate = delay_ms * draw.uniform(1, delays), rate_mbps * draw.uniform(1, rates)
        links += [
            {"source": "left", "target": f"m{path}", "delay": f"{delay:.3f}ms", "capacity": f"{rate:.2f}Mbps"},
            {"source": f"m{path}", "target": "right", "delay": "0.1ms", "capacity": "1Gbps"},
        ]
    product = rate_mbps * 1e6 * 2 * delay_ms / 1e3 / 12000
    found: Spec = {
        "topology": topology(links, max(8, min(1000, round(product * log_uniform(draw, 0.3, 3))))),
        "routing": {
            "one": {"metric": "hop-count"},
            "several": {"metric": "hop-count", "paths": {"disjoint": paths}, **routing},
        },
        "stacks": {stack[0]: stack[1]},
        "traffic": [{"from": "a", "to": "b", "stack": stack[0], "routing": "several"}] * flows,
    }
    if draw.random() < 0.5:
        found["routing"]["several"]["acks"] = "one"
    if loss:
        found["impairments"] = [
            {"link": ["left", f"m{path}"], "loss": round(loss, 6), "one_way": True} for path in range(paths)
        ]
    return found


def _bbr_over_paths(draw: random.Random) -> Spec:
    stack = draw.choice(list(BBR_STACKS.items()))
    routing = {"select": draw.choice(("random", "round-robin")), "per": "packet"}
    return _parallel(draw, stack, routing, flows=draw.choice((1, 1, 1, 2, 3)))


def _flowlets(draw: random.Random) -> Spec:
    stack = draw.choice(list((BBR_STACKS | LOSS_STACKS).items()))
    gap = f"{log_uniform(draw, 0.3, 300):.3f}ms"
    routing = {"select": draw.choice(("random", "round-robin")), "per": {"flowlet": gap}}
    return _parallel(draw, stack, routing, flows=draw.choice((1, 1, 2, 4)))


def _bbr3_with_losses(draw: random.Random) -> Spec:
    flows, rate_mbps, one_rtt = draw.choice((1, 1, 2, 3)), log_uniform(draw, 3, 40), log_uniform(draw, 8, 150)
    loss = log_uniform(draw, 1e-4, 0.04)
    product = rate_mbps * 1e6 * one_rtt / 1e3 / 12000
    links: list[Spec] = [{"source": "left", "target": "right", "capacity": f"{rate_mbps:.2f}Mbps", "delay": "1ms"}]
    for index in range(flows):
        delay = f"{max(0.1, (one_rtt / 2 - 1) / 2):.3f}ms"
        links += [
            {"source": f"s{index}", "target": "left", "delay": delay, "capacity": "1Gbps"},
            {"source": "right", "target": f"d{index}", "delay": delay, "capacity": "1Gbps"},
        ]
    return {
        "topology": topology(links, max(8, min(2000, round(product * log_uniform(draw, 0.2, 3))))),
        "traffic": [{"from": f"s{index}", "to": f"d{index}", "stack": "bbr3"} for index in range(flows)],
        "impairments": [{"link": ["left", "right"], "loss": round(loss, 6), "one_way": True}],
    }


FAMILIES: tuple[Callable[[random.Random], dict[str, Any]], ...] = (
    _bbr_over_paths, _flowlets, _bbr3_with_losses, _bbr_over_paths, _flowlets,
)  # fmt: skip
