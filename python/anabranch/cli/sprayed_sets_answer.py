"""The answer of ``anabranch routes --metric goodput:STACK --disjoint N --spray``: over which paths to spray a flow of this stack."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from anabranch.cli.exit_status import UsageError
from anabranch.cli.traffic_classes import TrafficClasses
from anabranch.compile.stacks import preset_law
from anabranch.engineering.predict.spray import DETECTORS, Detector, Selector, Window
from anabranch.engineering.routes import picture
from anabranch.engineering.routes.model import Path as RoutedPath
from anabranch.engineering.routes.model import Route, Routes
from anabranch.engineering.routes.search import Search
from anabranch.engineering.routes.sprayed_sets import SprayedSet, SprayingStack, best_sprayed
from anabranch.engineering.routes.tables import ARROW
from anabranch.foundation.text_table import TextTable, count
from anabranch.scenario.stacks import preset_stack

_CANDIDATES = 48
"""The best paths of a pair, among which the search chooses."""
_WINDOWS: dict[str, Window] = {
    **dict.fromkeys(("newreno", "linux-reno"), "newreno"),
    **dict.fromkeys(("cubic", "linux-cubic"), "cubic"),
}
_BY_RATE = ("bbr", "bbr3", "linux-bbr")


@dataclass(frozen=True)
class SprayedSets:
    """The best set of each pair and selector, and what one path has."""

    routes: Routes
    """Each pair's best set, or its best path if that has more."""
    stack: str
    alone: dict[tuple[str, str], RoutedPath]
    """The best path of each pair; its cost is its goodput, bit/s."""
    sets: dict[tuple[str, str], dict[Selector, SprayedSet]]
    compared: dict[tuple[str, str], int]
    """How many paths the search chose among."""

    @classmethod
    def of(cls, search: Search, stack: str, most: int, routes: Routes, *, by_nodes: bool) -> "SprayedSets":
        """Search from ``routes``, the best sets of paths with flows of their own.

        Raises:
            UsageError: a stack whose price of spraying is not known.
        """
        spraying = SprayingStack(preset_law(stack), *answered(stack))
        chosen: list[Route] = []
        alone: dict[tuple[str, str], RoutedPath] = {}
        sets: dict[tuple[str, str], dict[Selector, SprayedSet]] = {}
        compared: dict[tuple[str, str], int] = {}
        for route in routes.routes:
            ends = route.source, route.target
            if not route.paths:
                chosen.append(route)
                continue
            paths = _candidates(search, routes.metric, route, most, by_nodes)
            alone[ends] = replace(paths[0], weight=1.0)
            compared[ends] = len(paths)
            shared = _shared(route.paths) if len(route.paths) > 1 else None
            sets[ends] = (
                {}
                if shared is None
                else best_sprayed(paths, shared, most, spraying, search.topology, by_nodes=by_nodes)
            )
            best = max(sets[ends].values(), key=lambda one: one.goodput_bps, default=None)
            is_better = best is not None and best.goodput_bps > (alone[ends].cost or 0.0) * (1 + 1e-9)
            chosen.append(Route(*ends, best.paths if best is not None and is_better else (alone[ends],)))
        found = Routes(routes.topology, routes.metric, routes.forwarding, tuple(chosen))
        return cls(found, stack, alone, sets, compared)

    def document(self) -> dict[str, Any]:
        """The routes, and for each pair the best set of each selector."""
        document = self.routes.document()
        for record in document["routes"]:
            ends = record["src"], record["dst"]
            best = self.alone.get(ends)
            record["best_path"] = None if best is None else {"path": list(best.nodes), "goodput_bps": best.cost}
            record["paths_compared"] = self.compared.get(ends, 0)
            record["sprayed"] = [
                {
                    "select": selector,
                    "paths": [{"path": list(path.nodes), "fraction": path.weight} for path in one.paths],
                    "goodput_bps": one.goodput_bps,
                    "price": None if one.price is None else asdict(one.price),
                }
                for selector, one in self.sets.get(ends, {}).items()
            ]
        return document

    def tables(self, most_rows: int) -> Iterator[TextTable]:
        """A row for each path of each set, with the set's goodput in its first row."""
        head = ("from", "to", "select", "path", "share", "Mbit/s", "of one path", "spurious", "stall, ms", "memory, kB")
        rows: list[tuple[str, ...]] = []
        single = 0
        for route in self.routes.routes:
            ends = route.source, route.target
            if not route.paths:
                rows.append((*ends, "-", "no path", *("-",) * 6))
                continue
            single += len(route.paths) == 1
            best = self.alone[ends].cost or 0.0
            rows.append((*ends, "one path", ARROW.join(self.alone[ends].nodes), "1", f"{best / 1e6:.4g}", *("",) * 4))
            for selector, one in self.sets[ends].items():
                price = one.price
                more = ("-",) * 3
                if price is not None:
                    more = (
                        f"{100 * price.spurious:.2f} %",
                        f"{price.stall_s * 1e3:.3g}",
                        f"{price.memory_bytes / 1e3:.3g}",
                    )
                numbers = (f"{one.goodput_bps / 1e6:.4g}", f"x {one.goodput_bps / best:.4g}", *more)
                for place, path in enumerate(one.paths):
                    first = (*ends, selector) if place == 0 else ("", "", "")
                    rows.append(
                        (*first, ARROW.join(path.nodes), f"{path.weight:.3g}", *(numbers if place == 0 else ("",) * 5))
                    )
        notes = [
            f"One long {self.stack} flow alone, sprayed packet by packet; queues hold one delay-rate product of the longest path."
        ]
        if single:
            notes.append(f"One path is best for {count(single, 'pair')}: spraying over disjoint paths has no more.")
        notes.append(
            f"The best sets among the {max(self.compared.values(), default=0)} paths of most goodput or fewer; at random, shares are "
            "eighths or go by the rates."
        )
        yield TextTable(head, rows, 4, notes)

    def drawing(self) -> str:
        """The paths on the map."""
        return picture.of_routes(self.routes)

    def export(self, format: str, directory: Path, separate: TrafficClasses, interfaces: Path | None) -> list[Path]:
        """Refuse: routers choose a path for each flow."""
        raise UsageError(
            "--export and --spray do not go together: routers choose a path for each flow; leave --spray out"
        )


