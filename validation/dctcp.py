"""DCTCP against the steady state of its analysis: how full the marking queue gets, and by how much it swings."""

from functools import partial
from math import sqrt
from threading import Event

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.foundation.array_types import Columns
from anabranch.scenario import Scenario
from validation.section import Section, percent
from validation.work import Unrecorded, in_parallel, seconds

RATE = 1e9
ROUND_TRIP_S = 0.002
WIRE_BITS = 1500 * 8
THRESHOLD = 40
DURATION_S, WARM_UP_S, SAMPLE_S = 10.0, 2.0, 0.0001
CLOSE = 0.25


def swing(flows: int, product: float, threshold: float) -> float:
    """Packets by which the queue swings (Alizadeh et al. 2010, equation 8): ``sqrt(2 N (C RTT + K)) / 2``."""
    return sqrt(2 * flows * (product + threshold)) / 2


class _Queue(Unrecorded):
    """Keeps the bottleneck's queue after the warm-up."""

    def __init__(self) -> None:
        self.packets: list[int] = []

    def link_series(self, columns: Columns) -> None:
        kept = (columns["link"] == 0) & (columns["time_s"] >= WARM_UP_S)
        self.packets += columns["queue_packets"][kept].tolist()


def run(quick: bool) -> Section:
    """Measure the queue for some numbers of flows."""
    numbers = (1, 2) if quick else (1, 2, 4)
    product = RATE * ROUND_TRIP_S / WIRE_BITS
    jobs = [partial(_queue, flows, seed) for flows in numbers for seed in ((1,) if quick else (1, 2, 3))]
    measured = in_parallel("DCTCP", jobs)
    seeds = len(jobs) // len(numbers)
    rows, worst = [], 0.0
    for place, flows in enumerate(numbers):
        runs = measured[place * seeds : (place + 1) * seeds]
        most, swung, utilisation = (sum(run[part] for run in runs) / seeds for part in range(3))
        expected_most, expected = THRESHOLD + flows, swing(flows, product, THRESHOLD)
        worst = max(worst, abs(swung / expected - 1), abs(most / expected_most - 1))
        rows.append(
            [
                str(flows),
                str(expected_most),
                f"{most:.1f}",
                f"{expected:.1f}",
                f"{swung:.1f}",
                percent(swung / expected),
                f"{utilisation * 100:.2f} %",
            ]
        )
    return Section(
        key="dctcp",
        title="DCTCP's queue",
        model="Alizadeh et al. 2010, section 3.3",
        how=(
            f"Flows over a {RATE / 1e9:.0f} Gbit/s link with a round trip of {ROUND_TRIP_S * 1e3:.0f} ms (C RTT = "
            f"{product:.0f} packets) that marks from {THRESHOLD} packets on, sampled every {SAMPLE_S * 1e3:.1f} ms "
            f"from {WARM_UP_S:.0f} to {DURATION_S:.0f} s. The analysis takes the flows for synchronised: the queue rises to "
            "K + N (equation 10) and swings by sqrt(2 N (C RTT + K)) / 2 (equation 8)."
        ),
        columns=("flows", "most, model", "most", "swing, model", "swing", "deviation", "utilisation"),
        rows=rows,
        passed=worst <= CLOSE,
        verdict=f"most and swing are within {worst * 100:.0f} % of the analysis (at most {CLOSE * 100:.0f} % is asked for)",
        notes=(
            "Most and swing are between the 1 % and the 99 % quantile of the samples, means over the seeds: a burst of two "
            "packets, where the window grows by one, is not in the analysis.",
        ),
    )


def _queue(flows: int, seed: int) -> tuple[float, float, float]:
    """The greatest queue, its swing, and the utilisation of the link."""
    document = {
        "topology": {
            "links": [{"source": "A", "target": "B", "capacity": f"{RATE:.0f}bps", "delay": seconds(ROUND_TRIP_S / 2)}],
            "queue": {"discipline": "ecn-threshold", "limit": "1000 packets", "mark": THRESHOLD},
        },
        "traffic": [{"from": "A", "to": "B", "bulk": True, "stack": "dctcp", "flows": flows, "stagger": "17ms"}],
        "run": {"duration": seconds(DURATION_S), "warm_up": seconds(WARM_UP_S), "sample": seconds(SAMPLE_S)},
    }
    queue = _Queue()
    outcome = packet.simulate(compile_run(Scenario(document).cases[0], seed), queue, Event())
    ordered = sorted(queue.packets)
    least, most = ordered[len(ordered) // 100], ordered[-len(ordered) // 100]
    return float(most), float(most - least), float(outcome.links["utilisation"][0])
