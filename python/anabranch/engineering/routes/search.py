"""Find routes in a topology."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.engineering.routes import quantities
from anabranch.engineering.routes.model import Forwarding, Path, Route, Routes
from anabranch.foundation.array_types import Columns
from anabranch.foundation.suggest import suggest
from anabranch.network import metrics
from anabranch.network.topologies import Topology
from anabranch.network.topologies.model import columns

Progress = Callable[[int], None]
"""A function that receives, from time to time, the number of further sources (:meth:`Search.routes`) or targets that are done."""


def _quiet(done: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Certificate:
    """The proof that no path costs less than the one found by ``tcpbp-exact``.

    Every path has D + lambda L >= length (with L = -ln(1 - P); for an infinite lambda: L >= length). The region that this leaves
    has its cheapest corner at ``lower_bound_s``.
    """

    cost_s: float
    lower_bound_s: float
    supports: tuple[tuple[float, float], ...]
    """Lambda in seconds, and length in seconds (for an infinite lambda without unit), by ascending lambda."""
    holds: bool
    """Whether Bellman and Ford's method, which shares nothing with the search, finds these lengths, and cost and bound agree to 1e-9."""


class Search:
    """Path search in one topology, for any number of questions.

    ``topology`` must have the attributes of every link that the metrics need: see :func:`anabranch.engineering.routes.completed`.
    """

    def __init__(self, topology: Topology) -> None:
        """Prepare the links for the search."""
        self.topology = topology
        self.names = [node.name for node in topology.nodes]
        self._index = {name: index for index, name in enumerate(self.names)}
        sources, targets, capacities, delays, _, losses, costs = columns(topology.links)
        self._network = _core.Network(
            len(self.names),
            np.array(list(map(self._index.__getitem__, sources)), np.uint32),
            np.array(list(map(self._index.__getitem__, targets)), np.uint32),
            _or_zero(capacities).astype(np.uint64),
            np.rint(_or_zero(delays) * 1e12).astype(np.uint64),
            _or_zero(losses),
            _or_zero(costs),
        )
        self._targets = targets
        self._delay_known = None not in delays
        self._loss_known = None not in losses
        self._compiled: dict[str, str] = {}

    @cached_property
    def _links(self) -> dict[tuple[str, str], int]:
        return {(link.source, link.target): index for index, link in enumerate(self.topology.links)}

    def routes(
        self,
        metric: str = "tcpbp-exact",
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        forwarding: Forwarding = "explicit",
        progress: Progress = _quiet,
    ) -> Routes:
        """The best path from each source to each target, by default from all nodes to all others.

        With ``forwarding="hop-by-hop"`` these are the routers' own plans; :meth:`delivered` returns the paths that packets then take.

        Raises:
            ValueError: a metric that is none or that the topology does not say enough for, or a node that does not exist.
        """
        wanted, into = self._metric(metric), self._nodes(targets)
        found: list[Route] = []
        for some in _batched(self._nodes(sources), _SOURCES_AT_ONCE):
            found += self._routes(self._network.routes(wanted, some, into))
            progress(len(some))
        return Routes(self.topology, metric, forwarding, tuple(found))

    def delivered(self, metric: str) -> Routes:
        """The paths of all pairs if every router forwards along its own route; without a path where packets loop.

        Raises:
            ValueError: as :meth:`routes`.
        """
        return Routes(self.topology, metric, "hop-by-hop", self._routes(self._network.hop_by_hop(self._metric(metric))))

    def shortest(
        self,
        metric: str,
        most: int,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
    ) -> Routes:
        """The shortest loopless paths of each pair (Yen), at most ``most``, with equal shares.

        Raises:
            ValueError: as :meth:`routes`, or several by ``tcpbp``, which finds one.
        """
        wanted = self._metric(metric)
        found = self._by_target(
            lambda of, into: self._network.k_shortest(wanted, of, into, most), sources, targets, progress
        )
        return Routes(self.topology, metric, "explicit", found)

    def disjoint(
        self,
        metric: str,
        most: int,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
        *,
        by_nodes: bool = False,
    ) -> Routes:
        """Paths of each pair that share no link, or no node between the ends: all there are, at most ``most``, of least total (Suurballe).

        They share the links that every path must take at its ends, such as a host's access link.

        Raises:
            ValueError: as :meth:`routes`, or a metric that is no sum.
        """
        wanted = self._metric(metric)
        found = self._by_target(
            lambda of, into: self._network.disjoint(wanted, of, into, most, by_nodes), sources, targets, progress
        )
        return Routes(self.topology, metric, "explicit", found)

    def within(
        self,
        metric: str,
        threshold: float,
        most: int = 8,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
    ) -> Routes:
        """The loopless paths of each pair that cost at most 1 + ``threshold`` times the least, at most ``most``.

        Shares are proportional to the inverse of the cost; by ``tcpbp-exact`` that is the predicted throughput. If some paths cost
        nothing, only they have shares.

        Raises:
            ValueError: as :meth:`routes`, or a metric that neither adds up nor is ``tcpbp-exact``.
        """
        if not threshold >= 0:
            raise ValueError(f"threshold {threshold}: must be at least 0, such as 0.05")
        wanted = self._metric(metric)
        found = self._by_target(
            lambda of, into: self._network.within(wanted, of, into, threshold, most), sources, targets, progress
        )
        return Routes(self.topology, metric, "explicit", tuple(map(_weighted_by_cost, found)))

    def pareto(
        self,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
    ) -> Routes:
        """The paths of each pair that no other beats in delay, loss and capacity at once, by ascending delay, with equal shares.

        Their cost is the capacity, bit/s.

        Raises:
            ValueError: a link without delay, loss or capacity, a node that does not exist, or a pair with too many such paths.
        """
        quantities.require(self.topology, ["tcpbp", "widest"])
        try:
            found = self._by_target(self._network.pareto, sources, targets, progress)
        except ValueError as error:
            if len(error.args) != 3:
                raise
            message, source, target = error.args
            raise ValueError(f"from {self.names[source]} to {self.names[target]}: {message}") from None
        return Routes(self.topology, "delay, loss, capacity", "explicit", found)

    def path_counts(self, metric: str) -> npt.NDArray[np.float64]:
        """How many best paths there are by an isotone metric, by source and target: more than one is a tie.

        Raises:
            ValueError: as :meth:`routes`, or a metric that is not isotone.
        """
        return self._network.path_counts(self._metric(metric))

    def path_value(self, metric: str, path: Path) -> float:
        """The value of a path by one isotone metric. Less is better: a bottleneck counts negatively."""
        links = [self._links[hop] for hop in pairwise(path.nodes)]
        cost = self._network.path_cost(self._metric(metric), links)
        return -cost if metric in metrics.BOTTLENECKS else cost

    def certificate(self, source: str, target: str) -> Certificate | None:
        """The proof of the best path by ``tcpbp-exact``; ``None`` without a path.

        Raises:
            ValueError: as :meth:`routes`.
        """
        self._metric("tcpbp-exact")
        (one,), (other,) = self._nodes([source]), self._nodes([target])
        found = self._network.certificate(one, other)
        if found is None:
            return None
        supports = zip(found["lambda_s"], found["length"], strict=True)
        return Certificate(found["cost"], found["lower_bound"], tuple(supports), found["holds"])

    def _metric(self, metric: str) -> str:
        if metric not in self._compiled:  # once, as it looks at every link: a comparison asks for every pair
            quantities.require(self.topology, metrics.metric(metric))
            self._compiled[metric] = json.dumps(metrics.compiled(metric))
        return self._compiled[metric]

    def _nodes(self, names: Iterable[str] | None) -> list[int]:
        if names is None:
            return list(range(len(self.names)))
        return [self.index(name) for name in names]

    def index(self, name: str) -> int:
        """The place of a node among :attr:`names`.

        Raises:
            ValueError: there is no such node.
        """
        if name not in self._index:
            raise ValueError(f'{self.topology.name}: there is no node "{name}"; {suggest(name, self.names)}')
        return self._index[name]

    def _by_target(
        self,
        find: Callable[[list[int], list[int]], Columns],
        sources: Iterable[str] | None,
        targets: Iterable[str] | None,
        progress: Progress,
    ) -> tuple[Route, ...]:
        """The routes that ``find`` finds, source by source. Each call has one target, for which it prepares a search."""
        of, into = self._nodes(sources), self._nodes(targets)
        found = []
        for target in into:
            found.append((target, iter(self._routes(find(of, [target])))))
            progress(1)
        return tuple(next(routes) for source in of for target, routes in found if target != source)

    def _routes(self, columns: Columns) -> tuple[Route, ...]:
        """The routes that columns hold, paths of a pair with equal shares."""
        links = _pieces(columns["links"].tolist(), columns["hops"].tolist())
        values = zip(*(columns[name].tolist() for name in ("delay_s", "loss", "cost")), strict=True)
        paths = list(zip(links, values, strict=True))
        pairs = zip(columns["src"].tolist(), columns["dst"].tolist(), strict=True)
        return tuple(
            Route(
                self.names[src],
                self.names[dst],
                tuple(self._path(self.names[src], links, values, 1 / len(pieces)) for links, values in pieces),
            )
            for (src, dst), pieces in zip(pairs, _pieces(paths, columns["paths"].tolist()), strict=True)
        )

    def _path(self, source: str, links: Sequence[int], values: tuple[float, float, float], weight: float) -> Path:
        delay, loss, cost = values
        nodes = (source, *(self._targets[link] for link in links))
        return Path(nodes, weight, delay if self._delay_known else None, loss if self._loss_known else None, cost)


def _or_zero(column: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """The numbers of a column, 0 for what is not known. Whole numbers up to 1e15 bit/s stay exact."""
    return np.nan_to_num(np.array(column, np.float64))


def _weighted_by_cost(route: Route) -> Route:
    costs = [path.cost or 0.0 for path in route.paths]
    goods = [float(cost == 0) if 0.0 in costs else 1 / cost for cost in costs]
    paths = (replace(path, weight=good / sum(goods)) for path, good in zip(route.paths, goods, strict=True) if good)
    return Route(route.source, route.target, tuple(paths))


_SOURCES_AT_ONCE = 16
"""Few enough to show progress and to heed Ctrl-C between them."""


def _batched(items: Sequence[int], size: int) -> Iterable[Sequence[int]]:
    """The items in pieces of that size, the last one shorter."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _pieces(items: Sequence[Any], lengths: Sequence[int]) -> list[Sequence[Any]]:
    ends = np.cumsum([0, *lengths]).tolist()
    return [items[start:end] for start, end in pairwise(ends)]
