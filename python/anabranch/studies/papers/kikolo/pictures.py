"""The figures of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.results.result import Result
from anabranch.studies.papers import drawings
from anabranch.studies.papers.drawings import Place, Way
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
        f"Fifteen flows of one variant over {rate}. Kikolo is alone in the lead at {{first}}. Its line is in every panel, in grey.",
        lambda found: throughput.chart(found.shares[figure]),
        lambda found: {"first": throughput.alone(found.shares[figure])},
    )


def _even(figure: str, rate: str) -> Figure:
    return Figure(
        figure,
        friendliness.PLACE[figure],
        f"Five Kikolo flows against five of another variant over {rate}: Kikolo's share. The grey line is 50 %, an even share.",
        lambda found: friendliness.chart(found.even[figure]),
    )


def _dumbbell(_: Found) -> Any:
    places: dict[str, Place] = {"left": (1, 1), "right": (3, 1)}
    sources, targets = ("s1", "s2", "… ", "s15"), ("d1", "d2", " …", "d15")
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        places |= {source: (0, 2 - number * 2 / 3), target: (4, 2 - number * 2 / 3)}
    links = [(source, "left") for source in sources] + [("right", target) for target in targets]
    ways = [Way("the bottleneck, which loses packets: 1 Gbit/s or 100 Mbit/s, 10 ms", ("left", "right"))]
    return drawings.network(places, links, ways=ways)


FIGURES = (
    Figure(
        "figure-2",
        "Figure 2",
        "One flow over 10 Mbit/s, 60 ms one way, queue 10 % of the bandwidth-delay product, packet error rate 1e-5 (one seed). "
        "Above: the paper's comparison. In the middle: Kikolo's phases. Below: Kikolo with a ramp-up region wide enough to be seen.",
        lambda found: window.chart(found.windows),
    ),
    Figure(
        "figure-3",
        "Figure 3",
        "The dumbbell: fifteen pairs of hosts, links of 10 Gbit/s and 1 ms to the routers.",
        _dumbbell,
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
        "Two flows at 40 ms against two at 240 ms over 100 Mbit/s: the logarithm of the ratio of throughputs, with Kikolo's in grey. 0 would be fair; equal windows make 0.78, a ratio of 6.",
        lambda found: rtt_fairness.chart(found.ratios),
    ),
)
