"""Effects on Abilene of values that the thesis does not give, and of its simulator's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc.measure import STACKS, goodput
from anabranch.studies.papers.mprc.places import FORWARDING, QUEUES
from anabranch.studies.papers.study import Table

if TYPE_CHECKING:
    from anabranch.results.result import Result

EQUAL_DELAYS = "1ms"
SETTINGS = {
    "": "as elsewhere",
    "-delayed-acks": "delayed ACKs",
    "-536-bytes": "segments of 536 bytes",
    "-eifel": "false reductions taken back (Eifel)",
}
OF_MPRC = {
    "mprc": "as elsewhere: gamma 2, factors 0.85 and 0.7, K = 4 and more with RTT diversity",
    "mprc-k-of-4": "K = 4 always",
    "mprc-filters-of-rfc-6298": "factors 7/8 and 3/4, as RFC 6298",
    "mprc-gamma-of-1_1": "gamma 1.1",
    "mprc-tight": "gamma 1.1, K = 1 always",
}


@dataclass(frozen=True)
class Readings:
    """Goodput in Mbit/s by stack, routing and whether the paths' delays differ."""

    rates: Mapping[tuple[str, str, bool], Mean]

    queues: Mapping[tuple[str, str, str], Mean]
    """Goodput by stack, routing and queue, without errors."""

    @classmethod
    def of(cls, readings: Result, queues: Result, abilene: Result) -> Readings:
        """The goodput in the experiments of these names."""
        rates = goodput(readings, ["stack", "routing", "delay"])
        by_queue = goodput(queues, ["stack", "routing", "queue", "loss"])
        usual = {
            (*key[:2], "drop-tail limit=100 packets", key[2]): mean
            for key, mean in goodput(abilene, ["stack", "routing", "loss"]).items()
        }
        return cls(
            {(stack, routing, delay != EQUAL_DELAYS): mean for (stack, routing, delay), mean in rates.items()},
            {key[:3]: mean for key, mean in (usual | by_queue).items() if not key[3]},
        )

    def rate(self, stack: str, routing: str, *, apart: bool = False) -> Mean:
        """Goodput with paths of great-circle delays (``apart``), or of 1 ms a link."""
        return self.rates[stack, routing, apart]

    def tables(self) -> list[Table]:
        """Tables of the simulator's defaults, of FastRTO's parameters and of queues."""
        columns = [(routing, apart) for apart in (True, False) for routing in ("disjoint", "ecmp")]
        heads = [
            f"{FORWARDING[routing].partition(',')[0]}, {'great circle + 1 ms' if apart else '1 ms a link'}"
            for routing, apart in columns
        ]
        return [
            Table(
                "readings",
                "Other readings, Figure 5.5",
                "Mbit/s on Abilene at random. ns-3 sends segments of 536 bytes and delays ACKs by default.",
                ["stack", "setting", *heads],
                [
                    [name, what, *self._row(stack + setting, columns)]
                    for stack, name in STACKS.items()
                    for setting, what in SETTINGS.items()
                    if (stack + setting, "ecmp", True) in self.rates
                ],
            ),
            Table(
                "parameters",
                "FastRTO's parameters, Chapter 4",
                "Mbit/s of MPRC on Abilene at random, for parameters that the thesis does not give (docs/models/fast-rto.md has the search).",
                ["parameters", *heads],
                [[what, *self._row(stack, columns)] for stack, what in OF_MPRC.items()],
            ),
            self._queues(),
        ]

    def _queues(self) -> Table:
        return Table(
            "queues",
            "Queues, Figures 5.3 and 5.5",
            "Mbit/s on Abilene. The thesis does not give the length of its queues. The bandwidth-delay products of the two paths are 40 and 48 packets.",
            ["forwarding", "stack", *QUEUES.values()],
            [
                [FORWARDING[routing], name, *(str(self.queues[stack, routing, queue]) for queue in QUEUES)]
                for routing in ("ospf", "disjoint")
                for stack, name in STACKS.items()
            ],
        )

    def _row(self, stack: str, columns: list[tuple[str, bool]]) -> list[str]:
        return [str(self.rates[stack, routing, apart]) for routing, apart in columns]