def _candidates(search: Search, metric: str, route: Route, most: int, by_nodes: bool) -> list[RoutedPath]:
    """The paths of most goodput, those of the best set, and disjoint ones of least delay, the best first."""
    ends = [route.source], [route.target]
    by_delay = search.disjoint("delay", most, *ends, by_nodes=by_nodes)
    paths = [
        *search.shortest(metric, _CANDIDATES, *ends).routes[0].paths,
        *route.paths,
        *by_delay.routes[0].paths,
    ]
    found: dict[tuple[str, ...], RoutedPath] = {}
    for path in paths:
        found.setdefault(path.nodes, path)
    return list(found.values())


def _shared(paths: tuple[RoutedPath, ...]) -> list[tuple[str, str]]:
    """The links that all these disjoint paths have: at the ends, before and after any choice."""
    hops = [set(pairwise(path.nodes)) for path in paths]
    return list(set.intersection(*hops))


def answered(stack: str) -> tuple[Detector, Window] | tuple[None, None]:
    """The loss detector and the window by which a stack pays for spraying; none if its control measures the rate.

    Raises:
        UsageError: the price of this stack is not known.
    """
    congestion, detection, _ = preset_stack(stack).policies()
    control, detector = congestion["name"], detection["name"]
    if control in _BY_RATE and detector not in ("dup-ack", "path-count"):
        return None, None
    if control not in _WINDOWS or detector not in DETECTORS:
        raise UsageError(
            f"--spray with goodput:{stack}: the price of spraying is known for the windows of {', '.join(_WINDOWS)} with "
            f'{", ".join(DETECTORS)}, and for {", ".join(_BY_RATE)}; "{stack}" is {control} with {detector}'
        )
    return cast(Detector, detector), _WINDOWS[control]
