"""Reads run directories, and puts several of them side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.results.files import COMPLETE, MANIFEST, UNREADABLE
from anabranch.results.limiting import LIMITS
from anabranch.results.matrix_columns import key_table, text, unit
from anabranch.results.schema import PREDICTED
from anabranch.results.stored import StoredResult

# The columns of the tables that a report uses; the tables have more.
_COLUMNS = {
    "flows": (
        *("run", "flow", "traffic", "src", "dst", "stack", "routing", "start_s", "end_s", "fct_s", "goodput_bps"),
        *("idle_fct_s", "size_bytes", "longest_stall_s", "reassembly_peak_bytes"),
        *("segments_sent", "retransmits", "spurious_retransmits", "timeouts", "srtt_s"),
        *("reordered_segments", "reordering_extent_max", "reordering_extent_mean"),
    ),
    "links": (
        *("run", "link", "src", "dst", "capacity_bps", "delay_s", "packets", "utilisation", "queue_drops", "losses"),
        *("queue_drop_ratio", "loss_ratio", "marks", "queue_delay_mean_s", "queue_delay_max_s"),
    ),
}
DELAYS = ("delay_mean_s", "delay_median_s", "delay_p95_s", "delay_p99_s", "delay_max_s")
"""The one-way delays of a flow's packets, which are known if a run asks for them."""
_OPTIONAL = (*(column.name for column in PREDICTED), *LIMITS, *DELAYS)
"""Columns of flows that only predictions have, and those that directories of earlier versions lack."""
_SERIES_COLUMNS = {
    "flows": ("run", "time_s", "flow", "cwnd_segments", "in_flight_segments", "srtt_s", "goodput_bps"),
    "links": ("run", "time_s", "link", "queue_packets", "utilisation"),
    "link_state": ("run", "time_s", "routing", "link", "delay_s", "loss"),
}
_STATES: dict[str, type[pl.DataType]] = {
    "variant": pl.UInt32, "stack": pl.String, "state": pl.String, "share": pl.Float64,
}  # fmt: skip
_ROUTES: dict[str, type[pl.DataType]] = {
    "source": pl.UInt32, "run": pl.UInt32, "variant": pl.UInt32, "simulated_s": pl.Float64, "seed": pl.UInt64,
    "time_s": pl.Float64, "routing": pl.String, "src": pl.String, "dst": pl.String, "path": pl.String,
    "delay_s": pl.Float64, "loss": pl.Float64, "cost": pl.Float64,
}  # fmt: skip


IN_A_SWEEP = ", in a sweep"
"""Stands behind the engine's name in the manifest of a sweep's results."""
DIRECTORY = "run directory"
"""The key of the matrix that tells run directories apart."""


class RunDirectoryError(ValueError):
    """A run directory that cannot be read: says which file, which field, and what would be right."""


def unreadable_series(directories: Iterable[Path], error: Exception) -> RunDirectoryError:
    """The error for what polars says while charts are made: :func:`read` has checked all that is not read only then."""
    names = ", ".join(str(directory / "series") for directory in directories)
    return RunDirectoryError(f"{names}: a time series cannot be read ({str(error).partition(chr(10))[0]})")


@dataclass(frozen=True)
class LoadedVariant:
    """One combination of the matrix values, in one run directory.

    ``values`` are texts. ``numbers`` has the values that are quantities, in base units, and ``units`` the names of these units.
    """

    index: int
    source: int
    values: Mapping[str, str]
    numbers: Mapping[str, float]
    units: Mapping[str, str]

    @property
    def label(self) -> str:
        """The matrix values in order, as one text."""
        return " · ".join(self.values.values()) or "the scenario"

    @property
    def own_label(self) -> str:
        """The label without the run directory: equal for the same variant in another one."""
        return self.rest(()) or "the scenario"

    def rest(self, without: Collection[str]) -> str:
        """The matrix values as one text, without the run directory and some keys."""
        return " · ".join(value for key, value in self.values.items() if key != DIRECTORY and key not in without)


