"""The network, flows and paths of a compiled run, in the plain lists that the peers' programs read."""

import random
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECOND = 1e-12
"""A picosecond, the unit of a compiled run."""


@dataclass(frozen=True)
class Work:
    """A network and its flows; queues in packets, the one being sent not counted."""

    links: list[tuple[int, int, float, float, int, int, float]]
    """Two nodes, bit/s, seconds, the queues there and back, the loss ratio there."""
    flows: list[tuple[int, int, float, int]]
    """Two nodes, seconds of the start, payload bytes or -1."""

    @classmethod
    def of(cls, spec: dict[str, Any]) -> "Work":
        """Takes a compiled run whose queues count packets; flows of random size are drawn anew, from the same distribution."""
        there = {(link["src"], link["dst"]): link for link in spec["links"]}
        both_ways = [(link, there[link["dst"], link["src"]]) for link in spec["links"] if link["src"] < link["dst"]]
        links = [
            (
                link["src"],
                link["dst"],
                float(link["rate"]),
                link["delay"] * SECOND,
                link["queue"]["limit"]["packets"],
                back["queue"]["limit"]["packets"],
                loss_ratio(link),
            )
            for link, back in both_ways
        ]
        return cls(links, [flow for group in spec["traffic"] for flow in _flows(group, spec["duration"])])

    def write(self, folder: Path) -> dict[str, object]:
        """One file of links and one of flows, by the names of the programs' options."""
        options: dict[str, object] = {}
        for name, rows in (("links", self.links), ("flows", self.flows)):
            options[name] = folder / name
            (folder / name).write_text("".join(" ".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
        return options


def loss_ratio(link: dict[str, Any]) -> float:
    """The share of packets that the wire of a link of a compiled run loses at random."""
    return 0.0 if link["loss"] is None else float(link["loss"]["ratio"])


def _flows(group: dict[str, Any], duration: int) -> Iterator[tuple[int, int, float, int]]:
    application = group["application"]
    if application["kind"] == "short-flows":
        draw = random.Random(1)
        now = group["start"] * SECOND
        while (now := now + draw.expovariate(application["arrivals"])) < duration * SECOND:
            src, dst = draw.choice(group["pairs"])
            yield src, dst, now, _size(draw.random(), application["sizes"])
        return
    pairs = (pair for pair in group["pairs"] for _ in range(group["flows_per_pair"]))
    for number, (src, dst) in enumerate(pairs):
        start = (group["start"] + group["stagger"] * number) * SECOND
        yield src, dst, start, -1 if application["bytes"] is None else application["bytes"]


def _size(point: float, sizes: list[list[float]]) -> int:
    """The inverse of a cumulative distribution given by points, straight between them."""
    place = max(1, bisect_left([probability for _, probability in sizes], point))
    (low, below), (high, above) = sizes[place - 1], sizes[place]
    return round(low + (high - low) * (point - below) / (above - below))
