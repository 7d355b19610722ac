"""A network under spraying: the goodput of each stack, and its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import charts
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import bounds, pictures
from anabranch.studies.papers.mprc.measure import (
    FULL,
    LINK_MBPS,
    STACKS,
    arriving,
    differs,
    fluctuation,
    goodput,
    over_time,
    payload,
    per_flow,
    settled,
    short,
)
from anabranch.studies.papers.mprc.places import ABILENE, ATT, FORWARDING, GRID, Place
from anabranch.studies.papers.study import Number
from anabranch.studies.papers.verdicts import Truth, above

if TYPE_CHECKING:
    from anabranch.results.result import Result

SPRAYED = {GRID.key: "ecmp", ABILENE.key: "disjoint", ATT.key: "disjoint"}
"""The forwarding by which a network is judged. The grid's paths of equal cost are disjoint, so it needs no explicit paths."""


@dataclass(frozen=True)
class Spread:
    """A network under spraying."""

    place: Place
    rates: Mapping[tuple[str, str], Mean]
    """Goodput in Mbit/s by stack and routing."""
    seconds: pl.DataFrame
    """Goodput of every second after the warm-up."""
    arrived: pl.DataFrame
    """The rate of bytes that arrived at the destination, for the same seconds."""
    bins: pl.DataFrame
    stalls: pl.DataFrame
    """The longest stall of each flow, in ``longest_stall_s``."""
    network: float
    """Maximum flow of the network, in rates of a link. ``equal_cost`` is that of its paths of equal cost. ``equal_split`` is the flow that
    these paths carry if every node splits equally."""
    equal_cost: float
    equal_split: float

    @classmethod
    def of(cls, place: Place, results: Mapping[str, Result]) -> Spread:
        """The results of the experiments on the network."""
        result = results[place.key]
        rates = goodput(result, ["stack", "routing", *(["loss"] if "loss" in result.keys else [])])
        known = {group[:2]: mean for group, mean in rates.items() if not any(group[2:])}
        if f"{place.key}-selectors" in results:
            known = goodput(results[f"{place.key}-selectors"], ["stack", "routing"]) | known
        network, ends = bounds.links(result), (place.source, place.target)
        return cls(
            place,
            known,
            settled(without_errors(over_time(result, 1.0))),
            settled(without_errors(arriving(result, place.target, 1.0))),
            without_errors(over_time(result, pictures.BIN_S)),
            without_errors(per_flow(result)),
            bounds.max_flow(network, *ends),
            bounds.max_flow(bounds.fewest_links(network, *ends), *ends),
            bounds.equal_split(network, *ends),
        )

    @property
    def routing(self) -> str:
        """The forwarding by which the network is judged."""
        return SPRAYED[self.place.key]

    @property
    def bound(self) -> float:
        """Payload that all disjoint paths carry, Mbit/s."""
        return payload(self.place.paths)

    def rate(self, stack: str, routing: str | None = None) -> Mean:
        """Goodput in Mbit/s."""
        return self.rates[stack, routing or self.routing]

    def says(self, *stacks: str, routing: str | None = None) -> str:
        """Goodput of these stacks as text."""
        return ", ".join(f"{STACKS[stack]} {self.rate(stack, routing)}" for stack in stacks) + " Mbit/s"

    def of_stack(self, table: pl.DataFrame, stack: str, routing: str | None = None) -> pl.DataFrame:
        """The rows of a stack under a forwarding."""
        return table.filter((pl.col("stack") == stack) & (pl.col("routing") == (routing or self.routing)))

    def arriving(self, stack: str) -> list[float]:
        """Rate of arriving bytes in each second of all runs, as a share of the links' rate."""
        return (self.of_stack(self.arrived, stack)["mbps"] / (self.place.paths * LINK_MBPS)).to_list()

    def goodput(self, stack: str) -> list[float]:
        """Goodput of each second of all runs, as a share of the links' payload."""
        return (self.of_stack(self.seconds, stack)["mbps"] / self.bound).to_list()

    def longest_stall_s(self, stack: str) -> float:
        """The longest time without delivery in order while data is outstanding, of all runs."""
        longest: float = self.of_stack(self.stalls, stack)["longest_stall_s"].max()  # type: ignore[assignment]
        return longest

    def fills(self, stack: str) -> Truth:
        """Whether a stack's goodput is all the payload of the disjoint paths (at least ``FULL`` of it)."""
        return above(self.rate(stack), FULL * self.bound)

    def more_fluctuating(self, one: str, other: str) -> Truth:
        """Whether one fluctuates more than the other, seed by seed."""
        return above(differs(self.seconds.filter(pl.col("routing") == self.routing), "stack", one, other), 0.0)

    def fluctuation(self, stack: str) -> Mean:
        """Standard deviation over mean of the goodput of seconds, in percent."""
        found: Mean = fluctuation(self.of_stack(self.seconds, stack), ["stack"])[stack]
        return found

    def numbers(self) -> list[Number]:
        """Goodput by forwarding and stack."""
        return [
            Number(
                f"{self.place.key}-{routing}-{short(stack)}", *mean, where=self.place.sprayed, unit="Mbit/s",
                what=f"{STACKS[stack]} on {self.place.name}, {FORWARDING[routing]}",
            )
            for (stack, routing), mean in self.rates.items()
            if routing in ("ecmp", "disjoint", "ecmp-in-turn", "disjoint-in-turn")
        ]  # fmt: skip

    @property
    def shown(self) -> list[str]:
        """The forwarding by which the network is judged, and another."""
        return [self.routing, "ecmp" if self.routing != "ecmp" else "ecmp-in-turn"]

    def chart(self) -> Any:
        """The thesis' figure with the forwarding by which the network is judged and with another."""
        panels = [
            (FORWARDING[routing], pictures.over_time(self.bins.filter(pl.col("routing") == routing)))
            for routing in self.shown
        ]
        return charts.side_by_side(panels)


def without_errors(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of runs without errors."""
    return table.filter(pl.col("loss") == 0) if "loss" in table.columns else table
