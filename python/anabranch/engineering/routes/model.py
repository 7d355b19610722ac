"""Routes: what paths the traffic of each pair of nodes takes, and in what shares."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from anabranch.network.topologies import Topology

Forwarding = Literal["explicit", "hop-by-hop"]
"""Who decides: the source for the whole path, or every router for its next hop, by the route from itself."""


@dataclass(frozen=True, slots=True)
class Path:
    """One path of a pair, with its share of the pair's traffic."""

    nodes: tuple[str, ...]
    """The nodes from the source to the destination."""
    weight: float = 1.0
    """Above 0, at most 1; the weights of a route add up to 1."""
    delay_s: float | None = None
    """One way; ``None`` where the topology does not say it for every link."""
    loss: float | None = None
    """Ratio of packets lost, one way."""
    cost: float | None = None
    """The path by the metric of the routes. Its unit is links for hop-count; seconds for delay, tcpbp and tcpbp-exact; bit/s for widest and goodput:STACK; loss has a ratio."""


@dataclass(frozen=True, slots=True)
class Route:
    """The paths from one node to another, best first; none if there is no path."""

    source: str
    target: str
    paths: tuple[Path, ...]

    @property
    def reachable(self) -> bool:
        """Whether there is a way at all."""
        return bool(self.paths)


@dataclass(frozen=True)
class Routes:
    """The routes of some or all ordered pairs of a topology."""

    topology: Topology
    metric: str
    """The metric by which they are best, in the user's words."""
    forwarding: Forwarding
    routes: tuple[Route, ...]

    def document(self) -> dict[str, Any]:
        """The document that ``anabranch routes --json`` prints; a pair without a path has ``path`` null."""
        return {
            "topology": self.topology.name,
            "metric": self.metric,
            "forwarding": self.forwarding,
            "routes": list(_records(self.routes)),
        }


def _records(routes: Iterable[Route]) -> Iterable[dict[str, Any]]:
    for route in routes:
        ends = {"src": route.source, "dst": route.target}
        if len(route.paths) > 1:
            yield ends | {"paths": [_record(path) | {"fraction": path.weight} for path in route.paths]}
        else:
            yield ends | _record(route.paths[0] if route.paths else None)


def _record(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {"path": None, "delay_s": None, "loss": None, "cost": None}
    return {"path": list(path.nodes), "delay_s": path.delay_s, "loss": path.loss, "cost": path.cost}
