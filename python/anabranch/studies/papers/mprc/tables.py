"""Tables about spraying: bounds, selection, steadiness."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.studies.papers.mprc.measure import LINK_MBPS, STACKS, STEADY, payload, percent
from anabranch.studies.papers.mprc.places import FORWARDING
from anabranch.studies.papers.mprc.spread import Spread
from anabranch.studies.papers.study import Table


def bounds(spread: Sequence[Spread]) -> Table:
    """A table of bounds beside results."""
    rows = []
    for one in spread:
        rows.append(_bound_row(one, "ecmp", "ecmp-in-turn", one.equal_cost, one.equal_split))
        if one.routing != "ecmp":
            rows.append(_bound_row(one, "disjoint", "disjoint-in-turn", one.place.paths, one.place.paths))
    return Table(
        "bounds",
        "Bounds, Section 5.2",
        "Mbit/s: the maximum flow between the two nodes, the maximum flow over the links in use, and the flow over these links if "
        "every node (or the source) splits equally. The last one times"
        f" {PAYLOAD_TEXT} is the bound of the payload. The last two columns are MPRC's goodput.",
        ["network", "forwarding", "max flow", "over its links", "split equally", "of that payload", "at random", "in turn"],
        rows,
    )  # fmt: skip


PAYLOAD_TEXT = "1460/1500"


def _bound_row(one: Spread, random: str, turn: str, links: float, split: float) -> list[str]:
    return [
        one.place.name,
        FORWARDING[random].partition(",")[0],
        *(f"{value * LINK_MBPS:.1f}" for value in (one.network, links, split)),
        f"{payload(split):.2f}",
        str(one.rate("mprc", random)),
        str(one.rate("mprc", turn)),
    ]


_OF_THE_THESIS = {
    "abilene": ["10", "below 10", "below 2.5", "20"],
    "att": ["below 5", "below 5", "below 5", "30"],
}
"""The thesis' Figures 5.5 and 5.6 in its words, Mbit/s, in the order of :data:`STACKS`."""
_READINGS = ("disjoint-in-turn", "disjoint", "ecmp-in-turn", "ecmp")


def readings(*spread: Spread) -> Table:
    """The thesis' numbers above ours, in each reading of its forwarding."""
    rows = []
    for one in spread:
        rows.append([one.place.name, f"the thesis, {one.place.sprayed}", *_OF_THE_THESIS[one.place.key]])
        rows += [
            [one.place.name, FORWARDING[routing], *(str(one.rate(stack, routing)) for stack in STACKS)]
            for routing in _READINGS
        ]
    return Table(
        "readings-side-by-side",
        "Figures 5.5 and 5.6 in each reading",
        "Goodput in Mbit/s with the thesis' delays (great circle, and 1 ms a link). In turn over disjoint paths comes nearest to the thesis.",
        ["network", "forwarding", *STACKS.values()],
        rows,
    )


def selectors(*spread: Spread) -> Table:
    """A table of random and round-robin selection, for data and for ACKs."""
    routings = [name for name in FORWARDING if name != "ospf"]
    return Table(
        "selectors",
        "Selection, Section 5.2",
        "Goodput in Mbit/s. ns-3's ECMP takes a next hop at random for every packet. In turn, overtaking is regular and bounded, "
        "which harms detection by duplicate ACKs less.",
        ["network", "forwarding", *STACKS.values()],
        [
            [one.place.name, FORWARDING[routing], *(str(one.rate(stack, routing)) for stack in STACKS)]
            for one in spread
            for routing in routings
            if ("mprc", routing) in one.rates
        ],
    )


def steadiness(spread: Sequence[Spread]) -> Table:
    """A table of the rates by second, at the receiver's links and as goodput, and of the longest stall."""
    rows = []
    for one in spread:
        for stack, name in STACKS.items():
            goodput = one.goodput(stack)
            rows.append([
                one.place.name, name, percent(min(one.arriving(stack))), percent(min(goodput)),
                percent(sum(share < STEADY for share in goodput) / len(goodput), 1), f"{one.fluctuation(stack)} %",
                f"{one.longest_stall_s(stack):.2f} s",
            ])  # fmt: skip
    return Table(
        "steadiness",
        "Steadiness, Figures 2.4, 5.5 and 5.6",
        "Over disjoint paths at random, second by second after the first five. Arriving: the least second, as a share of the links' rate. "
        "Goodput: the least second, as a share of their payload, the seconds with less than 90 % of it, and standard deviation over mean. "
        "Longest stall: the longest time without data for the application, because it waited for a retransmission. The thesis does "
        "not say where it measures.",
        [
            "network",
            "stack",
            "least second, arriving",
            "least second, goodput",
            "seconds below 90 %",
            "variation",
            "longest stall",
        ],
        rows,
    )
