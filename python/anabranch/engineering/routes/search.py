"""Find routes in a topology."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch._core import PairRoutes, RouteText
from anabranch.engineering.routes import quantities
from anabranch.engineering.routes.model import Forwarding, Path, Route, Routes
from anabranch.foundation.suggest import suggest
from anabranch.network import metrics
from anabranch.network.topologies import Topology
from anabranch.network.topologies.links import Links

Progress = Callable[[int], None]
"""A function that receives, from time to time, the number of further pairs that are done."""


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


@dataclass(frozen=True)
class Throughput:
    """Predicted throughput of a set of disjoint paths: bit/s, or 1 / (delay x sqrt(loss)) by ``tcpbp``, 1/s."""

    together: float
    """Of all paths, each with flows of its own, and with what the links carry that they share at the ends."""
    alone: float
    """Of the best path."""
    at_most: float
    """No set of as many disjoint paths has more."""

    @property
    def is_proven(self) -> bool:
        """Whether no other set has more."""
        return self.together >= self.at_most * (1 - 1e-9)


@dataclass(frozen=True)
class PathQuery:
    """What to find for each pair: :meth:`Search.answer` gives all of it, :meth:`Search.stream` parts."""

    metric: str
    """The metric by which paths are best, in the user's words."""
    find: Callable[[list[int], list[int]], PairRoutes]
    """Finds the routes from some nodes to others."""
    several: bool = True
    """Whether it may find several paths for a pair."""


