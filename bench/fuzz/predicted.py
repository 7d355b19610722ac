"""One random scenario, predicted, and its results looked at."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from anabranch.engines.packet import CompiledRun
from anabranch.engines.predict import PredictedRun, may_mark
from anabranch.foundation.array_types import Columns
from bench.fuzz.invariants import beyond
from bench.fuzz.scenarios import compiled, random_scenario

ON_THREADS_EVERY = 10
"""One scenario in this number is predicted on two threads as well."""
BALANCED = 1e-3
"""The share of its capacity by which the load of a link may exceed it where the equations are solved."""


def predictable_scenario(number: int) -> dict[str, Any]:
    """The random scenario of this number with other values in place of most that the predict engine refuses by name."""
    document = random_scenario(number)
    document.pop("events", None)
    document["topology"].pop("override", None)
    for routing in document["routing"].values():
        routing.pop("link_state", None)
        if isinstance(routing.get("per"), dict):
            routing["per"] = "packet"
    for stack in document["stacks"].values():
        if stack.get("congestion") == "linux-cdg":
            stack["congestion"] = "linux-reno"
        if document["topology"]["queue"]["discipline"] == "ecn-threshold":
            stack["ecn"] = True
    for entry in document["traffic"]:
        if entry.pop("on-off", None):
            entry["poisson"] = "1Mbps"
        if "short" not in entry:
            entry.pop("stop", None)
    for impairment in document.get("impairments", []):
        if impairment["loss"] == 0.1:
            impairment["loss"] = 0.02
        elif isinstance(impairment["loss"], dict) and impairment["loss"]["model"] == "list":
            impairment["loss"] = 3e-3
    return document


def problems(number: int) -> list[str]:
    """The problems of the prediction of this number. A scenario that is refused by name has none."""
    spec = compiled(predictable_scenario(number))
    if spec is None:
        return []
    try:
        run = made(spec)
    except ValueError as error:
        return [str(error)] if "internal error" in str(error) else []
    flows, links = run.flows(), run.links()
    found = violations(spec, flows, links, run.facts()["converged"])
    if number % ON_THREADS_EVERY == 0:
        other = made(spec, 2)
        found += [*_differences("flows", flows, other.flows()), *_differences("links", links, other.links())]
    return found


def made(spec: CompiledRun, threads: int = 1) -> PredictedRun:
    """The prediction of a compiled run, once it is there."""
    run = PredictedRun(spec, threads)
    while run.advance(0):
        pass
    return run


def violations(spec: Mapping[str, Any], flows: Columns, links: Columns, converged: bool) -> list[str]:
    """The problems of the prediction of a compiled run."""
    found = [*_of_flows(flows), *_of_links(spec, links)]
    return [*found, *_of_nodes(spec, flows, links)] if converged else found


def _of_flows(flows: Columns) -> Iterator[str]:
    lasts = ~np.isnan(flows["goodput_bps"])
    for name in ("goodput_bps", "low_bps", "high_bps"):
        if not np.isfinite(flows[name][lasts]).all():
            yield f"{name} of a flow is no number"
    yield from beyond("goodput_bps of flow", flows["goodput_bps"], flows["low_bps"], flows["high_bps"])
    yield from beyond("low_bps of flow", flows["low_bps"], 0, np.inf)
    yield from beyond("fct_s of flow", flows["fct_s"], np.nan_to_num(flows["idle_fct_s"]), np.inf)
    yield from beyond("fct_p95_s of flow", flows["fct_p95_s"], flows["fct_s"], np.inf)


def _of_links(spec: Mapping[str, Any], links: Columns) -> Iterator[str]:
    marking = np.array([may_mark(link["queue"], spec) for link in spec["links"]])
    for name in ("utilisation", "queue_drop_ratio", "loss_ratio"):
        is_unknown = marking & (name == "queue_drop_ratio")  # the model does not tell marks from drops
        if np.isnan(links[name][~is_unknown]).any():
            yield f"{name} of a link is no number"
        yield from beyond(f"{name} of link", links[name], 0, 1)
    sizes = [traffic["transport"].get("udp", {"packet": 0})["packet"] for traffic in spec["traffic"]]
    largest = max([*sizes, *(stack["mss"] + stack["header"] for stack in spec["stacks"])])
    limits = [link["queue"]["limit"] for link in spec["links"]]
    waiting = np.array([limit.get("bytes", limit.get("packets", 0) * largest) for limit in limits], dtype=float)
    yield from beyond("queue_delay_mean_s of link", links["queue_delay_mean_s"], 0, waiting * 8 / links["capacity_bps"])


def _of_nodes(spec: Mapping[str, Any], flows: Columns, links: Columns) -> Iterator[str]:
    """A node's links have brought all bytes that flows without end receive. In the model other flows load their links evenly, over the whole run."""
    nodes = len(spec["nodes"])
    brought = np.bincount(links["dst"], weights=links["bytes"], minlength=nodes)
    lasting = np.where(np.isnan(flows["size_bytes"]), flows["delivered_bytes"], 0)
    received = np.bincount(flows["dst"], weights=lasting, minlength=nodes)
    yield from beyond("bytes received at node", received, 0, (1 + BALANCED) * brought + flows["dst"].size)


def _differences(kind: str, one: Columns, other: Columns) -> Iterator[str]:
    for name in one:
        first, second = np.asarray(one[name]), np.asarray(other[name])
        if not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
            yield f"{kind}: {name} differs on two threads"