@dataclass(frozen=True)
class Source:
    """One run directory: its result, and its name among the others."""

    stored: StoredResult
    name: str

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self.stored.directory

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest of the result."""
        return self.stored.manifest

    @property
    def warm_up_s(self) -> float:
        """End of the warm-up, from which on goodput counts, seconds; the longest if it is a key of the matrix."""
        return max(float(run["warm_up_s"]) for run in self.manifest["runs"])

    @property
    def treatments(self) -> list[str]:
        """The keys of the matrix that one chooses. Manifests did not always name them."""
        found = self.manifest.get("treatments", [key for key in self.manifest["keys"] if key in ("stack", "routing")])
        return list(found)

    @property
    def interrupted(self) -> int:
        """Number of runs that were stopped before their end, or never begun."""
        complete = [run for run in self.manifest["runs"] if run["status"] == "complete"]
        return self.planned - len(complete)

    @property
    def planned(self) -> int:
        """Number of runs that were to be."""
        return int(self.manifest.get("planned_runs", len(self.manifest["runs"])))


@dataclass(frozen=True)
class Runs:
    """Everything that a report is made of.

    ``table`` has a row for each run, also for one without flows, and says whether it was ``interrupted``. All other tables leave out
    interrupted runs. ``flows`` and ``links`` have the columns of the run directory's tables,
    and two more: ``source`` (index of the run directory) and ``variant`` (index into ``variants``). ``treatments`` are the keys that one
    chooses; the others are conditions. ``flows`` also has ``seed``, ``warm_up_s`` and ``simulated_s`` of the run.
    Its ``active_share`` is the share of the measured time that lies between the flow's start and its end. ``states`` has the shares of time in the states of congestion controls that report them; it is empty
    without any. ``routes`` and ``link_state`` are of routings that measure links; ``routes`` is empty without any.
    """

    sources: list[Source]
    keys: list[str]
    treatments: set[str]
    variants: list[LoadedVariant]
    table: pl.DataFrame
    flows: pl.DataFrame
    states: pl.DataFrame
    links: pl.DataFrame
    flow_series: pl.LazyFrame | None
    link_series: pl.LazyFrame | None
    routes: pl.DataFrame
    link_state: pl.LazyFrame | None

    @property
    def chosen(self) -> list[str]:
        """The keys of the matrix that are treatments."""
        return [key for key in self.keys if key in self.treatments and key != DIRECTORY]


def read(directories: Iterable[Path]) -> Runs:
    """Read run directories; with more than one, the directory becomes the first matrix key."""
    directories = list(directories)
    if not directories:
        raise RunDirectoryError("no run directory given; name at least one that `anabranch run` has written")
    return of([StoredResult.load(directory) for directory in directories])


def of(results: Sequence[StoredResult]) -> Runs:
    """The runs of results whose files have been compared with their checksums."""
    names = _distinct_names([result.directory for result in results])
    sources = [Source(_with_runs(result), name) for result, name in zip(results, names, strict=True)]
    several = len(sources) > 1
    # One does not choose an engine for a network.
    engines = len({source.manifest["engine"].removesuffix(IN_A_SWEEP) for source in sources})
    keys = list(dict.fromkeys(key for source in sources for key in source.manifest["keys"]))
    variants, runs = _variants(sources, keys, several)
    complete = runs.filter(~pl.col("interrupted")).drop("interrupted")
    flows = _table(sources, "flows", complete).with_columns(active_share())
    return Runs(
        sources=sources,
        keys=([DIRECTORY] if several else []) + keys,
        treatments=set[str]().union([] if engines > 1 else [DIRECTORY], *(source.treatments for source in sources)),
        variants=variants,
        table=runs,
        flows=flows,
        states=_optional(sources, "states", _STATES, complete),
        links=_table(sources, "links", complete).drop("seed", "simulated_s", "warm_up_s"),
        flow_series=_series(sources, "flows", complete),
        link_series=_series(sources, "links", complete),
        routes=_optional(sources, "routes", _ROUTES, complete),
        link_state=_series(sources, "link_state", complete),
    )


def refuse_repeated(directories: Sequence[Path]) -> None:
    """Refuse a directory that is given twice: each of the two would be compared with itself."""
    paths = [directory.resolve() for directory in directories]
    for place, path in enumerate(paths):
        if path in paths[:place]:
            raise RunDirectoryError(f"{directories[place]}: is given twice; name each run directory once")


def _distinct_names(directories: Sequence[Path]) -> list[str]:
    """The last part of each path, or as many of the last parts as tell the paths apart."""
    refuse_repeated(directories)
    parts = [directory.resolve().parts for directory in directories]
    least = next(number for number in count(1) if len({path[-number:] for path in parts}) == len(parts))
    return ["/".join(path[-least:]) for path in parts]


def _with_runs(result: StoredResult) -> StoredResult:
    if not result.manifest["runs"]:
        raise RunDirectoryError(f"{result.directory / MANIFEST}: runs is empty; there is nothing to report")
    return result


def _variants(sources: list[Source], keys: list[str], several: bool) -> tuple[list[LoadedVariant], pl.DataFrame]:
    """The variants in the order of their first run, and a table that gives every run its variant."""
    variants: dict[tuple[int, tuple[str, ...]], LoadedVariant] = {}
    rows = []
    for index, source in enumerate(sources):
        typed = key_table([run["variant"] for run in source.manifest["runs"]])
        numeric = [name for name, kind in typed.schema.items() if kind.is_numeric()]
        quantities = typed.select(numeric).to_dicts() if numeric else [{}] * len(source.manifest["runs"])
        for run, numbers in zip(source.manifest["runs"], quantities, strict=True):
            unit_of = {key: unit(run["variant"][key]) for key in numbers}
            chosen = {key: text(run["variant"].get(key)) for key in keys}
            values = ({DIRECTORY: source.name} if several else {}) | chosen
            variant = variants.setdefault(
                (index, tuple(chosen.values())), LoadedVariant(len(variants), index, values, numbers, unit_of)
            )
            rows.append(
                (
                    *(index, run["run"], variant.index, run["seed"]),
                    *(run["simulated_s"], run["warm_up_s"], run["status"] != COMPLETE),
                )
            )
    schema = {
        "source": pl.UInt32,
        "run": pl.UInt32,
        "variant": pl.UInt32,
        "seed": pl.UInt64,
        "simulated_s": pl.Float64,
        "warm_up_s": pl.Float64,
        "interrupted": pl.Boolean,
    }
    return list(variants.values()), pl.DataFrame(rows, schema=schema, orient="row")


def _table(sources: list[Source], name: str, runs: pl.DataFrame) -> pl.DataFrame:
    frames = []
    for index, source in enumerate(sources):
        path = source.stored.path(f"{name}.parquet")
        try:
            _check_columns(path, _COLUMNS[name])
            optional = [column for column in pl.read_parquet_schema(path) if column in _OPTIONAL]
            frame = pl.read_parquet(path, columns=[*_COLUMNS[name], *optional], glob=False)
        except UNREADABLE as error:
            raise _unreadable(path, error) from None
        frames.append(_attach(frame.lazy(), index, runs).collect())
    return pl.concat(frames, how="diagonal")


def _optional(
    sources: list[Source], name: str, schema: dict[str, type[pl.DataType]], runs: pl.DataFrame
) -> pl.DataFrame:
    """A table that only some run directories have."""
    frames = [pl.DataFrame(schema=schema)]
    for index, source in enumerate(sources):
        path = source.stored.table(name)
        if path is not None:
            try:
                needed = ["run", *(column for column in schema if column not in runs.columns)]
                _check_columns(path, needed)
                frame = pl.read_parquet(path, columns=needed, glob=False)
            except UNREADABLE as error:
                raise _unreadable(path, error) from None
            frames.append(_attach(frame.lazy(), index, runs).select(*schema).collect())
    return pl.concat(frames)


def _series(sources: list[Source], name: str, runs: pl.DataFrame) -> pl.LazyFrame | None:
    frames = []
    for index, source in enumerate(sources):
        files = source.stored.series(name)
        for path in files:
            try:
                _check_columns(path, _SERIES_COLUMNS[name])
            except UNREADABLE as error:
                raise _unreadable(path, error) from None
        if files:
            frames.append(_attach(pl.scan_parquet(files, glob=False).select(_SERIES_COLUMNS[name]), index, runs))
    return pl.concat(frames) if frames else None


def _check_columns(path: Path, needed: Iterable[str]) -> None:
    """Read the foot of a Parquet file, which is written last, so that a file written by half does not pass."""
    columns = pl.read_parquet_schema(path)
    missing = [column for column in needed if column not in columns]
    if missing:
        raise RunDirectoryError(f"{path}: lacks the columns {', '.join(missing)}")


def _unreadable(path: Path, error: BaseException) -> RunDirectoryError:
    reason = str(error).partition("\n")[0]
    return RunDirectoryError(f"{path}: not a whole Parquet file ({reason}); run the scenario again, or remove it")


def _attach(frame: pl.LazyFrame, source: int, runs: pl.DataFrame) -> pl.LazyFrame:
    """Give the rows of a table of one run directory their variant."""
    return frame.with_columns(pl.col("run").cast(pl.UInt32), source=pl.lit(source, pl.UInt32)).join(
        runs.lazy(), on=["source", "run"], how="inner", maintain_order="left"
    )


def active_share() -> pl.Expr:
    """The column ``active_share`` of :class:`Runs`."""
    first = pl.max_horizontal("start_s", "warm_up_s")
    last = pl.min_horizontal("end_s", "simulated_s")
    share = (last - first) / (pl.col("simulated_s") - pl.col("warm_up_s"))
    return pl.when(share.is_finite()).then(share.clip(0, 1)).otherwise(0.0).alias("active_share")
