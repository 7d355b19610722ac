"""The answer of ``anabranch routes --spray``: what spraying a flow over the disjoint paths of a pair costs."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anabranch.cli.exit_status import UsageError
from anabranch.cli.traffic_classes import TrafficClasses
from anabranch.engineering.predict.spray import DETECTORS, SELECTORS, SprayPrice, spray_price
from anabranch.engineering.routes import picture
from anabranch.engineering.routes.model import Route, Routes
from anabranch.engineering.routes.quantities import require
from anabranch.engineering.routes.sprayed_sets import sprayed_paths
from anabranch.foundation.text_table import TextTable, count
from anabranch.network.topologies import Topology


@dataclass(frozen=True)
class Sprayed:
    """Disjoint paths with the price of each selector and detector, for CUBIC's window."""

    routes: Routes
    prices: dict[tuple[str, str], dict[tuple[str, str], SprayPrice]]
    """By source and target, then by selector and detector; of pairs with several paths."""

    @classmethod
    def of(cls, routes: Routes) -> "Sprayed":
        """The prices of all pairs.

        Raises:
            ValueError: a link lacks a delay, a loss or a capacity.
        """
        require(routes.topology, ["delay", "loss", "widest"])
        several = [route for route in routes.routes if len(route.paths) > 1]
        return cls(routes, {(route.source, route.target): _prices(route, routes.topology) for route in several})

    def document(self) -> dict[str, Any]:
        """The routes, and the prices of each pair."""
        document = self.routes.document()
        for record in document["routes"]:
            prices = self.prices.get((record["src"], record["dst"]), {})
            record["sprayed"] = [
                {"select": selector, "detection": detector} | asdict(price)
                for (selector, detector), price in prices.items()
            ]
        return document

    def tables(self, most_rows: int) -> Iterator[TextTable]:
        """A row for each pair, selector and detector."""
        head = ("from", "to", "paths", "select", "detection", "Mbit/s", "of all", "spurious", "stall, ms", "memory, kB")
        paths = {(route.source, route.target): len(route.paths) for route in self.routes.routes}
        rows = [
            (
                *ends,
                str(paths[ends]),
                *way,
                f"{price.goodput_bps / 1e6:.4g}",
                f"{100 * price.share:.3g} %",
                f"{100 * price.spurious:.2f} %",
                f"{price.stall_s * 1e3:.3g}",
                f"{price.memory_bytes / 1e3:.3g}",
            )
            for ends, prices in self.prices.items()
            for way, price in prices.items()
        ]
        single = len(self.routes.routes) - len(self.prices)
        notes = ["One long CUBIC flow alone; queues hold one delay-rate product of the longest path."]
        notes += [f"{count(single, 'pair')} without several paths: not sprayed."] if single else []
        yield TextTable(head, rows, 2, notes)

    def drawing(self) -> str:
        """The paths on the map."""
        return picture.of_routes(self.routes)

    def export(self, format: str, directory: Path, separate: TrafficClasses, interfaces: Path | None) -> list[Path]:
        """Refuse: the paths are those without ``--spray``."""
        raise UsageError("--export and --spray do not go together: export the same paths without --spray")


def _prices(route: Route, topology: Topology) -> dict[tuple[str, str], SprayPrice]:
    paths = sprayed_paths(route.paths, topology)
    loss = sum(path.loss or 0.0 for path in route.paths) / len(paths)
    return {
        (selector, detector): spray_price(paths, detector=detector, selector=selector, loss=loss)  # type: ignore[arg-type] # the registry's own names
        for selector in SELECTORS
        for detector in DETECTORS
    }
