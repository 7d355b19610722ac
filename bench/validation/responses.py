"""One flow of each high-speed congestion control under periodic loss, against its response function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from bench.validation import formulas, periodic
from bench.validation.periodic import LARGE_WINDOW, MSS_BITS, TOLERANCE, WARM_UP_LOSSES
from bench.validation.section import Section, megabits, percent
from bench.validation.work import in_parallel

RATE = "10Gbps"
"""So fast that no window makes a queue."""


@dataclass(frozen=True)
class Law:
    """A response function: the mean window under periodic loss of ratio p and a round-trip time, without queue."""

    congestion: dict[str, Any]
    window: Callable[[float, float], float]
    source: str


LAWS = {
    "highspeed": Law({"name": "highspeed"}, lambda p, _: formulas.highspeed_window(p), "RFC 3649 section 5"),
    "scalable": Law({"name": "scalable"}, lambda p, _: formulas.scalable_window(p), "Kelly 2003, averaged over a period"),
    "illinois": Law(
        {"name": "illinois"},
        lambda p, _: formulas.aimd_window(10, 7 / 8, p),
        "Liu et al. 2008: AIMD of 10 and 1/8 without queue",
    ),
    "htcp": Law({"name": "htcp"}, formulas.htcp_window, "draft-leith-tcp-htcp-06, its growth integrated"),
    "bic": Law(
        {"name": "bic", "fast_convergence": False},
        lambda p, _: formulas.bic_window(p),
        "Xu et al. 2004 with Linux's steps, integrated",
    ),
}


def run(quick: bool) -> Section:
    """Compare every loss ratio and round-trip time."""
    losses = (1e-4, 1e-3) if quick else (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
    round_trips = (0.1,) if quick else (0.02, 0.1)
    counted = 150 if quick else 300
    cells = list(product(LAWS, round_trips, losses))
    jobs = [partial(_goodput_bps, name, rtt, round(1 / loss), counted) for name, rtt, loss in cells]
    rows, worst = [], 0.0
    for (name, rtt, loss), goodput in zip(cells, in_parallel("Response functions", jobs), strict=True):
        every = round(1 / loss)
        window = LAWS[name].window(1 / every, rtt)
        model = window / rtt * MSS_BITS
        judged = window >= LARGE_WINDOW
        if judged:
            worst = max(worst, abs(goodput / model - 1))
        deviation = percent(goodput / model)
        rows.append(
            [
                name,
                f"{rtt * 1e3:.0f} ms",
                f"1 in {every}",
                f"{window:.1f}",
                megabits(model),
                megabits(goodput),
                deviation if judged else f"({deviation})",
            ]
        )
    return Section(
        key="responses",
        title="Response functions of high-speed congestion controls",
        model="; ".join(f"{law.source} ({name})" for name, law in LAWS.items()),
        how=(
            f"One bulk flow over a {RATE} link that loses exactly one data packet in 1/p; segments of 1460 bytes, "
            f"every one acknowledged; {counted} losses counted after {WARM_UP_LOSSES}. BIC runs without fast convergence, "
            "as CUBIC does above. Models: " + "; ".join(f"{name}, {law.source}" for name, law in LAWS.items()) + "."
        ),
        columns=("stack", "RTT", "loss", "model, segments", "model, Mbit/s", "goodput, Mbit/s", "deviation"),
        rows=rows,
        passed=worst <= TOLERANCE,
        verdict=(
            f"from {LARGE_WINDOW} segments of mean window on the greatest deviation is {worst * 100:.1f} % "
            f"(at most {TOLERANCE * 100:.0f} %)"
        ),
        notes=_NOTES,
    )


_NOTES: tuple[str, ...] = ()


def _goodput_bps(name: str, rtt: float, every: int, counted: int) -> float:
    law = LAWS[name]
    per_loss_s = every / law.window(1 / every, rtt) * rtt
    return periodic.goodput_bps({"congestion": law.congestion}, RATE, rtt, every, per_loss_s, counted)
