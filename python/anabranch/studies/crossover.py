"""Which path of a pair is best for which size of transfer, and the sizes at which that changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engineering.routes.model import Path, Route, Routes
from anabranch.engineering.routes.search import Search
from anabranch.engines.predict import predicted
from anabranch.network.topologies import Link, Topology
from anabranch.scenario import Scenario

SMALLEST, LARGEST = 1500, 10_000_000
"""Sizes between which paths are compared, bytes."""
_STEP, _HALVINGS = 4.0, 3
"""The first sizes are a factor of 4 apart. Between two with different paths, the interval is halved three times, to a factor of 1.2."""
_BETTER = 0.02
"""By this share a path must be faster to take the place of the path for smaller transfers."""
_RUN_S = 20_000
"""Virtual time in which a transfer may end."""


@dataclass(frozen=True)
class SizeRange:
    """Transfers that take one path."""

    from_bytes: int
    below_bytes: float
    """Infinite for the last range."""
    path: Path
    times: tuple[tuple[int, float, float], ...]
    """Sizes within the range, the median time of a transfer over this path, and over the next best one, seconds."""


class Crossover:
    """The paths of a pair by the size of a transfer, for a stack.

    Only paths that no other beats in delay, loss and capacity at once can be the fastest. Each is alone with one transfer. The predict engine
    has its median completion time.
    """

    def __init__(self, topology: Topology, source: str, target: str, stack: Any) -> None:
        """``stack`` is a preset's name, or a table as in ``[stacks]``.

        Raises:
            ValueError: a node that does not exist, no path, or a link without delay, loss or capacity.
        """
        self.topology, self.source, self.target = topology, source, target
        self._stack = {"preset": stack} if isinstance(stack, str) else stack
        (route,) = Search(topology).pareto([source], [target]).routes
        if not route.paths:
            raise ValueError(f"{topology.name}: no path leads from {source} to {target}")
        self.paths = tuple(replace(path, weight=1.0) for path in route.paths)
        self._links = {(link.source, link.target): link for link in topology.links}
        self._known: dict[int, tuple[float, ...]] = {}

    def seconds(self, sizes: Sequence[int]) -> list[tuple[float, ...]]:
        """The median completion time of each size over each path.

        Raises:
            ValueError: the stack cannot be predicted.
        """
        missing = [size for size in dict.fromkeys(sizes) if size not in self._known]
        if missing:
            flows = predicted(compile_run(Scenario(self._document(missing)).cases[0], 1)).flows()
            times = iter(map(float, flows["fct_s"]))
            for size in missing:
                self._known[size] = tuple(next(times) for _ in self.paths)
        return [self._known[size] for size in sizes]

    @cached_property
    def ranges(self) -> tuple[SizeRange, ...]:
        """The ranges of sizes, smallest first."""
        sizes = [SMALLEST]
        while sizes[-1] < LARGEST:
            sizes.append(min(LARGEST, round(sizes[-1] * _STEP)))
        self.seconds(sizes)
        for _ in range(_HALVINGS):
            best = self._best()
            between = [
                round(sqrt(low * high)) for low, high in pairwise(sorted(self._known)) if best[low] != best[high]
            ]
            self.seconds(between)
        best, found = self._best(), list[SizeRange]()
        starts = list(best)
        begin = starts[0]
        for size, after in zip(starts, [*starts[1:], None], strict=True):
            if after is not None and best[after] == best[size]:
                continue
            within = [one for one in starts if begin <= one <= size]
            below = inf if after is None else sqrt(size * after)
            first = begin if not found else round(found[-1].below_bytes)
            times = tuple((one, *self._two(one, best[size])) for one in within)
            found.append(SizeRange(first, below, self.paths[best[size]], times))
            begin = after or begin
        return tuple(found)

    def path_for(self, size: int) -> Path:
        """The path for transfers of this size, bytes."""
        return next(one.path for one in self.ranges if size < one.below_bytes)

    def routes(self, size: int) -> Routes:
        """The route of transfers of this size, for exports."""
        route = Route(self.source, self.target, (self.path_for(size),))
        return Routes(self.topology, f"size {size} B", "explicit", (route,))

    def _best(self) -> dict[int, int]:
        """The path of each known size: that of the size before, unless another is clearly faster."""
        chosen: dict[int, int] = {}
        last: int | None = None
        for size, times in sorted(self._known.items()):
            fastest = min(range(len(times)), key=times.__getitem__)
            if last is None or times[fastest] < (1 - _BETTER) * times[last]:
                last = fastest
            chosen[size] = last
        return chosen

    def _two(self, size: int, best: int) -> tuple[float, float]:
        times = self._known[size]
        others = [time for place, time in enumerate(times) if place != best]
        return times[best], min(others, default=inf)

    def _document(self, sizes: Sequence[int]) -> dict[str, Any]:
        """Every path for every size, each as a line of nodes of its own, from one source."""
        links: list[dict[str, Any]] = []
        traffic: list[dict[str, Any]] = []
        for size in sizes:
            for place, path in enumerate(self.paths):
                nodes = ["source", *(f"{size}-{place}-{number}" for number in range(1, len(path.nodes)))]
                for (one, other), hop in zip(pairwise(nodes), pairwise(path.nodes), strict=True):
                    there = self._links[hop]
                    back = self._links.get((hop[1], hop[0]), there)
                    links += [_written(one, other, there), _written(other, one, back)]
                traffic.append({"from": nodes[0], "to": nodes[-1], "size": f"{size}B", "stack": "stack"})
        return {
            "topology": {"links": links},
            "stacks": {"stack": self._stack},
            "traffic": traffic,
            "run": {"duration": f"{_RUN_S}s"},
        }


def _written(source: str, target: str, link: Link) -> dict[str, Any]:
    return {
        "source": source,
        "target": target,
        "directed": True,
        "capacity": f"{link.capacity_bps}bps",
        "delay": f"{1e6 * (link.delay_s or 0):.6f}us",
        "loss": link.loss or 0.0,
    }
