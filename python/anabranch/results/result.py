"""The result of a scenario: the tables ``flows`` and ``links``, time series, and summaries over seeds."""

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.foundation.forks import refuse_after_fork
from anabranch.foundation.text_table import html_table
from anabranch.results import run_directory, statistics
from anabranch.results.files import COMPLETE, UNREADABLE
from anabranch.results.matrix_columns import key_table, with_keys
from anabranch.results.run_directory import Runs
from anabranch.results.schema import PREDICTED, SCHEMAS, SERIES_TABLES
from anabranch.results.stored import StoredResult
from anabranch.results.summary import tables

if TYPE_CHECKING:
    from anabranch.pages.notebook import Page


class ResultError(ValueError):
    """A run directory that cannot be read."""


def _plain(column: pl.Series) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any] | list[bytes]]:
    """Which values of a column are null, and all in little-endian order, with 0 or an empty text for null.

    It uses numpy and lists: polars takes longer to plan an operation on a column than a small table takes.
    """
    if column.dtype == pl.Float64:  # NaN is null in the tables of runs
        numbers = column.to_numpy()
        unknown = np.isnan(numbers)
        return unknown, np.where(unknown, 0.0, numbers).astype("<f8")
    whole = pl.Series(dtype=column.dtype).to_numpy().dtype.newbyteorder("<")
    if column.dtype != pl.String and not column.null_count():
        return np.zeros(len(column), bool), column.to_numpy().astype(whole)
    values = column.to_list()
    unknown = np.array([value is None for value in values], bool)
    if column.dtype != pl.String:
        return unknown, np.array([value or 0 for value in values], whole)
    texts = ["" if text is None else text for text in values]
    encoded = {text: len(text.encode()).to_bytes(4, "little") + text.encode() for text in set(texts)}
    return unknown, [encoded[text] for text in texts]


