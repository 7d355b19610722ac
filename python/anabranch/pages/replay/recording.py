"""Records the packets of a span of a run of a run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.foundation.array_types import Columns
from anabranch.foundation.json_text import json_text
from anabranch.foundation.progress import Shown
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.results.files import MANIFEST, UNREADABLE
from anabranch.results.matrix_columns import text
from anabranch.results.stored import StoredResult
from anabranch.runs.run import compiled
from anabranch.scenario import Scenario
from anabranch.scenario.controls import PythonControl

MOST_CROSSINGS = 100_000
"""The most rows of a recording, which ends there: a page with more is slow to load."""
_EVENTS = 1 << 14
_SHOWN = 8
"""Run numbers that a message lists."""


class ReplayError(ValueError):
    """A replay that is not possible: says why, and what would be right."""


@dataclass(frozen=True)
class Recording:
    """The packets of a span.

    ``crossings`` has a row for each packet and link, with these columns:

    - ``link``, ``flow``, ``segment``, ``ack``, ``retransmission``, ``marked``, ``bytes`` and ``entered_s``.
    - ``departs_s``: the end of its transmission. It is NaN where the packet was dropped before, or CoDel had not served it at the end of
      the span.
    - ``left_s``: NaN where the packet had not left at the end of the span.
    - ``fate``: ``arrived``, ``dropped`` by the queue, ``lost`` on the wire, or ``on its way``.
    """

    title: str
    variant: str
    seed: int
    from_s: float
    until_s: float
    nodes: list[dict[str, Any]]
    links: list[dict[str, Any]]
    """``src`` and ``dst`` (names), ``rate_bps``, ``delay_s``; of a link that varies, their means."""
    flows: list[dict[str, Any]]
    """``name``, ``src`` and ``dst`` of each flow, up to the last one that has packets in the span."""
    crossings: Columns
    is_cut: bool
    """Whether the span ends earlier than asked, because it has too many packets."""


def record(
    directory: Path,
    *,
    run: int | None = None,
    at_s: float | None = None,
    for_s: float = 1.0,
    progress: bool = False,
    run_control: bool = False,
) -> Recording:
    """Simulate a run of a run directory again, and record a span.

    Args:
        directory: a run directory.
        run: the number of the run in the column ``run``; by default the least.
        at_s: when the span begins, seconds; by default at the end of the warm-up.
        for_s: the length of the span, seconds.
        progress: whether to show the progress of the simulation.
        run_control: whether code of Python controls may be executed, from the files that the directory's manifest names.

    Raises:
        ReplayError: there is no such run or span, the run is not one of the packet engine, it would be another one today, or it needs a
            Python control that may not be executed.
        ManifestError: the directory is not one of this version.
        ScenarioError: the scenario of the directory needs a file that is not there any more.
    """
    stored = StoredResult.load(directory)
    found = stored.manifest
    if found["engine"] != "packet":
        raise ReplayError(
            f"{directory}: was run by the engine {found['engine']}; only runs of the packet engine can be replayed"
        )
    rows = {row["run"]: row for row in found["runs"]}
    run = min(rows, default=0) if run is None else run
    if run not in rows:
        raise ReplayError(f"--run {run}: {directory} has {_listed(sorted(rows))}")
    row = rows[run]
    begin = row["warm_up_s"] if at_s is None else at_s
    if not 0 <= begin < row["simulated_s"]:
        raise ReplayError(f"--at {begin:g}s: the run lasts {row['simulated_s']:g} s")
    if for_s <= 0:
        raise ReplayError(f"--for {for_s:g}s: must be longer than 0 s")
    spec = _spec(directory, found, row, run_control)
    trace = _core.Trace(json_text(spec), begin, min(begin + for_s, row["simulated_s"]))
    until = _advance(trace, min(begin + for_s, row["simulated_s"]), progress)
    columns = trace.table()
    # The manifest has those of the first variant; another one may have further nodes.
    places = {node["name"]: node for node in found["topology"]["nodes"]}
    return Recording(
        title=found["title"],
        variant=" · ".join(text(value) for value in row["variant"].values()),
        seed=row["seed"],
        from_s=begin,
        until_s=until,
        nodes=[places.get(name, {"name": name}) for name in spec["nodes"]],
        links=[
            {
                "src": spec["nodes"][link["src"]],
                "dst": spec["nodes"][link["dst"]],
                "rate_bps": link["rate"],
                "delay_s": link["delay"] / PICOSECONDS_PER_SECOND,
            }
            for link in spec["links"]
        ],
        flows=_flows(stored.path("flows.parquet"), run, columns),
        crossings=columns,
        is_cut=until < min(begin + for_s, row["simulated_s"]),
    )


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no runs"
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"the runs {', '.join(map(str, numbers[:_SHOWN]))}{more}"


def _spec(directory: Path, found: Mapping[str, Any], row: Mapping[str, Any], run_control: bool) -> dict[str, Any]:
    """The compiled run of a row of the manifest.

    Raises:
        ReplayError: it is not the run that the tables are of, or has a Python control that may not be executed.
    """
    scenario = Scenario(found["scenario"], directory=Path(found.get("directory", ".")))
    case = next((case for case in scenario.cases if case.values == row["variant"]), None)
    if case is None:
        raise ReplayError(
            f"{directory}: run {row['run']} is of {row['variant']}, which the scenario in {MANIFEST} does not have"
        )
    controls = [stack.congestion for stack in case.variant.all_stacks().values()]
    for control in controls:
        if isinstance(control, PythonControl) and not run_control:
            file, _, name = control.python.rpartition(":")
            raise ReplayError(
                f"{directory}: run {row['run']} would execute the Python control {name} of {scenario.directory / file}; "
                "read that file, and add --run-control to execute it"
            )
    spec, run_hash = compiled(case, row["seed"], found["engine"], found.get("jitter", 0.0))
    if row.get("run_hash", run_hash) != run_hash:
        raise ReplayError(
            f"{directory}: run {row['run']} cannot be simulated again as it was: a file that its scenario names has changed since, "
            "or Anabranch has; run the scenario again"
        )
    return spec


def _advance(trace: _core.Trace, until_s: float, progress: bool) -> float:
    """Run to the end of the span, or until there are enough crossings; the time reached."""
    with Shown(until_s, progress) as shown:
        while trace.advance(_EVENTS):
            shown.show(trace.now_s, "replay", f"{trace.crossings:,} packets on links")
            if trace.crossings >= MOST_CROSSINGS:
                return trace.now_s
    return until_s


def _flows(table: Path, run: int, columns: Columns) -> list[dict[str, Any]]:
    import polars as pl

    flows = pl.scan_parquet(table, glob=False).filter(run=run).select("flow", "src", "dst", "stack")
    last = int(np.max(columns["flow"], initial=0))
    try:
        rows: Sequence[Mapping[str, Any]] = flows.filter(pl.col("flow") <= last).sort("flow").collect().to_dicts()
    except UNREADABLE as error:
        raise ReplayError(f"{table}: cannot be read ({str(error).partition(chr(10))[0]})") from None
    return [
        {
            "name": f"{row['flow']}: {row['src']} → {row['dst']}, {row['stack'] or 'UDP'}",
            "src": row["src"],
            "dst": row["dst"],
        }
        for row in rows
    ]
