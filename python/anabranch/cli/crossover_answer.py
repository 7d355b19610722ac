"""The answer of ``anabranch routes --crossover``: the best path of a pair by the size of a transfer."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from typing import Any

from anabranch.cli.exit_status import UsageError
from anabranch.cli.routes import Selection
from anabranch.cli.traffic_classes import TrafficClasses
from anabranch.engineering.routes import picture
from anabranch.engineering.routes.model import Routes
from anabranch.engineering.routes.quantities import require
from anabranch.engineering.routes.tables import ARROW
from anabranch.foundation import units
from anabranch.foundation.suggest import suggest
from anabranch.foundation.text_table import TextTable
from anabranch.network.topologies import Topology
from anabranch.scenario.stacks import PRESETS
from anabranch.studies.crossover import LARGEST, Crossover


@dataclass(frozen=True)
class Crossed:
    """The ranges of sizes of a pair."""

    crossover: Crossover
    stack: str

    @classmethod
    def of(cls, topology: Topology, selection: Selection) -> "Crossed":
        """Compare the paths of the pair.

        Raises:
            UsageError: names the option, and what would be right.
            ValueError: names what the topology does not say, or why the stack cannot be predicted.
        """
        sources, targets = selection.sources or [], selection.targets or []
        if len(sources) != 1 or len(targets) != 1:
            raise UsageError("--crossover compares the paths of one pair: give one --from and one --to")
        stack = selection.crossover or ""
        if stack not in PRESETS:
            raise UsageError(f"--crossover {stack}: there is no stack of this name; {suggest(stack, list(PRESETS))}")
        require(topology, ["delay", "loss", "widest"])
        return cls(Crossover(topology, sources[0], targets[0], stack), stack)

    def document(self) -> dict[str, Any]:
        """The ranges, each with its path and the times of its sizes."""
        ranges = [
            {
                "from_bytes": one.from_bytes,
                "below_bytes": None if isinf(one.below_bytes) else round(one.below_bytes),
                "path": list(one.path.nodes),
                "delay_s": one.path.delay_s,
                "loss": one.path.loss,
                "capacity_bps": one.path.cost,
                "times": [
                    {"bytes": size, "median_s": time, "next_best_s": None if isinf(other) else other}
                    for size, time, other in one.times
                ],
            }
            for one in self.crossover.ranges
        ]
        ends = {"src": self.crossover.source, "dst": self.crossover.target, "stack": self.stack}
        return ends | {"paths_compared": len(self.crossover.paths), "ranges": ranges}

    def tables(self, most_rows: int) -> Iterator[TextTable]:
        """A row for each size, grouped by range."""
        head = ("transfer", "path", "delay, ms", "loss", "time, ms", "next best, ms")
        rows = [
            (
                f"{size / 1000:.4g} kB",
                ARROW.join(one.path.nodes),
                f"{1e3 * (one.path.delay_s or 0):.4g}",
                f"{one.path.loss or 0:.4g}",
                f"{1e3 * time:.4g}",
                "" if isinf(other) else f"{1e3 * other:.4g}",
            )
            for one in self.crossover.ranges
            for size, time, other in one.times
        ]
        changes = [f"{one.below_bytes / 1000:.3g} kB" for one in self.crossover.ranges if not isinf(one.below_bytes)]
        compared = f"{len(self.crossover.paths)} paths compared"
        found = f"The best path changes at {', '.join(changes)}" if changes else "One path is best for all sizes"
        yield TextTable(head, rows, 2, [f"{found}; {compared}, {self.stack}, one transfer alone."])

    def drawing(self) -> str:
        """The path of the largest transfers on the map."""
        return picture.of_routes(self.crossover.routes(LARGEST))

    def export(self, format: str, directory: Path, separate: TrafficClasses, interfaces: Path | None) -> list[Path]:
        """Rules: the path of the largest transfers, and for classes of flows those of the sizes given."""
        from anabranch.engineering.routes.export import export

        def routes_of(place: str, size: str) -> Routes:
            try:
                amount = units.size(size)
            except ValueError as error:
                raise UsageError(f"{place}: with --crossover, a class has a size; {error}") from None
            if not amount:
                raise UsageError(f"{place}: with --crossover, a class has a size above 0, such as 10kB")
            return self.crossover.routes(amount)

        options = separate.options(format, "SIZE", "10kB", routes_of)
        return export(self.crossover.routes(LARGEST), format, directory, interfaces=interfaces, **options)