def result_hashes(flows: pl.DataFrame, links: pl.DataFrame, runs: Sequence[int]) -> list[str]:
    """For each run, SHA-256 over its rows in the two tables, without its number: names, types, nulls and little-endian values.

    The tables have the runs in this order, which is that of their numbers.
    """
    digests = [sha256() for _ in runs]
    for table in (flows, links):
        bounds = np.searchsorted(table["run"].to_numpy(), [*runs, 2**32]).tolist()
        for column in table.drop("run").get_columns():
            unknown, values = _plain(column)
            all_known = not unknown.any()
            head = f"{column.name} {column.dtype} ".encode()
            for digest, begin, end in zip(digests, bounds[:-1], bounds[1:], strict=True):
                own = values[begin:end]
                rows = end - begin
                bits = bytes(-(-rows // 8)) if all_known else np.packbits(unknown[begin:end]).tobytes()
                plain = b"".join(own) if isinstance(own, list) else own.tobytes()
                digest.update(b"%s%d\n%s%s" % (head, rows, bits, plain))
    return [digest.hexdigest() for digest in digests]


def is_interrupted(manifest: Mapping[str, Any]) -> bool:
    """Whether a run of this manifest was stopped before its end, or not begun."""
    runs = manifest["runs"]
    return any(run["status"] != COMPLETE for run in runs) or len(runs) < manifest.get("planned_runs", len(runs))


class Result:
    """The runs of a scenario: :attr:`flows` and :attr:`links` have one row for each run and flow or directed link."""

    temporary: TemporaryDirectory[str] | None = None
    """A directory that lives as long as the result."""
    replaced: Mapping[str, Any] | None = None
    """The manifest of other runs whose result stood in the directory before, and was replaced."""

    def __init__(
        self, directory: Path, manifest: dict[str, Any], kept_runs: int = 0, thread_gains: Sequence[float] = ()
    ) -> None:
        """Takes a run directory, its manifest, and the number of runs that had been finished before and were not run again.

        ``thread_gains`` has, for each run made now on several threads, the CPU seconds of work that these did in a second.
        """
        self.directory = directory
        self.manifest = manifest
        self.kept_runs = kept_runs
        self.thread_gains = thread_gains

    @classmethod
    def load(cls, directory: str | Path) -> "Result":
        """Read a run directory. :class:`anabranch.results.manifest.ManifestError` says what is wrong with it."""
        found = StoredResult.load(Path(directory))
        return cls(found.directory, dict(found.manifest))

    def save(self, directory: str | Path) -> None:
        """Write the run directory to another place, which must not exist or be empty.

        Raises:
            ResultError: there is something at that place.
        """
        target = Path(directory)
        if target.exists() and any(target.iterdir()):
            raise ResultError(f"{target}: is not empty; give another directory")
        for name, path in self._stored.files().items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row for each flow of each run; see ``manifest`` for the variant of a run."""
        return self._table("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row for each directed link of each run."""
        return self._table("links")

    @cached_property
    def states(self) -> pl.DataFrame:
        """One row for each flow and each state of its congestion control: the share of the time spent in it.

        Only congestion controls with named states (Kikolo) have rows; without any, the table is empty.
        """
        return self._table("states")

    @cached_property
    def routes(self) -> pl.DataFrame:
        """For routings that measure links: the first route of each pair in use (at 0 s), and one row for every change.

        ``path`` has the nodes that packets visit: to the destination, or to the first one that they visit twice. The
        estimates are those of that time, ``cost`` is in the routing's metric; an unknown value is null.
        """
        return self._table("routes")

    @property
    def link_state(self) -> pl.DataFrame:
        """For routings that measure links: the estimates of each link after each sample; an unknown value is null."""
        return self._series("link_state")

    @property
    def series_flows(self) -> pl.DataFrame:
        """The samples of the flows; empty without ``[run] sample``."""
        return self._series("flows")

    @property
    def series_links(self) -> pl.DataFrame:
        """The samples of the links; empty without ``[run] sample``."""
        return self._series("links")

    def _series(self, kind: str) -> pl.DataFrame:
        parts = self._stored.series(kind)
        return pl.concat([_read_table(part) for part in parts]) if parts else self._empty(SERIES_TABLES[kind])

    def _table(self, name: str) -> pl.DataFrame:
        path = self._stored.table(name)
        return self._empty(name) if path is None else _read_table(path)

    @property
    def _stored(self) -> StoredResult:
        return StoredResult(self.directory, self.manifest)

    def _empty(self, table: str) -> pl.DataFrame:
        return with_keys(pl.DataFrame(schema=SCHEMAS[table]), self._variants.clear())

    @cached_property
    def _variants(self) -> pl.DataFrame:
        """The values of the matrix, one row for each variant that has run."""
        variants = {json.dumps(run["variant"]): run["variant"] for run in self.manifest["runs"]}
        return key_table(list(variants.values()))

    @property
    def keys(self) -> list[str]:
        """The keys of the matrix."""
        return list(self.manifest["keys"])

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Warnings about values that are valid but may be mistakes: file, line, field, value, message of each."""
        return list(self.manifest.get("warnings", []))

    @property
    def interrupted(self) -> bool:
        """Whether a run was stopped before its end, or not begun."""
        return is_interrupted(self.manifest)

    @property
    def hash(self) -> str:
        """SHA-256 over the result hashes of all runs."""
        return sha256("\n".join(run["result_hash"] for run in self.manifest["runs"]).encode()).hexdigest()

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row for each variant: the keys of the matrix, and :func:`anabranch.results.statistics.summary`.

        Goodput is payload counted once, when it first arrives, within the measured time. ``goodput_bps`` is that of all
        flows together that send to the end of the run, as a mean over the seeds. ``goodput_interval_bps`` is half of its
        95 % confidence interval, null for one seed. ``interrupted`` is how many of the ``runs`` were cut short.
        """
        return self._with_keys(statistics.summary(self.runs.flows, ["variant"], self.runs.table))

    @cached_property
    def completion_times(self) -> pl.DataFrame:
        """For each variant and class of sizes: completion times and slowdown of the flows with a size.

        The keys of the matrix, and :func:`anabranch.results.statistics.completion_times`; empty without such flows.
        """
        return self._with_keys(statistics.completion_times(self.runs.flows, ["variant"]))

    @cached_property
    def runs(self) -> Runs:
        """The tables with the variant of each row, as a report takes them."""
        return run_directory.of([self._stored])

    def _with_keys(self, numbers: pl.DataFrame) -> pl.DataFrame:
        """Numbers of variants, with the values of the matrix instead of the variant's index."""
        if numbers.is_empty():
            return with_keys(numbers, self._variants.clear()).drop("variant")
        tables = [
            with_keys(own.drop("variant"), self._variants.slice(own["variant"][0], 1))
            for own in numbers.partition_by("variant", maintain_order=True)
        ]
        table = pl.concat(tables)
        return table.select(*(name for name in table.columns if name not in numbers.columns), *numbers.columns[1:])

    @property
    def refused(self) -> list[dict[str, Any]]:
        """The variants that the engine refuses and that were left out: their values of the matrix (``variant``), and ``why``."""
        return list(self.manifest.get("refused", []))

    def documents(self) -> dict[str, Any]:
        """The result as plain data: one document, or ``{"runs": [...]}`` of several, each with its variant; and the warnings.

        With flows that have a size, ``completion_times`` has the rows of :attr:`completion_times`.
        """
        documents = [self._document(run) for run in self.manifest["runs"]]
        times = self.completion_times.to_dicts() if documents else []
        if len(documents) == 1 and not self.keys:
            document = documents[0]
        else:
            for document, run in zip(documents, self.manifest["runs"], strict=True):
                document["variant"] = run["variant"]
            document = {"runs": documents}
        refused = {"refused": self.refused} if self.refused else {}
        return document | ({"completion_times": times} if times else {}) | {"warnings": self.warnings} | refused

    def _document(self, run: dict[str, Any]) -> dict[str, Any]:
        def rows(table: str) -> list[dict[str, Any]]:
            found: pl.DataFrame = getattr(self, table)
            predicted = [column.name for column in PREDICTED if table == "flows" and column.name in found.columns]
            own = [name for name in (*SCHEMAS[table], *predicted) if name not in ("run", "seed")]
            return found.filter(pl.col("run") == run["run"]).select(own).to_dicts()

        tables = {"flows": rows("flows"), "links": rows("links")}
        states = self.states.filter(pl.col("run") == run["run"])
        shares: dict[int, dict[str, float]] = {}
        for number, state, share in states.select("flow", "state", "share").iter_rows():
            shares.setdefault(number, {})[state] = share
        for flow in tables["flows"] if shares else []:
            flow["states"] = shares.get(flow["flow"])
        if self.routes.height:
            tables |= {"routes": rows("routes"), "link_state": rows("link_state")}
        head = {"scenario": self.manifest["title"], "engine": self.manifest["engine"], "seed": run["seed"]}
        kept = ("status", "result_hash", "lateness", "packets_without_route", "packets_expired")
        return head | {name: run[name] for name in kept if name in run} | tables

    def plot(self, name: str | None = None) -> "Page":
        """A figure of the report, in a notebook: the first one, which compares the variants, or one by its name.

        Over time: ``time-goodput``, ``cwnd``, ``srtt``, ``in-flight`` and ``queue``. Figures over time need ``[run] sample``. A wrong name lists all names.

        Raises:
            anabranch.pages.notebook.NotebookError: the result has no figure of this name.
            anabranch.foundation.extras.MissingExtraError: the charts' JavaScript is not installed; a wheel has it.
        """
        from anabranch.pages import notebook

        return notebook.plot(self, name)

    def map(self) -> "Page":
        """The map of the network with the load of its links, in a notebook."""
        from anabranch.pages import notebook

        return notebook.load_map(self)

    def report(self) -> "Page":
        """The whole report, in a notebook; ``result.report().save("report.html")`` writes it."""
        from anabranch.pages import notebook

        return notebook.report(self)

    def replay(
        self, run: int | None = None, at_s: float | None = None, for_s: float = 1.0, run_control: bool = False
    ) -> "Page":
        """The film of ``for_s`` seconds of a run from ``at_s`` on, in a notebook.

        Without ``at_s`` it begins at the end of the warm-up. ``run_control`` lets it execute the run's Python control.

        Raises:
            anabranch.pages.replay.ReplayError: there is no such run or span.
        """
        from anabranch.pages import notebook

        return notebook.replay(self, run, at_s, for_s, run_control)

    def _repr_html_(self) -> str:
        """The tables that the command line prints, for notebooks."""
        from html import escape

        shown = "".join(map(html_table, tables(self.runs))) if self.manifest["runs"] else "<p>No run is complete.</p>"
        return f"<strong>{escape(self.manifest['title'])}</strong>{shown}"

    def __repr__(self) -> str:
        """The title and the summary."""
        return f"{self.manifest['title']}\n{self.summary}"


def _read_table(path: Path) -> pl.DataFrame:
    refuse_after_fork()
    try:
        return pl.read_parquet(path, glob=False)
    except UNREADABLE as error:
        raise ResultError(f"{path}: cannot be read ({str(error).partition(chr(10))[0]})") from None
