"""Rules that no result of a run may contradict. Each rule follows from the meaning of its columns, not from the engine's work."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from anabranch.engines.packet import RunOutcome
from anabranch.foundation.array_types import Columns

ROUNDING = 1e-9
"""The relative error that sums of rounded numbers may have."""


def violations(spec: Mapping[str, Any], outcome: RunOutcome, series: Mapping[str, Columns]) -> list[str]:
    """The rules that the results of a compiled run break; ``series`` has all samples of ``flows`` and ``links``."""
    found = [*_of_flows(spec, outcome), *_of_links(spec, outcome), *_of_nodes(spec, outcome)]
    return [*found, *_of_series(spec, outcome, series)] if spec["sample"] is not None else found


def beyond(what: str, values: Any, low: Any, high: Any) -> Iterator[str]:
    """The first value outside its range; unknown ones (NaN) are in any."""
    values, low, high = np.broadcast_arrays(np.asarray(values, dtype=float), low, high)
    slack = ROUNDING * np.maximum(1.0, np.abs(values))
    for index in np.flatnonzero((values < low - slack) | (values > high + slack))[:1]:
        yield f"{what} {index} is {values[index]:.12g}: must be from {low[index]:.12g} to {high[index]:.12g}"


def _measured_s(spec: Mapping[str, Any], outcome: RunOutcome) -> float:
    return outcome.now_s - spec["warm_up"] * 1e-12


def _of_flows(spec: Mapping[str, Any], outcome: RunOutcome) -> Iterator[str]:
    flows = {name: column.astype(float) for name, column in outcome.flows.items()}
    infinite = np.inf
    yield from beyond("goodput_bps of flow", flows["goodput_bps"], 0, infinite)
    yield from beyond("retransmits of flow", flows["retransmits"], 0, flows["segments_sent"])
    yield from beyond("retransmit_ratio of flow", flows["retransmit_ratio"], 0, 1)
    yield from beyond("fct_s of flow", flows["fct_s"], np.nan_to_num(flows["idle_fct_s"]), outcome.now_s)
    yield from beyond("end_s of flow", flows["end_s"], flows["start_s"], outcome.now_s)
    yield from beyond(
        "delivered_bytes of flow", flows["delivered_bytes"], 0, np.nan_to_num(flows["size_bytes"], nan=infinite)
    )
    yield from beyond("longest_stall_s of flow", flows["longest_stall_s"], 0, outcome.now_s - flows["start_s"])
    yield from beyond("srtt_s of flow", flows["srtt_s"], flows["min_rtt_s"] * (1 - 1e-6), infinite)
    yield from beyond("cwnd_segments of flow", flows["cwnd_segments"], 1 - 1e-6, infinite)
    is_complete = ~np.isnan(flows["fct_s"]) & (flows["start_s"] >= spec["warm_up"] * 1e-12)
    whole = np.where(is_complete, flows["size_bytes"], flows["delivered_bytes"])
    yield from beyond("delivered_bytes of complete flow", flows["delivered_bytes"], whole, whole)
    seconds = np.minimum(np.nan_to_num(flows["end_s"], nan=infinite), outcome.now_s) - np.maximum(
        flows["start_s"], spec["warm_up"] * 1e-12
    )
    yield from beyond(
        "goodput_bps x time of flow",
        flows["goodput_bps"] * seconds / 8,
        flows["delivered_bytes"],
        flows["delivered_bytes"],
    )


def _most_bytes(schedule: Mapping[str, Any], seconds: float) -> float:
    """The most bytes of a rate that changes: its greatest all the time, or all opportunities of the periods that this time may touch."""
    if schedule["kind"] == "steps":
        return float(max(schedule["values"]) * seconds / 8)
    periods = seconds / (schedule["repeat"] * 1e-12) + 2
    return float(periods * len(schedule["at"]) * schedule["bytes"])


def _greatest_fall_s(schedule: Mapping[str, Any]) -> float:
    """The most by which a delay that changes falls."""
    return (max(schedule["values"]) - min(schedule["values"])) * 1e-12


def _of_links(spec: Mapping[str, Any], outcome: RunOutcome) -> Iterator[str]:
    links = {name: column.astype(float) for name, column in outcome.links.items()}
    for name in ("utilisation", "queue_drop_ratio", "loss_ratio"):
        yield from beyond(f"{name} of link", links[name], 0, 1)
    yield from beyond("queue_delay_mean_s of link", links["queue_delay_mean_s"], 0, links["queue_delay_max_s"])
    sizes = [traffic["transport"].get("udp", {"packet": 0})["packet"] for traffic in spec["traffic"]]
    largest = max([*sizes, *(stack["mss"] + stack["header"] for stack in spec["stacks"])])
    seconds = _measured_s(spec, outcome)
    schedules = [link.get("rate_schedule") for link in spec["links"]]
    delays = [link.get("delay_schedule") for link in spec["links"]]
    of_schedule = [0 if index is None else _most_bytes(spec["schedules"][index], seconds) for index in schedules]
    carried = np.maximum(links["capacity_bps"] * seconds / 8, of_schedule)
    # Bytes count when they arrive. A packet may have been on its way when the measured time began, and a delay that falls brings earlier what follows.
    falls = [0.0 if index is None else _greatest_fall_s(spec["schedules"][index]) for index in delays]
    yield from beyond(
        "bytes of link", links["bytes"], 0, carried + largest + links["capacity_bps"] * np.array(falls) / 8
    )
    for index, link in enumerate(spec["links"]):
        limit = link["queue"]["limit"]
        waiting = limit.get("bytes", limit.get("packets", 0) * largest)
        longest = waiting * 8 / link["rate"]
        if "rate_schedule" not in link and link["queue"]["discipline"] in ("drop-tail", "ecn-threshold"):
            yield from beyond(f"queue_delay_max_s of link {index}:", [links["queue_delay_max_s"][index]], 0, longest)


def _of_nodes(spec: Mapping[str, Any], outcome: RunOutcome) -> Iterator[str]:
    """A node's links have brought all bytes that its flows receive. At the end of the warm-up receivers may hold segments behind a hole."""
    nodes = len(spec["nodes"])
    brought = np.bincount(outcome.links["dst"], weights=outcome.links["bytes"], minlength=nodes)
    received = np.bincount(outcome.flows["dst"], weights=outcome.flows["delivered_bytes"], minlength=nodes)
    peaks = np.nan_to_num(outcome.flows["reassembly_peak_bytes"])  # UDP holds nothing
    held = np.bincount(outcome.flows["dst"], weights=peaks, minlength=nodes)
    yield from beyond("bytes received at node", received, 0, brought + (held if spec["warm_up"] else 0))


def _of_series(spec: Mapping[str, Any], outcome: RunOutcome, series: Mapping[str, Columns]) -> Iterator[str]:
    flows, links = series["flows"], series["links"]
    yield from beyond("utilisation of link sample", links["utilisation"], 0, 1)
    yield from beyond("goodput_bps of flow sample", flows["goodput_bps"], 0, np.inf)
    if spec["warm_up"] == 0 and outcome.flows["flow"].size:
        # The sum of the samples was delivered by the time of the last one.
        interval = spec["sample"] * 1e-12
        sums = np.bincount(
            flows["flow"], weights=flows["goodput_bps"] * interval / 8, minlength=outcome.flows["flow"].size
        )
        yield from beyond("sum of goodput samples of flow", sums, 0, outcome.flows["delivered_bytes"].astype(float))
