"""The closed forms of sprayed flows beside the packet engine: ``python -m validation.spray_penalty`` writes the page."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from anabranch.compile.run import compile_run
from anabranch.engineering.predict.spray import DETECTORS, SprayedPath, SprayPrice, spray_price
from anabranch.engines.packet import simulate
from anabranch.scenario import Scenario
from bench.page import write_part
from bench.table import Table
from validation.work import Unrecorded, in_parallel

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "spray-penalty.md"
CASES, SEEDS, JUDGED_ON = 120, 6, 4
"""Random cases, runs of each, and the seed of the cases. The constants were chosen on those of the seeds 2 and 3."""
WARM_UP, ROUND_TRIPS = 100, 300
WIRE_BITS, PAYLOAD_BITS = 12_000, 11_680


@dataclass(frozen=True)
class Case:
    """A flow over parallel paths."""

    delays_s: tuple[float, ...]
    rates_bps: tuple[float, ...]
    queue: int
    selector: str
    window: str
    loss: float

    @property
    def rtt_s(self) -> float:
        """The mean of the paths."""
        return 2 * float(np.mean(self.delays_s))

    def priced(self, detector: str) -> SprayPrice:
        """The closed form."""
        paths = [
            SprayedPath(delay + WIRE_BITS / rate, rate, self.queue)
            for delay, rate in zip(self.delays_s, self.rates_bps, strict=True)
        ]
        named: dict[str, Any] = {"detector": detector, "selector": self.selector, "window": self.window}
        return spray_price(paths, loss=self.loss, **named)

    def simulated(self, detector: str, seed: int) -> tuple[float, float, float, float]:
        """A run: goodput, spurious share, stall in seconds, bytes of memory."""
        links: list[dict[str, Any]] = []
        for number, (delay, rate) in enumerate(zip(self.delays_s, self.rates_bps, strict=True)):
            name, capacity, delay_us = f"p{number}", f"{rate:.0f}bps", f"{delay * 1e6:.3f}us"
            links.append({"source": "s", "target": name, "capacity": capacity, "delay": delay_us})
            links.append({"source": name, "target": "d", "capacity": "10Gbps", "delay": "1us"})
        names = [f"p{number}" for number in range(len(self.delays_s))]
        losses = [{"link": ["s", name], "loss": self.loss, "one_way": True} for name in names] if self.loss else []
        document = {
            "topology": {"links": links, "queue": {"discipline": "drop-tail", "limit": f"{self.queue} packets"}},
            "impairments": losses,
            "stacks": {"x": {"congestion": self.window, "detection": detector}},
            "routing": {"r": {"paths": [["s", name, "d"] for name in names], "select": self.selector}},
            "traffic": [{"from": "s", "to": "d", "bulk": True, "stack": "x", "routing": "r"}],
            "run": {
                "duration": f"{(WARM_UP + ROUND_TRIPS) * self.rtt_s:.6f}s",
                "warm_up": f"{WARM_UP * self.rtt_s:.6f}s",
            },
        }
        flows = simulate(compile_run(Scenario(document).cases[0], seed), Unrecorded(), Event()).flows
        names = ["goodput_bps", "spurious_retransmits", "segments_sent", "longest_stall_s", "reassembly_peak_bytes"]
        goodput, spurious, sent, stall, memory = (float(flows[name][0]) for name in names)
        return goodput, spurious / max(sent, 1), stall, memory


def cases(count: int, seed: int) -> list[Case]:
    """Random cases whose paths hold 15 to 250 packets."""
    draws = np.random.default_rng(seed)
    found: list[Case] = []
    while len(found) < count:
        paths = int(draws.choice([2, 3, 4]))
        shortest = 10 ** draws.uniform(np.log10(0.002), np.log10(0.03))
        spread = float(draws.choice([0, 0.1, 0.25, 0.5, 1.0]))
        rate = 10 ** draws.uniform(np.log10(5e6), np.log10(50e6))
        delays = tuple(round(shortest * (1 + spread * place / (paths - 1)), 6) for place in range(paths))
        last = rate * float(draws.choice([0.5, 0.75])) if draws.random() < 0.25 else rate
        product = paths * last * 2 * np.mean(delays) / WIRE_BITS
        if not 15 <= product <= 250:
            continue
        queue = int(max(8, float(draws.choice([0.5, 1, 2])) * rate * 2 * delays[-1] / WIRE_BITS))
        selector, loss = str(draws.choice(["round-robin", "random"])), float(draws.choice([0, 0, 1e-3, 3e-3, 1e-2]))
        window = str(draws.choice(["newreno", "cubic"]))
        found.append(Case(delays, (rate,) * (paths - 1) + (last,), queue, selector, window, loss))
    return found


def errors(chosen: Sequence[Case], seeds: int) -> dict[str, Any]:
    """By detector: relative errors of goodput, stall and memory, the difference of spurious shares, and the spread of one run."""
    jobs = [
        partial(case.simulated, detector, seed)
        for case in chosen
        for detector in DETECTORS
        for seed in range(1, seeds + 1)
    ]
    results = iter(in_parallel("sprayed flows", jobs))
    found: dict[str, Any] = {detector: [] for detector in DETECTORS}
    for case in chosen:
        for detector in DETECTORS:
            runs = np.array([next(results) for _ in range(seeds)])
            goodput, spurious, stall, memory = runs.mean(axis=0)
            price = case.priced(detector)
            found[detector].append(
                (
                    abs(price.goodput_bps / goodput - 1),
                    abs(price.stall_s / stall - 1),
                    abs(price.memory_bytes / memory - 1),
                    abs(price.spurious - spurious),
                    runs[:, 0].std(ddof=1) / goodput if seeds > 1 else 0.0,
                )
            )
    return {detector: np.array(rows) for detector, rows in found.items()}


def table(found: dict[str, Any]) -> Table:
    """Median and 90th percentile of each error by detector."""

    def both(values: Any, digits: int = 1) -> str:
        middle, high = np.quantile(values, [0.5, 0.9]) * 100
        return f"{middle:.{digits}f} / {high:.{digits}f}"

    head = ("detector", "goodput, %", "one run's spread, %", "stall, %", "memory, %", "spurious share, points")
    rows = [
        (detector, both(each[:, 0]), both(each[:, 4]), both(each[:, 1], 0), both(each[:, 2], 0), both(each[:, 3], 2))
        for detector, each in found.items()
    ]
    return Table(head, rows)


def main(count: int = CASES, seeds: int = SEEDS) -> int:
    """Judge the closed forms on cases that chose nothing, and write the page."""
    found = errors(cases(count, JUDGED_ON), seeds)
    printed = table(found)
    print(printed.markdown())
    if count == CASES:
        write_part(PAGE, "judged", printed.markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
