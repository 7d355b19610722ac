"""Reads run directories, and puts several of them side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

FORMAT = 1

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}

# What a report needs of the tables; they may have more.
_COLUMNS = {
    "flows": (
        *("run", "flow", "traffic", "src", "dst", "stack", "routing", "start_s", "end_s", "fct_s", "goodput_bps"),
        *("segments_sent", "retransmits", "spurious_retransmits", "timeouts", "srtt_s"),
        *("reordered_segments", "reordering_extent_max", "reordering_extent_mean"),
    ),
    "links": (
        *("run", "link", "src", "dst", "capacity_bps", "delay_s", "packets", "utilisation", "queue_drops", "losses"),
        *("queue_drop_ratio", "loss_ratio", "marks", "queue_delay_mean_s", "queue_delay_max_s"),
    ),
}


class RunDirectoryError(ValueError):
    """A run directory that cannot be read: says which file, which field, and what would be right."""


@dataclass(frozen=True)
class Variant:
    """One combination of the matrix values, in one run directory."""

    index: int
    source: int
    values: Mapping[str, str]

    @property
    def label(self) -> str:
        """The matrix values in order, as one text."""
        return " · ".join(self.values.values()) or "the scenario"


@dataclass(frozen=True)
class Source:
    """One run directory: its manifest and where it is."""

    directory: Path
    name: str
    manifest: Mapping[str, Any]

    @property
    def warm_up_s(self) -> float:
        """From when on goodput counts, seconds; 0 if the scenario does not say."""
        return _seconds(_run_section(self.manifest).get("warm_up"))

    @property
    def interrupted(self) -> int:
        """Number of runs that were stopped before their end."""
        return sum(run["status"] != "complete" for run in self.manifest["runs"])


@dataclass(frozen=True)
class Runs:
    """Everything that a report is made of.

    ``flows`` and ``links`` have the columns of the run directory's tables, and besides: ``source`` (index of the run
    directory), ``variant`` (index into ``variants``) and, in ``flows``, ``active_share`` (share of the measured time
    that lies between the flow's start and its end).
    """

    sources: list[Source]
    keys: list[str]
    variants: list[Variant]
    flows: pl.DataFrame
    links: pl.DataFrame
    flow_series: pl.LazyFrame | None
    link_series: pl.LazyFrame | None


def read(directories: Iterable[Path]) -> Runs:
    """Read run directories; with more than one, the directory becomes the first matrix key."""
    directories = list(directories)
    if not directories:
        raise RunDirectoryError("no run directory given; name at least one that `anabranch run` has written")
    names = _distinct_names(directories)
    sources = [
        Source(directory, name, _read_manifest(directory / "manifest.json"))
        for directory, name in zip(directories, names, strict=True)
    ]
    several = len(sources) > 1
    keys = list(dict.fromkeys(key for source in sources for key in source.manifest["keys"]))
    variants, runs = _variants(sources, keys, several)
    flows = _table(sources, "flows", runs).with_columns(_active_share())
    return Runs(
        sources=sources,
        keys=(["run directory"] if several else []) + keys,
        variants=variants,
        flows=flows.drop("simulated_s", "warm_up_s"),
        links=_table(sources, "links", runs).drop("simulated_s", "warm_up_s"),
        flow_series=_series(sources, "flows", runs),
        link_series=_series(sources, "links", runs),
    )


def _run_section(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    section = manifest["scenario"].get("run", {})
    return section if isinstance(section, Mapping) else {}


def _seconds(value: object) -> float:
    """A duration as a scenario writes it, in seconds: a number, or a number and a unit."""
    if isinstance(value, int | float):
        return float(value)
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*(\S+)\s*", value) if isinstance(value, str) else None
    return float(match[1]) * _SECONDS[match[2]] if match and match[2] in _SECONDS else 0.0


def _distinct_names(directories: list[Path]) -> list[str]:
    """The last part of each path, or the whole path where that is not distinct."""
    names = [directory.resolve().name for directory in directories]
    return names if len(set(names)) == len(names) else [str(directory) for directory in directories]


def _read_manifest(path: Path) -> Mapping[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunDirectoryError(f"{path}: no such file; a run directory is what `anabranch run --out` writes") from None
    except (OSError, ValueError) as error:
        raise RunDirectoryError(f"{path}: not a readable manifest: {error}") from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise RunDirectoryError(f"{path}: format is {found!r}, this version of Anabranch reads format {FORMAT}")
    needed = ["title", "engine", "anabranch", "scenario", "scenario_hash", "command", "keys", "topology", "runs"]
    missing = [field for field in needed if field not in manifest]
    if missing:
        raise RunDirectoryError(f"{path}: lacks {', '.join(missing)}")
    for place, run in enumerate(manifest["runs"]):
        missing = [field for field in ("run", "variant", "seed", "status", "simulated_s") if field not in run]
        if missing:
            raise RunDirectoryError(f"{path}: runs[{place}] lacks {', '.join(missing)}")
    if not manifest["runs"]:
        raise RunDirectoryError(f"{path}: runs is empty; there is nothing to report")
    return manifest


def _variants(sources: list[Source], keys: list[str], several: bool) -> tuple[list[Variant], pl.DataFrame]:
    """The variants in the order of their first run, and a table that gives every run its variant."""
    variants: dict[tuple[int, tuple[str, ...]], Variant] = {}
    rows = []
    for index, source in enumerate(sources):
        for run in source.manifest["runs"]:
            chosen = {key: text(run["variant"].get(key)) for key in keys}
            values = ({"run directory": source.name} if several else {}) | chosen
            variant = variants.setdefault((index, tuple(chosen.values())), Variant(len(variants), index, values))
            rows.append((index, run["run"], variant.index, run["simulated_s"], source.warm_up_s))
    schema = {
        "source": pl.UInt32,
        "run": pl.UInt32,
        "variant": pl.UInt32,
        "simulated_s": pl.Float64,
        "warm_up_s": pl.Float64,
    }
    return list(variants.values()), pl.DataFrame(rows, schema=schema, orient="row")


def text(value: object) -> str:
    """A matrix value as a text."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(sources: list[Source], name: str, runs: pl.DataFrame) -> pl.DataFrame:
    frames = []
    for index, source in enumerate(sources):
        path = source.directory / f"{name}.parquet"
        try:
            frame = pl.read_parquet(path)
        except FileNotFoundError:
            raise RunDirectoryError(f"{path}: no such file; `anabranch run` writes it beside manifest.json") from None
        except (OSError, pl.exceptions.PolarsError) as error:
            raise RunDirectoryError(f"{path}: not a readable Parquet file: {error}") from None
        missing = [column for column in _COLUMNS[name] if column not in frame.columns]
        if missing:
            raise RunDirectoryError(f"{path}: lacks the columns {', '.join(missing)}")
        frames.append(_attach(frame.lazy(), index, runs).collect())
    return pl.concat(frames, how="diagonal_relaxed")


def _series(sources: list[Source], name: str, runs: pl.DataFrame) -> pl.LazyFrame | None:
    frames = []
    for index, source in enumerate(sources):
        files = sorted((source.directory / "series").glob(f"{name}-*.parquet"))
        if files:
            frames.append(_attach(pl.scan_parquet(files), index, runs))
    return pl.concat(frames, how="diagonal_relaxed") if frames else None


def _attach(frame: pl.LazyFrame, source: int, runs: pl.DataFrame) -> pl.LazyFrame:
    """Give the rows of a table of one run directory their variant."""
    return frame.with_columns(pl.col("run").cast(pl.UInt32), source=pl.lit(source, pl.UInt32)).join(
        runs.lazy(), on=["source", "run"], how="inner", maintain_order="left"
    )


def _active_share() -> pl.Expr:
    first = pl.max_horizontal("start_s", "warm_up_s")
    last = pl.min_horizontal("end_s", "simulated_s")
    share = (last - first) / (pl.col("simulated_s") - pl.col("warm_up_s"))
    return pl.when(share.is_finite()).then(share.clip(0, 1)).otherwise(0.0).alias("active_share")
