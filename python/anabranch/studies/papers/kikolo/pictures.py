"""The figures of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.results.result import Result
from anabranch.studies.papers.kikolo import friendliness, rtt_fairness, states, throughput, window
from anabranch.studies.papers.kikolo.cells import Cells
from anabranch.studies.papers.study import Figure


@dataclass(frozen=True)
class Found:
    """What the figures show; mappings are by figure, ``occupied`` by rate of the link."""

    windows: Result
    occupied: dict[str, Cells]
    shares: Mapping[str, Cells]
    even: Mapping[str, Cells]
    ratios: Cells


def _shares(figure: str, rate: str) -> Figure:
    return Figure(
        figure,
        throughput.PLACE[figure],
        f"Fifteen flows of one variant over {rate}. Kikolo is alone in the lead at {{first}}.",
        lambda found: throughput.chart(found.shares[figure]),
        lambda found: {"first": throughput.alone(found.shares[figure])},
    )


def _even(figure: str, rate: str) -> Figure:
    return Figure(
        figure,
        friendliness.PLACE[figure],
        f"Five Kikolo flows against five of another variant over {rate}: Kikolo's share. 50 % would be even.",
        lambda found: friendliness.chart(found.even[figure]),
    )


FIGURES = (
    Figure(
        "figure-2",
        "Figure 2",
        "One flow over 10 Mbit/s, 60 ms one way, queue 10 % of the bandwidth-delay product, packet error rate 1e-5 (one seed). "
        "Above: the paper's comparison. Below: Kikolo with a ramp-up region wide enough to be seen.",
        lambda found: window.chart(found.windows),
    ),
    Figure(
        "figure-4",
        "Figure 4",
        "Time in the states. Crosses are the equilibrium of the corrected equations at the measured ratio of ACKs to duplicate ACKs. "
        "S2 agrees. S0 has the share that the equations give to S3.",
        lambda found: states.chart(found.occupied),
    ),
    *(_shares(figure, rate) for figure, rate in throughput.RATE.items()),
    *(_even(figure, rate) for figure, rate in friendliness.RATE.items()),
    Figure(
        "figure-9",
        "Figure 9",
        "Two flows at 40 ms against two at 240 ms over 100 Mbit/s, on a logarithmic axis. A ratio of 1 would be fair; equal windows make 6.",
        lambda found: rtt_fairness.chart(found.ratios),
    ),
)
