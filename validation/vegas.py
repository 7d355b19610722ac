"""Vegas alone on a path: how many of its segments wait in the queue."""

from functools import partial
from itertools import product
from threading import Event
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from validation.section import Section
from validation.work import Unrecorded, in_parallel, one_link

WIRE_BITS = 1500 * 8
MARGIN = 0.5
THRESHOLDS = ((1, 3), (2, 4), (10, 20))


def run(quick: bool) -> Section:
    """Measure the queue for some thresholds, rates and round-trip times."""
    networks = ((10e6, 0.05),) if quick else ((10e6, 0.02), (10e6, 0.1), (100e6, 0.02), (100e6, 0.1))
    cells = list(product(THRESHOLDS, networks))
    jobs = [partial(_waiting, alpha, beta, rate, rtt) for (alpha, beta), (rate, rtt) in cells]
    rows, within = [], True
    for ((alpha, beta), (rate, rtt)), (waiting, utilisation) in zip(cells, in_parallel("Vegas", jobs), strict=True):
        within = within and alpha - MARGIN <= waiting <= beta + MARGIN
        rows.append(
            [
                str(alpha),
                str(beta),
                f"{rate / 1e6:.0f}",
                f"{rtt * 1e3:.0f} ms",
                f"{waiting:.2f}",
                f"{utilisation * 100:.2f} %",
            ]
        )
    return Section(
        key="vegas",
        title="Vegas's queue",
        model="Brakmo and Peterson 1995, section III.B",
        how=(
            "One bulk flow over one link without loss; packets that wait in the queue, by Little's law from their mean wait, "
            "from 60 s to 120 s. Vegas is to keep from alpha to beta of them there."
        ),
        columns=("alpha", "beta", "rate, Mbit/s", "RTT", "waiting, packets", "utilisation"),
        rows=rows,
        passed=within,
        verdict=f"from alpha to beta packets wait (give or take {MARGIN})",
        notes=(
            "Runs use `drain`. The paper's slow start may leave a bandwidth-delay product in the queue, and Vegas removes one packet per round "
            "trip. So without `drain` a long fast path is not steady after a minute.",
        ),
    )


def _waiting(alpha: float, beta: float, rate: float, rtt: float) -> tuple[float, float]:
    stack: dict[str, Any] = {
        "preset": "vegas",
        "congestion": {"name": "vegas", "alpha": alpha, "beta": beta, "drain": True},
    }
    document = one_link(stack, rate=f"{rate:.0f}bps", round_trip_s=rtt, duration_s=120, warm_up_s=60)
    outcome = packet.simulate(compile_run(Scenario(document).cases[0], 1), Unrecorded(), Event())
    links = outcome.links
    return float(links["queue_delay_mean_s"][0]) * rate / WIRE_BITS, float(links["utilisation"][0])
