"""One flow of each high-speed congestion control under periodic loss, against its response function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from validation import formulas, periodic
from validation.periodic import LARGE_WINDOW, MSS_BITS, TOLERANCE, WARM_UP_LOSSES
from validation.section import Section, megabits, percent
from validation.work import in_parallel

RATE = "10Gbps"
"""So fast that no window makes a queue."""


@dataclass(frozen=True)
class Law:
    """How a congestion control without queue behaves under periodic loss, by its source."""

    congestion: dict[str, Any]
    source: str
    growth: Callable[[float], formulas.Growth]
    """The growth by the round-trip time."""
    remains: Callable[[float], float]
    published: Callable[[float], float] | None = None
    """The mean window by the loss ratio, where its source gives it in one formula."""

    def window(self, p: float, rtt: float) -> float:
        """The mean window as the source has it: a fluid that always grows."""
        return self.published(p) if self.published else formulas.fluid_window(p, self.growth(rtt), self.remains)

    def window_of_a_sender(self, p: float, rtt: float) -> float:
        """The mean window with a round trip of recovery in every period, of whole segments."""
        return formulas.fluid_window(p, self.growth(rtt), self.remains, recovery=1, unsent=0.5)


LAWS = {
    "highspeed": Law(
        {"name": "highspeed"},
        "RFC 3649 section 5",
        lambda rtt: lambda window, lost_at, rounds: formulas.highspeed_growth(window),
        lambda window: 1 - formulas.highspeed_decrease(window),
        formulas.highspeed_window,
    ),
    "scalable": Law(
        {"name": "scalable"},
        "Kelly 2003, averaged over a period",
        lambda rtt: lambda window, lost_at, rounds: 0.01 * window,
        lambda window: 7 / 8,
        formulas.scalable_window,
    ),
    "illinois": Law(
        {"name": "illinois"},
        "Liu et al. 2008, AIMD of 10 and 1/8 without queue",
        lambda rtt: lambda window, lost_at, rounds: 10.0,
        lambda window: 7 / 8,
        lambda p: formulas.aimd_window(10, 7 / 8, p),
    ),
    "htcp": Law(
        {"name": "htcp"},
        "draft-leith-tcp-htcp-06, its growth integrated",
        lambda rtt: lambda window, lost_at, rounds: formulas.htcp_growth(rounds * rtt, rtt),
        lambda window: 0.8,
    ),
    "bic": Law(
        {"name": "bic", "fast_convergence": False},
        "Xu et al. 2004 with the increments of Linux, integrated",
        lambda rtt: lambda window, lost_at, rounds: formulas.bic_growth(window, lost_at),
        lambda window: 819 / 1024,
    ),
}


def run(quick: bool) -> Section:
    """Compare every loss ratio and round-trip time."""
    losses = (1e-4, 1e-3) if quick else (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
    round_trips = (0.1,) if quick else (0.02, 0.1)
    counted = 150 if quick else 300
    cells = list(product(LAWS, round_trips, losses))
    jobs = [partial(_goodput_bps, name, rtt, round(1 / loss), counted) for name, rtt, loss in cells]
    rows, worst, worst_of_sender = [], 0.0, 0.0
    for (name, rtt, loss), goodput in zip(cells, in_parallel("Response functions", jobs), strict=True):
        every, law = round(1 / loss), LAWS[name]
        window = law.window(1 / every, rtt)
        model = window / rtt * MSS_BITS
        sender = law.window_of_a_sender(1 / every, rtt) / rtt * MSS_BITS
        judged = window >= LARGE_WINDOW
        if judged:
            worst_of_sender = max(worst_of_sender, abs(goodput / sender - 1))
            if name == "highspeed":
                worst = max(worst, abs(goodput / model - 1))
        deviation = percent(goodput / sender)
        rows.append(
            [
                name,
                f"{rtt * 1e3:.0f} ms",
                f"1 in {every}",
                f"{window:.1f}",
                megabits(model),
                megabits(goodput),
                percent(goodput / model),
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
        columns=(
            "stack",
            "RTT",
            "loss",
            "model, segments",
            "model, Mbit/s",
            "goodput, Mbit/s",
            "deviation",
            "of a sender",
        ),
        rows=rows,
        passed=max(worst, worst_of_sender) <= TOLERANCE,
        verdict=(
            f"from {LARGE_WINDOW} segments of mean window on the greatest deviation of highspeed from the RFC is "
            f"{worst * 100:.1f} %, and of any stack from its law of a sender {worst_of_sender * 100:.1f} % "
            f"(at most {TOLERANCE * 100:.0f} % each)"
        ),
        notes=_NOTES,
    )


_NOTES = (
    "The laws describe a fluid that always grows. A sender does not grow in the round trip of recovery. If a period has few round trips "
    "(about 14 for scalable, fewer for illinois with more losses), this costs a fixed share of the window. A sender also sends whole "
    "segments, on average half a segment less than its window.",
    "The last column compares with the same increase and decrease, one round trip of recovery per period, and half a segment unsent. "
    "Deviations in brackets are for mean windows that are not judged.",
    "RFC 3649 derived the increase of highspeed from its response function, so that law is judged itself.",
)


def _goodput_bps(name: str, rtt: float, every: int, counted: int) -> float:
    law = LAWS[name]
    per_loss_s = every / law.window(1 / every, rtt) * rtt
    return periodic.goodput_bps(
        {"congestion": law.congestion, "detection": "dup-ack"}, RATE, rtt, every, per_loss_s, counted
    )
