"""One flow without loss and a queue of one bandwidth-delay product: is the link full?"""

from functools import partial
from itertools import product

from validation.section import Section, megabits
from validation.work import in_parallel, measure, one_link

PAYLOAD = 1460 / 1500
LEAST = 0.95
STACKS = ("newreno", "cubic", "bbr", "bbr3")


def run(quick: bool) -> Section:
    """Measure every stack, rate and round-trip time."""
    networks = ((10e6, 0.05),) if quick else ((10e6, 0.02), (10e6, 0.1), (100e6, 0.02), (100e6, 0.05))
    cells = list(product(STACKS, networks))
    jobs = [partial(_goodput_bps, stack, rate, rtt) for stack, (rate, rtt) in cells]
    rows, least = [], 1.0
    for (stack, (rate, rtt)), goodput in zip(cells, in_parallel("Utilisation", jobs), strict=True):
        share = goodput / (rate * PAYLOAD)
        least = min(least, share)
        rows.append([stack, f"{rate / 1e6:.0f}", f"{rtt * 1e3:.0f} ms", megabits(goodput), f"{share * 100:.1f} %"])
    return Section(
        key="utilisation",
        title="A full link",
        model="the payload's bound, rate x 1460/1500",
        how=(
            "One bulk flow over one link without loss, drop-tail queue of one bandwidth-delay product; goodput from "
            "60 s to 180 s, "
            "as a share of the link's rate less headers."
        ),
        columns=("stack", "rate, Mbit/s", "RTT", "goodput, Mbit/s", "of the bound"),
        rows=rows,
        passed=least >= LEAST,
        verdict=f"the least share of the bound is {least * 100:.1f} % (at least {LEAST * 100:.0f} % is asked for)",
    )


def _goodput_bps(stack: str, rate: float, rtt: float) -> float:
    document = one_link(
        {"preset": stack},
        rate=f"{rate:.0f}bps",
        round_trip_s=rtt,
        duration_s=180,
        warm_up_s=60,
        queue="1 bdp",
    )
    return measure(document, 1).goodput_bps
