"""A scarce link back, which the paper does not have: each ACK less leaves room for others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from anabranch.studies.papers.measures import flows, means
from anabranch.studies.papers.study import Experiment, Findings, Table

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

_RECEIVERS = {
    "immediate": "an ACK for each segment",
    "delayed": "delayed ACK",
    "modified-delayed": "modified delayed ACK",
}
_SENDERS = {"dup-ack": "threshold 3", "path-count": "threshold by paths"}
_NAMES = {"stacks.tcp.detection": "detection", "stacks.tcp.ack": "ack"}


def experiments(lab: Lab) -> list[Experiment]:
    """The experiment: three receivers and two senders."""
    return [Experiment("up-link", lab.scenario("up-link.toml", quick={"run.duration": '"10s"', "run.seeds": "3"}))]


def findings(_: Lab, results: Mapping[str, Result]) -> Findings:
    """A table; the paper has no claim about it."""
    table = flows(results["up-link"], _NAMES)
    summed = table.group_by("detection", "ack", "seed", maintain_order=True).agg(
        goodput=pl.col("goodput_bps").sum() / 1e6
    )
    found = means(summed, ["detection", "ack"], "goodput")
    rows = [[sender, *(str(found[key, ack]) for ack in _RECEIVERS)] for key, sender in _SENDERS.items()]
    return Findings([], [], [], [
        Table(
            "up-link",
            "Beyond the paper: a scarce link back",
            "Goodput in Mbit/s of ten flows over three paths of 100 Mbit/s, with all ACKs over one link of 200 kbit/s, which loses none. It "
            "carries 625 ACKs a second: with one for each segment of 512 bytes, 2.56 Mbit/s.",
            ["sender", *_RECEIVERS.values()],
            rows,
        )
    ])  # fmt: skip
