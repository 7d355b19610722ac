"""The path of every pair by each metric, and their form in the files of the controller."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anabranch.compile.stacks import preset_law
from anabranch.engineering.routes import Search
from anabranch.network.topologies import Topology

Path = tuple[str, ...]
Pair = tuple[str, str]
Chosen = Mapping[str, Mapping[Pair, Path]]
"""The path of every ordered pair, by metric."""


Spread = Mapping[Pair, Sequence[tuple[float, Path]]]
"""Several paths of a pair, each with its weight."""


def written_spread(spread: Mapping[str, Spread]) -> dict[str, list[list[Any]]]:
    """Spread routes for JSON."""
    return {
        name: [[*pair, [[weight, list(path)] for weight, path in ways]] for pair, ways in pairs.items()]
        for name, pairs in spread.items()
    }


def read_spread(document: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, Spread]:
    """The routes of :func:`written_spread`."""
    return {
        name: {(source, target): [(weight, tuple(path)) for weight, path in ways] for source, target, ways in pairs}
        for name, pairs in document.items()
    }


def chosen(topology: Topology, metrics: Iterable[str]) -> Chosen:
    """The paths that these metrics choose; a pair without a path is left out."""
    search = Search(topology, preset_law)
    return {
        metric: {
            (route.source, route.target): route.paths[0].nodes for route in search.routes(metric).routes if route.paths
        }
        for metric in metrics
    }


def written(routes: Chosen) -> dict[str, list[list[Any]]]:
    """The routes for JSON."""
    return {metric: [[*pair, list(path)] for pair, path in found.items()] for metric, found in routes.items()}


def read(document: Mapping[str, Sequence[Sequence[Any]]]) -> Chosen:
    """The routes of :func:`written`."""
    return {
        metric: {(source, target): tuple(path) for source, target, path in routes}
        for metric, routes in document.items()
    }


def name(path: Path) -> str:
    """The path as text, such as 1-5-10."""
    return "-".join(path)
