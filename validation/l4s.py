"""Prague beside CUBIC through DualPI2: their rates, and the wait of the queue for L4S."""

from functools import partial
from threading import Event

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from validation.section import Section
from validation.work import Unrecorded, in_parallel, seconds

RATES_MBPS = (4, 12, 40, 100, 200)
ROUND_TRIPS_MS = (5, 10, 25, 50, 100)
WIRE_BITS = 1500 * 8
DURATION_S, WARM_UP_S = 60.0, 20.0
BALANCED = 2.0
SHORT_WAIT_S = 0.001
SHORT_FROM_MBPS = 12


def run(quick: bool) -> Section:
    """Measure one flow of each over rates and round trips."""
    rates, round_trips = (RATES_MBPS[1:3], ROUND_TRIPS_MS[2:4]) if quick else (RATES_MBPS, ROUND_TRIPS_MS)
    cells = [(rate, round_trip) for rate in rates for round_trip in round_trips]
    measured = in_parallel("L4S", [partial(_pair, rate, round_trip) for rate, round_trip in cells])
    rows, unequal, slow = [], [], []
    for (rate, round_trip), (prague, cubic, wait, classic_wait, marks, utilisation) in zip(
        cells, measured, strict=True
    ):
        ratio = prague / cubic
        if not 1 / BALANCED <= ratio <= BALANCED:
            unequal.append(f"{rate} Mbit/s and {round_trip} ms ({ratio:.2f})")
        if rate >= SHORT_FROM_MBPS and wait > SHORT_WAIT_S:
            slow.append(f"{rate} Mbit/s and {round_trip} ms ({wait * 1e3:.2f} ms)")
        rows.append(
            [
                f"{rate} Mbit/s",
                f"{round_trip} ms",
                f"{prague / 1e6:.2f}",
                f"{cubic / 1e6:.2f}",
                f"{ratio:.2f}",
                f"{wait * 1e3:.2f}",
                f"{classic_wait * 1e3:.1f}",
                f"{marks * 100:.1f} %",
                f"{utilisation * 100:.1f} %",
            ]
        )
    even = f"rates differ by more than a factor of {BALANCED:.0f} at " + ", ".join(unequal)
    waits = "L4S waits longer than 1 ms at " + ", ".join(slow)
    return Section(
        key="l4s",
        title="Prague beside CUBIC through DualPI2",
        model="RFC 9332, section 4",
        how=(
            f"One flow of `prague` and one of `cubic` over one link with `dualpi2` and its defaults, from {WARM_UP_S:.0f} to "
            f"{DURATION_S:.0f} s. The waits are the mean one-way delays of each flow's packets without propagation and transmission."
        ),
        columns=(
            "link",
            "round trip",
            "prague, Mbit/s",
            "cubic, Mbit/s",
            "ratio",
            "wait of L4S, ms",
            "wait of cubic, ms",
            "marked of prague",
            "utilisation",
        ),
        rows=rows,
        passed=not unequal and not slow,
        verdict="; ".join(
            (
                even if unequal else f"rates are within a factor of {BALANCED:.0f} everywhere",
                waits if slow else f"L4S waits 1 ms or less from {SHORT_FROM_MBPS} Mbit/s on",
            )
        ),
    )


def _pair(rate_mbps: int, round_trip_ms: int) -> tuple[float, float, float, float, float, float]:
    """The goodput and the mean wait of either flow, the marked share of the first, and the utilisation."""
    document = {
        "topology": {
            "links": [
                {"source": "A", "target": "B", "capacity": f"{rate_mbps}Mbps", "delay": seconds(round_trip_ms / 2000)}
            ],
            "queue": {"discipline": "dualpi2"},
        },
        "traffic": [
            {"from": "A", "to": "B", "bulk": True, "stack": "prague"},
            {"from": "A", "to": "B", "bulk": True, "stack": "cubic", "start": "17ms"},
        ],
        "run": {"duration": seconds(DURATION_S), "warm_up": seconds(WARM_UP_S), "delays": True},
    }
    outcome = packet.simulate(compile_run(Scenario(document).cases[0], 1), Unrecorded(), Event())
    flows = outcome.flows
    crossing_s = round_trip_ms / 2000 + WIRE_BITS / (rate_mbps * 1e6)
    prague, cubic = (float(goodput) for goodput in flows["goodput_bps"])
    waits = [float(delay) - crossing_s for delay in flows["delay_mean_s"]]
    marked = float(flows["marked_segments"][0]) / float(flows["segments_sent"][0])
    return prague, cubic, waits[0], waits[1], marked, float(outcome.links["utilisation"][0])