class Search:
    """Path search in one topology, for any number of questions.

    ``topology`` must have the attributes of every link that the metrics need: see :func:`anabranch.engineering.routes.completed`.
    """

    def __init__(self, topology: Topology, law: Callable[[str], Any] | None = None) -> None:
        """Prepare the links for the search.

        The metric ``goodput:STACK`` needs ``law``: it returns the table of a stack's predicted goodput by the name of the stack, as
        :func:`anabranch.compile.stacks.preset_law` does.
        """
        self.topology = topology
        self._law = law or _no_law
        self.names = [node.name for node in topology.nodes]
        self._index = {name: index for index, name in enumerate(self.names)}
        links = Links.of(self.names, topology.links)
        self._network = _core.Network(
            len(self.names),
            np.asarray(links.sources),
            np.asarray(links.targets),
            _or_zero(links, "capacity_bps").astype(np.uint64),
            np.rint(_or_zero(links, "delay_s") * 1e12).astype(np.uint64),
            _or_zero(links, "loss"),
            _or_zero(links, "cost"),
        )
        self._targets = links.targets
        self._delay_known = links.without("delay_s") is None
        self._loss_known = links.without("loss") is None
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
        return self.answer(self.for_best(metric), sources, targets, progress, forwarding)

    def delivered(self, metric: str) -> Routes:
        """The paths of all pairs if every router forwards along its own route; without a path where packets loop.

        Raises:
            ValueError: as :meth:`routes`.
        """
        found = self._network.hop_by_hop(self._metric(metric))
        return Routes(self.topology, metric, "hop-by-hop", tuple(self._routes(found)))

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
        return self.answer(self.for_shortest(metric, most), sources, targets, progress)

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

        They share the links that every path must take at its ends, such as a host's access link. By a metric of predicted throughput they are
        the paths of :meth:`throughput_sets`.

        Raises:
            ValueError: as :meth:`routes`, or a metric that neither adds up nor is of predicted throughput.
        """
        return self.answer(self.for_disjoint(metric, most, by_nodes=by_nodes), sources, targets, progress)

    def throughput_sets(
        self,
        metric: str,
        most: int,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
        *,
        by_nodes: bool = False,
    ) -> tuple[Routes, dict[tuple[str, str], Throughput]]:
        """At most so many disjoint paths of each pair that have the most predicted throughput together, and this throughput by pair.

        Each path has flows of its own; shares are proportional to the paths' throughput. Of equal sets, the one of fewest paths. ``tcpbp`` is
        searched as exactly as ``tcpbp-exact``.

        Raises:
            ValueError: as :meth:`routes`, or a metric of another kind.
        """
        throughputs: dict[tuple[str, str], Throughput] = {}
        question = self._for_throughput(metric, most, by_nodes, throughputs)
        return self.answer(question, sources, targets, progress), throughputs

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
        nothing, only they have shares. By ``goodput:STACK``, the best path has at most 1 + ``threshold`` times the goodput of each path, and shares
        are proportional to the goodput.

        Raises:
            ValueError: as :meth:`routes`, or a metric that neither adds up nor is of predicted throughput, or ``tcpbp``, which finds one path.
        """
        return self.answer(self.for_within(metric, threshold, most), sources, targets, progress)

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
        return self.answer(self.for_pareto(), sources, targets, progress)

    def for_best(self, metric: str) -> PathQuery:
        """The question of :meth:`routes`."""
        wanted = self._metric(metric)
        return PathQuery(metric, lambda of, into: self._network.routes(wanted, of, into), several=False)

    def for_shortest(self, metric: str, most: int) -> PathQuery:
        """The question of :meth:`shortest`."""
        wanted = self._metric(metric)

        def find(of: list[int], into: list[int]) -> PairRoutes:
            with self._named():
                return self._network.k_shortest(wanted, of, into, most)

        return PathQuery(metric, find)

    def for_disjoint(self, metric: str, most: int, *, by_nodes: bool = False) -> PathQuery:
        """The question of :meth:`disjoint`."""
        if metrics.declared(metric) in metrics.BY_THROUGHPUT:
            return self._for_throughput(metric, most, by_nodes, {})
        wanted = self._metric(metric)
        return PathQuery(metric, lambda of, into: self._network.disjoint(wanted, of, into, most, by_nodes))

    def _for_throughput(
        self, metric: str, most: int, by_nodes: bool, throughputs: dict[tuple[str, str], Throughput]
    ) -> PathQuery:
        """The question of :meth:`throughput_sets`, which it fills in."""
        wanted = self._metric(metric)

        def find(of: list[int], into: list[int]) -> PairRoutes:
            with self._named():
                found, columns = self._network.throughput_sets(wanted, of, into, most, by_nodes)
            for row, (one, other) in enumerate(zip(found["src"].tolist(), found["dst"].tolist(), strict=True)):
                values = (float(column[row]) for column in columns)
                throughputs[self.names[one], self.names[other]] = Throughput(*values)
            return found

        return PathQuery(metric, find)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the nodes of a pair that has too many partial paths."""
        try:
            yield
        except ValueError as error:
            if len(error.args) != 3:
                raise
            message, source, target = error.args
            raise ValueError(f"from {self.names[source]} to {self.names[target]}: {message}") from None

    def for_within(self, metric: str, threshold: float, most: int) -> PathQuery:
        """The question of :meth:`within`."""
        if not threshold >= 0:
            raise ValueError(f"threshold {threshold}: must be at least 0, such as 0.05")
        wanted = self._metric(metric)

        def find(of: list[int], into: list[int]) -> PairRoutes:
            with self._named():
                return self._network.within(wanted, of, into, threshold, most)

        return PathQuery(metric, find)

    def for_pareto(self) -> PathQuery:
        """The question of :meth:`pareto`."""
        quantities.require(self.topology, ["tcpbp", "widest"])

        def find(of: list[int], into: list[int]) -> PairRoutes:
            with self._named():
                return self._network.pareto(of, into)

        return PathQuery("delay, loss, capacity", find)

    def answer(
        self,
        question: PathQuery,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
        forwarding: Forwarding = "explicit",
    ) -> Routes:
        """The routes of all pairs.

        Raises:
            ValueError: as the method of this question.
        """
        found = self.stream(question, sources, targets, progress)
        return Routes(
            self.topology, question.metric, forwarding, tuple(route for part in found for route in self._routes(part))
        )

    def stream(
        self,
        question: PathQuery,
        sources: Iterable[str] | None = None,
        targets: Iterable[str] | None = None,
        progress: Progress = _quiet,
    ) -> Iterator[PairRoutes]:
        """The routes of :meth:`answer` in parts, in the same order: the memory for them does not grow with the number of pairs.

        Raises:
            ValueError: as the method of this question; of a node that does not exist, at once.
        """
        of, into = self._nodes(sources), self._nodes(targets)
        return (
            self._by_target(question, of, into, progress)
            if question.several
            else self._best(question, of, into, progress)
        )

    def _best(self, question: PathQuery, of: list[int], into: list[int], progress: Progress) -> Iterator[PairRoutes]:
        size = min(_SOURCES_AT_ONCE, 1 + _PATHS_AT_ONCE // len(into))
        for start in range(0, len(of), size):
            some = of[start : start + size]
            yield question.find(some, into)
            progress(len(some) * len(into))

    def _by_target(
        self, question: PathQuery, of: list[int], into: list[int], progress: Progress
    ) -> Iterator[PairRoutes]:
        """A call for each target, for which it prepares a search, and for as many sources as have few paths together."""
        start, size = 0, 1
        while start < len(of):
            some = of[start : start + size]
            found: list[PairRoutes] = []
            held = paths = 0
            for target in into:
                if len(some) == 1 and held >= _PATHS_AT_ONCE:
                    yield PairRoutes.by_source(some, found)
                    found, held = [], 0
                found.append(question.find(some, [target]))
                progress(len(some))
                held += len(found[-1]["hops"])
                paths += len(found[-1]["hops"])
            yield PairRoutes.by_source(some, found)
            start += len(some)
            size = max(1, min(4 * size, size * _PATHS_AT_ONCE // max(1, paths)))

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
            self._compiled[metric] = json.dumps(metrics.compiled(metric, self._law))
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

    def text(self, widths: Sequence[int]) -> RouteText:
        """A writer of routes as text; ``widths`` are those of :attr:`names`."""
        return RouteText(self._network, self.names, widths, self._delay_known, self._loss_known)

    def _routes(self, found: PairRoutes) -> Iterator[Route]:
        links = _pieces(found["links"].tolist(), found["hops"].tolist())
        values = zip(*(found[name].tolist() for name in ("share", "delay_s", "loss", "cost")), strict=True)
        paths = list(zip(links, values, strict=True))
        pairs = zip(found["src"].tolist(), found["dst"].tolist(), strict=True)
        for (src, dst), pieces in zip(pairs, _pieces(paths, found["paths"].tolist()), strict=True):
            source = self.names[src]
            yield Route(source, self.names[dst], tuple(self._path(source, *piece) for piece in pieces))

    def _path(self, source: str, links: Sequence[int], values: tuple[float, float, float, float]) -> Path:
        share, delay, loss, cost = values
        nodes = (source, *(self.names[self._targets[link]] for link in links))
        return Path(nodes, share, delay if self._delay_known else None, loss if self._loss_known else None, cost)


def _no_law(stack: str) -> Any:
    raise ValueError(f'"goodput:{stack}": a search by it needs the law of the stack: Search(topology, preset_law)')


def _or_zero(links: Links, attribute: str) -> npt.NDArray[np.float64]:
    """The values of an attribute, 0 for what is not known. Whole numbers up to 1e15 bit/s are exact."""
    column = links.values[attribute]
    return np.zeros(len(links)) if column is None else np.nan_to_num(np.asarray(column))


_SOURCES_AT_ONCE = 16
"""Few enough to show progress and to heed Ctrl-C between them."""
_PATHS_AT_ONCE = 2**15
"""About as many paths are in memory at a time: some megabytes."""


def _pieces(items: Sequence[Any], lengths: Sequence[int]) -> list[Sequence[Any]]:
    ends = np.cumsum([0, *lengths]).tolist()
    return [items[start:end] for start, end in pairwise(ends)]
