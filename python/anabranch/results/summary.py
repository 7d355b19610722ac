"""The tables that the command line prints of a run: goodput of flows that last, completion times of flows that finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from anabranch.foundation.text_table import TextTable, percent, plain, quantity, size_class
from anabranch.results import delays, limiting, statistics
from anabranch.results.run_directory import Runs, Source
from anabranch.scenario.collectives import ALL_REDUCE

GOODPUT = "Goodput: payload counted once, when it first arrives, per second of measured time."
PREDICTED = (
    "Low and high: 90 % of single runs of the packet engine lie between them. They are known of single flows; "
    "flows.parquet has those of all."
)
SLOWDOWN = "Slowdown: completion time over that in an idle network with the same paths. Compare routings by times."
DELAY = "Delay: one way, from host to host, of a flow's data packets; mean over flows and seeds, most of any packet."
FIRST_TO_LAST = "First to last: from the start of the first flow to the end of the last."
NONE_COUNTS = "No completion times: all flows with a size started during the warm-up."
UNFINISHED = "≥: at least so much, because flows of the row had not finished; the figure is not known."


def tables(runs: Runs) -> Iterator[TextTable]:
    """A table with a row for each variant. One with completion times by traffic group and size, if there are flows with a size. One with delays, if runs ask for them."""
    groups = runs.flows.drop_nulls("size_bytes")["traffic"].n_unique()
    by = ["variant", "traffic"] if 1 < groups <= statistics.MOST_GROUPS else ["variant"]
    times = statistics.completion_times(runs.flows, by)
    any_counts = bool(times["flows"].sum())
    yield _summary(runs, (NONE_COUNTS,) if times.height and not any_counts else ())
    if any_counts:
        yield _completion_times(runs, times, by)
    by = ["variant", "traffic"] if 1 < runs.flows["traffic"].n_unique() <= statistics.MOST_GROUPS else ["variant"]
    waits = delays.summary(runs.flows, by)
    if waits.height:
        yield _delays(runs, waits, by)


def _summary(runs: Runs, notes: tuple[str, ...]) -> TextTable:
    summary = statistics.summary(runs.flows, ["variant"], runs.table)
    lasting = summary["goodput_bps"].count() > 0
    predicted = bool(runs.flows.select(statistics.is_predicted(runs.flows)).item())
    waits = statistics.waits_long(runs.flows)
    limits = limiting.limits_by(runs.flows, ["variant"])

    def row(one: Mapping[str, Any]) -> tuple[str, ...]:
        ends = ("low_bps", "high_bps") if predicted else ("goodput_interval_bps",)
        goodput = (quantity(one[name], "bit/s") for name in ("goodput_bps", *ends))
        counts = (percent(one["retransmit_ratio"]), percent(one["spurious_ratio"]), plain(one["timeouts"]))
        stalls = (quantity(one["longest_stall_s"], "s"), quantity(one["reassembly_peak_bytes"], "B"))
        return (
            *runs.variants[one["variant"]].values.values(),
            runs_that_count(one),
            *(goodput if lasting else ()),
            *(() if predicted else counts),
            *((limits.get((one["variant"],), "-"),) if limits else ()),
            *(stalls if waits else ()),
            *(("-" if one["jain_index"] is None else f"{one['jain_index']:.3f}",) if lasting else ()),
        )

    head = (
        *runs.keys,
        "runs",
        *(("goodput", *(("low", "high") if predicted else ("± 95 %",))) if lasting else ()),
        *(() if predicted else ("retransmits", "spurious", "timeouts")),
        *(("limited by",) if limits else ()),
        *(("longest stall", "reassembly") if waits else ()),
        *(("Jain",) if lasting else ()),
    )
    notes = ((GOODPUT, *((PREDICTED,) if predicted else ())) if lasting else ()) + notes
    if limits:
        notes += (limiting.NOTE,)
    interrupted = int(runs.table["interrupted"].sum())
    planned = sum(source.planned for source in runs.sources)
    if interrupted:
        begun = f"; {planned - runs.table.height} had not begun" if planned > runs.table.height else ""
        notes += (
            f"Not among them: {interrupted} of {planned} runs, which were interrupted{begun}. flows.parquet has their flows.",
        )
    if statistics.seeds_agree(runs.flows):
        notes += (statistics.SEEDS_AGREE,)
    return TextTable(head, [row(one) for one in summary.to_dicts()], len(runs.keys), notes)


def figure(row: Mapping[str, Any], name: str, unit: str, show: Callable[[float | None], str]) -> str:
    """A figure of :func:`anabranch.results.statistics.completion_times` as text: its value, or ``≥`` and its lower bound."""
    value, least = row[f"{name}{unit}"], row[f"{name}_at_least{unit}"]
    return show(value) if value is not None or least is None else f"≥ {show(least)}"


def finished(flows: int, unfinished: int) -> str:
    """How many of the flows finished: ``37 of 40``."""
    return f"{flows - unfinished} of {flows}"


def runs_that_count(row: Mapping[str, Any]) -> str:
    """The number of runs in a row of :func:`anabranch.results.statistics.summary`: ``4 of 5`` if one was interrupted."""
    return f"{row['runs']} of {row['runs'] + row['interrupted']}" if row["interrupted"] else str(row["runs"])


def _completion_times(runs: Runs, times: pl.DataFrame, by: Sequence[str]) -> TextTable:
    spans = any(map(_is_collective, runs.sources))

    def row(one: Mapping[str, Any]) -> tuple[str, ...]:
        return (
            *runs.variants[one["variant"]].values.values(),
            *(one[name] for name in by[1:]),
            size_class(one["size_from_bytes"], one["size_below_bytes"]),
            finished(one["flows"], one["unfinished"]),
            *(figure(one, f"fct_{what}", "_s", lambda value: quantity(value, "s")) for what in statistics.FIGURES),
            *([quantity(one["makespan_s"], "s")] if spans else []),
            *(figure(one, f"slowdown_{what}", "", plain) for what in statistics.FIGURES),
        )

    names = ("mean", "median", "95th", "99th")
    last = ("first to last",) if spans else ()
    head = (*runs.keys, *by[1:], "size", "finished", *names, *last, "slowdown", *names[1:])
    notes = [f"Completion times: mean, median, 95th and 99th percentile. {SLOWDOWN}"]
    if spans:
        notes.append(FIRST_TO_LAST)
    if times["unfinished"].sum():
        notes.append(UNFINISHED)
    early = times.filter(statistics.ALL_SIZES)["warm_up_flows"].sum()
    if early:
        notes.append(f"Not among them: the {early} flows of all variants that started during the warm-up.")
    shown = statistics.worth_showing(times, by)
    return TextTable(head, [row(one) for one in shown.to_dicts()], len(runs.keys) + len(by), notes)


def _delays(runs: Runs, table: pl.DataFrame, by: Sequence[str]) -> TextTable:
    rows = [
        (
            *runs.variants[one["variant"]].values.values(),
            *(one[name] for name in by[1:]),
            *(quantity(one[name], "s") for name in delays.DELAYS),
        )
        for one in table.to_dicts()
    ]
    head = (*runs.keys, *by[1:], "delay, mean", "median", "95th", "99th", "most")
    return TextTable(head, rows, len(runs.keys) + len(by) - 1, (DELAY,))


def _is_collective(source: Source) -> bool:
    """Whether flows of a traffic group wait for others, so that the time of all of them counts."""
    groups = source.manifest["scenario"].get("traffic", ())
    return any(group.get("pattern") in ALL_REDUCE or "window" in group for group in groups)
