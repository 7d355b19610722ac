"""The predicted goodput of all flows, of a traffic group and of a pair together, with its interval, and over the hashes that choose paths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.engines.packet import CompiledRun
from anabranch.foundation.array_types import Columns, Floats

MOST_PAIRS = 200
"""Groups with more pairs have no sums of pairs."""
DRAWS = 20
"""Hashes of which the sums are predicted."""
MOST_HASHED_FLOWS = 500
"""Runs with more flows are predicted for their own hash only."""
ENDS = ("goodput_bps", "low_bps", "high_bps")
Sums = Mapping[str, Floats]


@dataclass(frozen=True)
class Parts:
    """Which flows a run's sums are of."""

    names: Sequence[Mapping[str, Any]]
    """Of each sum: ``traffic`` (null for all), ``src`` and ``dst`` (null for all pairs), and its number of ``flows``."""
    kinds: Sequence[Sequence[int]]
    """Divisions of the flows. Each gives every flow the number of its sum, plus one, or 0."""

    @classmethod
    def of(cls, planned: Columns, nodes: Sequence[str], groups: Sequence[str]) -> "Parts":
        """The sums of several flows without end. ``planned`` are the planned flows, whose nodes and groups have these names."""
        lasting = np.isnan(planned["size_bytes"])
        names: list[dict[str, Any]] = []
        kinds: list[list[int]] = []
        whole = [(None, None, None)] * len(lasting)
        by_group = [(int(group), None, None) for group in planned["traffic"]]
        by_pair = [
            tuple(map(int, key)) for key in zip(*(planned[name] for name in ("traffic", "src", "dst")), strict=True)
        ]
        pairs_of = {group: len({pair for pair in by_pair if pair[0] == group}) for group, _, _ in set(by_group)}
        several = {group for group, pairs in pairs_of.items() if 1 < pairs <= MOST_PAIRS}
        for division in (whole if len(set(by_group)) > 1 else [], by_group, by_pair):
            counts: dict[Any, int] = {}
            for key, counted in zip(division, lasting, strict=False):
                if counted and (key[1] is None or key[0] in several):
                    counts[key] = counts.get(key, 0) + 1
            numbers = {
                key: number for number, key in enumerate((key for key in counts if counts[key] > 1), len(names) + 1)
            }
            if numbers:
                names += [_name(key, counts[key], nodes, groups) for key in numbers]
                kinds.append(
                    [numbers.get(key, 0) if counted else 0 for key, counted in zip(division, lasting, strict=True)]
                )
        return cls(names, kinds)

    def sums(self, prediction: _core.Prediction) -> Sums:
        """The sums of a prediction, by column of :data:`ENDS`."""
        found = {end: np.full(len(self.names) + 1, np.nan) for end in ENDS}
        for kinds in self.kinds:
            sums = prediction.sums(list(kinds), len(self.names) + 1)
            present = np.unique(kinds)
            for end in ENDS:
                found[end][present] = np.asarray(sums[end])[present]
        return {end: values[1:] for end, values in found.items()}


def _name(key: tuple[Any, ...], flows: int, nodes: Sequence[str], groups: Sequence[str]) -> dict[str, Any]:
    traffic, src, dst = key
    pair = {"src": None, "dst": None} if src is None else {"src": nodes[src], "dst": nodes[dst]}
    return {"traffic": None if traffic is None else groups[traffic], **pair, "flows": flows}


def hash_draws(spec: CompiledRun, prediction: _core.Prediction) -> Iterator[CompiledRun]:
    """The run with other hashes; none if no path depends on them, if flows end, or if it has more than :data:`MOST_HASHED_FLOWS` flows."""
    planned = prediction.planned_flows()
    ends = not np.isnan(planned["size_bytes"]).all()
    if not _is_hashed(spec) or ends or len(planned["flow"]) > MOST_HASHED_FLOWS:
        return
    for draw in range(1, DRAWS + 1):
        yield {**spec, "seed": spec["seed"] + draw}


def _is_hashed(spec: CompiledRun) -> bool:
    """Whether a routing that traffic uses has several paths, and a hash chooses one."""
    routings = spec["routings"]
    used = {group["routing"] for group in spec["traffic"]}
    used |= {acks for number in used if (acks := routings[number].get("acks")) is not None}
    return any(routings[at]["select"]["name"] == "hash" and routings[at]["hops"]["kind"] != "shortest" for at in used)


def rows(parts: Parts, own: Sums, draws: Sequence[Sums]) -> list[dict[str, Any]]:
    """The sums as the manifest has them: bit/s. ``hash_mean_bps``, ``hash_p5_bps`` and ``hash_p95_bps`` are over the hashes, if any were drawn."""
    found = [dict(name) | {end: float(own[end][at]) for end in ENDS} for at, name in enumerate(parts.names)]
    if draws:
        goodputs = np.array([draw["goodput_bps"] for draw in draws])
        low, high = np.quantile(goodputs, (0.05, 0.95), axis=0)
        for at, row in enumerate(found):
            row |= {
                "hash_mean_bps": float(goodputs[:, at].mean()),
                "hash_p5_bps": float(low[at]),
                "hash_p95_bps": float(high[at]),
            }
    return found
