"""Routes of any number of pairs as text or in a file, written while they are found."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch._core import PairRoutes, RouteText
from anabranch.engineering.routes.model import Forwarding
from anabranch.engineering.routes.search import PathQuery, Progress, Search
from anabranch.engineering.routes.tables import routes_head
from anabranch.foundation.output_files import writing
from anabranch.foundation.printable import printable_json
from anabranch.foundation.text_table import LEFT, display_width

if TYPE_CHECKING:
    import polars as pl

HELD_PATHS = 2**15
"""A table of at most about as many rows has columns of one width. Of a longer one, a column gets wider where a wider cell comes."""
COLUMNS = ("src", "dst", "path", "fraction", "delay_s", "loss", "cost")
"""Of CSV and Parquet."""


@dataclass(frozen=True)
class RouteStream:
    """Routes that are found while they are read, once. Each method but :meth:`write` returns a text in pieces."""

    search: Search
    question: PathQuery
    forwarding: Forwarding = "explicit"
    sources: Sequence[str] | None = None
    targets: Sequence[str] | None = None

    @property
    def pairs(self) -> int:
        """The number of pairs of a source and a target, also of those that are the same node."""
        return len(self.sources or self.search.names) * len(self.targets or self.search.names)

    def table(self, progress: Progress) -> Iterator[str]:
        """The table for people: one row a path; a pair without a path has a row that says so."""
        names = self.search.names
        text = self.search.text(list(map(len if all(map(str.isascii, names)) else display_width, names)))
        parts = self._parts(progress)
        held: list[PairRoutes] = []
        rows = 0
        for part in parts:
            held.append(part)
            rows += max(len(part), len(part["hops"]))
            if rows > HELD_PATHS:
                with_share = self.question.several  # later pairs may have several paths
                break
        else:
            with_share = any((part["paths"] > 1).any() for part in held)
        head = routes_head(self.question.metric, with_share)
        lines, widths = text.table(held, list(map(len, head)), with_share)
        aligned = zip(head, widths, strict=True)
        yield (
            "  ".join(f"{cell:{'<' if place < LEFT else '>'}{width}}" for place, (cell, width) in enumerate(aligned))
            + "\n"
        )
        held.clear()
        yield lines
        for part in parts:
            lines, widths = text.table([part], widths, with_share)
            yield lines

    def json(self, progress: Progress) -> Iterator[str]:
        """The document of :meth:`~anabranch.engineering.routes.model.Routes.document`."""
        about = {"topology": self.search.topology.name, "metric": self.question.metric, "forwarding": self.forwarding}
        head = printable_json(json.dumps(about, indent=1, ensure_ascii=False))
        yield head.removesuffix("\n}")
        between = ',\n "routes": [\n'
        text = self._text()
        for part in self._parts(progress):
            yield between
            yield text.json(part, True)
            between = ",\n"
        yield "\n ]\n}\n"

    def json_lines(self, progress: Progress) -> Iterator[str]:
        """The record of each pair of :meth:`json` in a line."""
        text = self._text()
        for part in self._parts(progress):
            yield text.json(part, False)
            yield "\n"

    def csv(self, progress: Progress) -> Iterator[str]:
        """A line for each path with :data:`COLUMNS`; those of a pair without a path are empty. A spreadsheet executes no name of a node."""
        yield _CSV_HEAD
        text = self._text()
        for part in self._parts(progress):
            yield text.csv(part, True)

    def write(self, path: Path, progress: Progress) -> None:
        """Write a file in the format of its ending, one of :data:`FORMATS`. It gets its name once it is complete.

        Raises:
            ValueError: as :meth:`~anabranch.engineering.routes.search.Search.stream`, or the file cannot be written.
        """
        FORMATS[path.suffix.lower()](self, path, progress)

    def tables(self, progress: Progress) -> "Iterator[pl.DataFrame]":
        """Tables of the columns and rows of :meth:`csv`, without guards."""
        import polars as pl

        text = self._text()
        for part in self._parts(progress):
            yield pl.read_csv((_CSV_HEAD + text.csv(part, False)).encode(), schema=schema())

    def _text(self) -> RouteText:
        return self.search.text([0] * len(self.search.names))

    def _parts(self, progress: Progress) -> Iterator[PairRoutes]:
        found = self.search.stream(self.question, self.sources, self.targets, progress)
        return (part for part in found if len(part))


_CSV_HEAD = ",".join(COLUMNS) + "\n"


def schema() -> "dict[str, type[pl.DataType]]":
    """The types of :data:`COLUMNS`."""
    import polars as pl

    return dict.fromkeys(COLUMNS[:3], pl.String) | dict.fromkeys(COLUMNS[3:], pl.Float64)


def _as_text(pieces: Callable[[RouteStream, Progress], Iterable[str]]) -> Callable[[RouteStream, Path, Progress], None]:
    def write(routes: RouteStream, path: Path, progress: Progress) -> None:
        with writing(path) as file:
            file.writelines(piece.encode() for piece in pieces(routes, progress))

    return write


def _as_parquet(routes: RouteStream, path: Path, progress: Progress) -> None:
    from polars.io.plugins import register_io_source

    def rows(columns: object, predicate: object, most: object, size: object) -> "Iterator[pl.DataFrame]":
        return routes.tables(progress)  # a sink wants all

    with writing(path) as file:
        try:
            register_io_source(rows, schema=schema()).sink_parquet(file)
        except KeyboardInterrupt:
            # Polars raises it, and so does Python's own handler here, before the unfinished file is removed.
            time.sleep(0)
            raise


FORMATS: dict[str, Callable[[RouteStream, Path, Progress], None]] = {
    ".csv": _as_text(RouteStream.csv),
    ".parquet": _as_parquet,
    ".jsonl": _as_text(RouteStream.json_lines),
    ".json": _as_text(RouteStream.json),
    ".txt": _as_text(RouteStream.table),
}
"""Writers of files by the ending of their names."""
