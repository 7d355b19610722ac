"""Puts the page together: which charts and tables there are, and what they say."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import markupsafe
import polars as pl
import tomlkit

from anabranch import statistics
from anabranch.matrix_columns import text
from anabranch.report import answer, chart, libraries, predicted, routes, run_directory, series, swept, template
from anabranch.report.chart import Measure, three_digits
from anabranch.report.parts import Column, Figure, Table, cells, count, get, largest
from anabranch.report.run_directory import Runs, Source
from anabranch.text_table import size_class

NO_STACK = "UDP"
"""What stands for the stack of flows that have none."""
# More than this is no longer read, and would make the page heavy; the page says so where it leaves something out.
MOST_BARS = 120
MOST_PANELS = 24
MOST_LINKS_OF_TABLE = 20
MOST_ROWS_OF_TABLE = 500
MOST_CELLS_OF_MAP = 60_000
MOST_LINKS_OVER_TIME = 3
# From this many flows in a run on, how goodput is distributed says more than its mean.
MANY_FLOWS = 9
LEAST_COMPLETED = 5


def render(run_directories: Sequence[Path]) -> str:
    """The HTML of the report."""
    return template.render(**content(run_directories), libraries=markupsafe.Markup(libraries.vega()))


def content(run_directories: Sequence[Path]) -> dict[str, Any]:
    """What the report's template shows, by the names that it has there; figures are in lists, or alone."""
    runs = run_directory.read(run_directories)
    by = _grouping(runs)
    summary, times = (
        numbers.with_columns(pl.col("stack").fill_null(NO_STACK))
        for numbers in (statistics.summary(runs.flows, by), statistics.completion_times(runs.flows, by))
    )
    runs = replace(runs, flows=runs.flows.with_columns(pl.col("stack").fill_null(NO_STACK)))
    stacks = _stacks(runs)
    groups = answer.groups(runs, runs.flows.select(by).unique(maintain_order=True), by, _stack_keys(runs, summary))
    summary, times = _named(runs, summary), _named(runs, times)
    whole = times.filter(statistics.ALL_SIZES)
    links = statistics.link_summary(runs.links)
    return dict(  # noqa: C408
        title=" and ".join(dict.fromkeys(source.manifest["title"] for source in runs.sources)),
        sources=[_facts(source, index, runs) for index, source in enumerate(runs.sources)],
        answers=[answer.of_goodput(runs, by, groups), answer.of_completion(runs, by, groups)],
        unfinished=_unfinished(whole),
        bars=_along(runs, summary, whole, by, groups, stacks)
        if swept.axes(runs)
        else _bars(runs, summary, whole, by, stacks),
        maps=_maps(runs, links),
        over_time=_over_time(runs, links, stacks),
        timeline=routes.timeline(runs),
        estimates=routes.estimates(runs),
        route_changes=routes.changes(runs),
        distributions=_distributions(runs, stacks),
        summary=_summary_table(runs, summary, by),
        completions=_completion_table(runs, times, by),
        predicted=predicted.table(runs),
        states=_state_table(runs),
        links=_link_table(runs, links),
        several=len(runs.sources) > 1,
        seeds=largest(summary["runs"]),
    )


def _stacks(runs: Runs) -> list[str]:
    """All stacks, in the order of the matrix: a stack's colour is its place here."""
    return runs.flows.sort("variant", "run", "flow", maintain_order=True)["stack"].unique(maintain_order=True).to_list()


def _grouping(runs: Runs) -> list[str]:
    """Columns that make a row of the summary: variant, stack, and what else differs among the flows of a run."""
    by = ["variant", "stack"]
    for column in ("routing", "traffic"):
        values = runs.flows.group_by(["source", "run", *by[1:]]).agg(pl.col(column).n_unique())[column].max()
        if isinstance(values, int) and 1 < values <= MANY_FLOWS:
            by.append(column)
    return by


def _named(runs: Runs, summary: pl.DataFrame) -> pl.DataFrame:
    """Add what the rows of a summary are called: ``group`` without the stack, ``label`` in full."""
    groups, labels = [], []
    extra = [column for column in ("routing", "traffic") if column in summary.columns]
    stack_keys = _stack_keys(runs, summary)
    for row in summary.to_dicts():
        values = runs.variants[row["variant"]].values
        rest = [value for key, value in values.items() if key not in stack_keys] + [row[column] for column in extra]
        groups.append(" · ".join(rest) or "all traffic")
        labels.append(" · ".join([row["stack"], *rest]))
    return summary.with_columns(pl.Series("group", groups, pl.String), pl.Series("label", labels, pl.String))


def _stack_keys(runs: Runs, summary: pl.DataFrame) -> set[str]:
    """Matrix keys that say no more than the stack's name does."""
    rows = summary.select("variant", "stack").rows()
    return {key for key in runs.keys if all(runs.variants[variant].values[key] == stack for variant, stack in rows)}


def _facts(source: Source, index: int, runs: Runs) -> dict[str, Any]:
    """What was run, for the head and the foot of the page."""
    manifest = source.manifest
    seeds = sorted({run["seed"] for run in manifest["runs"]})
    longest = max(run["simulated_s"] for run in manifest["runs"])
    hops = sum(run.get("packet_hops") or 0 for run in manifest["runs"])
    facts = [
        ("Engine", manifest["engine"]),
        ("Anabranch", manifest["anabranch"]),
        ("Duration", f"{longest:g} s"),
        ("Warm-up", f"{source.warm_up_s:g} s" if source.warm_up_s else "none"),
        ("Seeds" if len(seeds) > 1 else "Seed", _ranges(seeds)),
        ("Variants", sum(variant.source == index for variant in runs.variants)),
        ("Runs", len(manifest["runs"])),
        ("Packet-hops", _magnitude(hops)),
    ]
    expired = sum(run.get("packets_expired") or 0 for run in manifest["runs"])
    if expired:
        facts.append(("Packets gone in circles", _magnitude(expired)))
    facts += _real_time(manifest["runs"])
    keys = manifest["keys"]
    return {
        "name": source.name,
        "engine": manifest["engine"],
        "directory": shlex.quote(str(source.directory)),
        "middle_s": longest / 2,
        "facts": facts,
        "interrupted": source.interrupted,
        "planned": source.planned,
        "stopped": _stopped(source),
        "warnings": [_warning(warning) for warning in manifest.get("warnings", [])],
        "command": shlex.join(str(word) for word in manifest["command"]),
        "scenario": _scenario_text(manifest["scenario"]),
        "scenario_hash": manifest["scenario_hash"],
        "matrix_keys": keys,
        "runs": [
            {
                **run,
                "values": [text(run["variant"].get(key)) for key in keys],
                "result_hash": run.get("result_hash") or "–",
            }
            for run in manifest["runs"][:MOST_ROWS_OF_TABLE]
        ],
        "omitted": max(len(manifest["runs"]) - MOST_ROWS_OF_TABLE, 0),
    }


def _warning(warning: Mapping[str, Any]) -> str:
    place = warning["file"] if warning["line"] is None else f"{warning['file']}:{warning['line']}"
    return f"{place}: {warning['field']}: {warning['message']}"


def _stopped(source: Source) -> list[str]:
    """The runs that were stopped before their end: matrix values, seed, and how far they got."""
    keys = source.manifest["keys"]
    lines = []
    for run in source.manifest["runs"]:
        if run["status"] != "complete":
            values = [text(run["variant"].get(key)) for key in keys] + [f"seed {run['seed']}"]
            lines.append(f"{' · '.join(values)}: {run['simulated_s']:g} s")
    return lines


def _scenario_text(scenario: Mapping[str, Any]) -> str:
    """The scenario as TOML, which `anabranch run` takes; as JSON if it holds what TOML cannot say."""
    try:
        return tomlkit.dumps(scenario)
    except (ValueError, TypeError):
        return json.dumps(scenario, indent=2, ensure_ascii=False)


def _magnitude(count: int) -> str:
    """``12.8 million`` for 12838158."""
    for size, name in ((10**12, " trillion"), (10**9, " billion"), (10**6, " million")):
        if count >= size:
            return three_digits(count / size) + name
    return f"{count:,}"


def _real_time(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    """Of runs of the kernel engine: the Linux that ran, and how late its packets were in the worst run."""
    late = [run["lateness"] for run in runs if "lateness" in run]
    if not late:
        return []
    mean, most = max(one["mean_s"] for one in late), max(one["p99_s"] for one in late)
    return [
        ("Linux", ", ".join(sorted({run["linux"] for run in runs if "linux" in run}))),
        ("Packets late", f"{1e6 * mean:.0f} us in the mean, 99 % within {1e6 * most:.0f} us"),
    ]


def _ranges(numbers: Sequence[int]) -> str:
    """``1–3, 7`` for 1, 2, 3, 7."""
    parts = []
    for _, group in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        parts.append(f"{members[0]}" if len(members) == 1 else f"{members[0]}–{members[-1]}")
    return ", ".join(parts)


def _unfinished(times: pl.DataFrame) -> list[tuple[str, int, int]]:
    """The groups with flows that did not finish: name, how many, of how many."""
    missing = times.filter(pl.col("unfinished") > 0)
    return missing.select("label", "unfinished", "flows").rows()


def _bars(
    runs: Runs, summary: pl.DataFrame, times: pl.DataFrame, by: Sequence[str], stacks: Sequence[str]
) -> list[Figure]:
    stack_keys = _stack_keys(runs, summary)
    title = ", ".join([key for key in runs.keys if key not in stack_keys] + list(by[2:])).capitalize()
    intervals = ", mean over the seeds. Lines: 95 % confidence interval." if largest(summary["runs"]) > 1 else "."

    def figure(name: str, heading: str, caption: str, table: pl.DataFrame, draw: Callable[..., Any]) -> Figure:
        shown = table.head(MOST_BARS)
        if table.height > MOST_BARS:
            caption += f" The first {MOST_BARS} of {table.height} groups; the table has all."
        upright = shown.height <= chart.UPRIGHT_BARS
        layout = {"kind": "single", "aspect": 0.34, "least": 260, "most": 380, "legend": _longest(stacks)}
        layout |= {"bars": shown.height} if upright else {"height": 17 * shown.height + 60}
        drawing = draw(shown, x="group", x_title=title, stacks=stacks)
        return Figure(name, heading, caption, drawing, layout)

    return [
        figure(part.name, part.heading, part.caption + intervals, part.table, part.draw)
        for part in _measures(summary, times)
    ]


def _along(
    runs: Runs,
    summary: pl.DataFrame,
    times: pl.DataFrame,
    by: Sequence[str],
    groups: pl.DataFrame,
    stacks: Sequence[str],
) -> list[Figure]:
    """Lines along the condition with the most values, and who is best over two conditions."""
    axes = swept.axes(runs)
    bands = ", mean over the seeds. Bands: 95 % confidence interval." if largest(summary["runs"]) > 1 else "."
    figures = []
    for part in _measures(summary, times):
        shown = part.measure(largest(part.table[part.column]))
        table = part.table.join(groups, on=by, maintain_order="left")
        if len(axes) > 1:
            values = part.values(runs, by, groups)
            figures.append(swept.winners(runs, values, shown, axes[0], axes[1], most_is_best=part.most_is_best))
        figures.append(swept.lines(runs, table, shown, part.half, axes[0], stacks, part.caption + bands))
    return figures


@dataclass(frozen=True)
class _Part:
    """A measure of the answer: how it is named, drawn and compared."""

    name: str
    heading: str
    caption: str
    table: pl.DataFrame
    column: str
    half: str
    draw: Callable[..., Any]
    measure: Callable[[float], Measure]
    values: Callable[..., pl.DataFrame]
    most_is_best: bool


def _measures(summary: pl.DataFrame, times: pl.DataFrame) -> list[_Part]:
    """Goodput, if flows send to the end, and completion times, if flows end."""
    timed = times.drop_nulls("fct_mean_s")
    lasting = summary.drop_nulls("goodput_bps") if timed.height else summary
    parts = []
    if lasting.height:
        together = ", all flows of the group together" if largest(summary["flows"]) > 1 else ""
        caption = f"Payload per second, each byte counted once, when it first arrives{together}"
        parts.append(
            _Part(
                *("goodput", "Goodput", caption, lasting, "goodput_bps", "goodput_interval_bps", chart.goodput_bars),
                *(partial(chart.rate, "goodput_bps", "Goodput"), answer.goodput_values, True),
            )
        )
    if timed.height:
        caption = "From the start of a flow to the arrival of its last byte, mean over the flows with a size"
        if timed["unfinished"].sum():
            caption += (
                " (a flow that had not finished counts with the time that it had had: such a mean is a lower bound)"
            )
        parts.append(
            _Part(
                *("completion-mean", "Completion time", caption, timed, "fct_mean_s", "fct_interval_s"),
                *(chart.completion_bars, partial(chart.seconds, "fct_mean_s", "Mean completion time")),
                *(answer.completion_values, False),
            )
        )
    return parts


def _maps(runs: Runs, links: pl.DataFrame) -> list[Figure]:
    figures = []
    for index, source in enumerate(runs.sources):
        own = links.filter(pl.col("source") == index)
        if own.is_empty():
            continue
        variants = [variant for variant in runs.variants if variant.source == index]
        most = max(MOST_CELLS_OF_MAP // max(own["link"].n_unique(), 1), 1)
        labels = {variant.index: variant.label for variant in variants[:most]}
        drawing = chart.link_map(source.manifest["topology"]["nodes"], own, labels)
        figures.append(
            Figure(
                f"map-{index}",
                source.name if len(runs.sources) > 1 else "",
                "Colour and width: share of the link's capacity in use, mean over all runs of the variant. "
                "Traffic keeps to the right: each direction is drawn on its own side, with an arrow. "
                "Point at a link for its numbers."
                + (f" The first {most} of {len(variants)} variants." if len(variants) > most else ""),
                drawing,
                {
                    "kind": "map",
                    "aspect": drawing["height"] / drawing["width"],
                    "legend": 3,
                    "variants": list(labels.values()),
                },
            )
        )
    return figures


def _over_time(runs: Runs, links: pl.DataFrame, stacks: Sequence[str]) -> list[Figure]:
    variants = runs.variants[:MOST_PANELS]
    labels = pl.DataFrame(
        {"variant": [variant.index for variant in variants], "panel": [variant.label for variant in variants]},
        schema={"variant": pl.UInt32, "panel": pl.String},
    )
    omitted = f" The first {MOST_PANELS} of {len(runs.variants)} variants." if len(runs.variants) > MOST_PANELS else ""
    return _flows_over_time(runs, stacks, labels, omitted) + _queues_over_time(runs, links, labels, omitted)


def _flows_over_time(runs: Runs, stacks: Sequence[str], labels: pl.DataFrame, omitted: str) -> list[Figure]:
    flows = runs.flows.filter(pl.col("variant") < MOST_PANELS)
    if runs.flow_series is None or flows.is_empty():
        return []
    samples = runs.flow_series.filter(pl.col("variant") < MOST_PANELS)
    measured = ["goodput_bps", "cwnd_segments", "srtt_s", "in_flight_segments"]
    thinned = series.flow_series(samples, flows, measured).join(labels, on="variant", maintain_order="left")
    measures = [
        chart.rate("goodput_bps", "Goodput", largest(thinned.filter(measure="goodput_bps")["value"])),
        Measure("cwnd_segments", "Congestion window", "segments"),
        Measure("srtt_s", "Smoothed RTT", "ms", 1e3, from_zero=False),
        Measure("in_flight_segments", "In flight", "segments"),
    ]
    caption = _band_caption(flows) + omitted
    layout = _panel_layout(runs, stacks)
    figures = []
    for measure in measures:
        if thinned.filter(measure=measure.column).is_empty():
            continue
        drawing = chart.time_series(
            thinned,
            measure,
            panel="panel",
            panels=labels["panel"].to_list(),
            stacks=stacks,
            columns=_panel_columns(runs),
        )
        name = measure.column.rsplit("_", 1)[0].replace("_", "-")
        figures.append(Figure(f"time-{name}", measure.axis, caption, drawing, layout))
    return figures


def _queues_over_time(runs: Runs, links: pl.DataFrame, labels: pl.DataFrame, omitted: str) -> list[Figure]:
    if runs.link_series is None:
        return []
    names = _busiest(runs, links)
    samples = runs.link_series.filter(pl.col("variant") < MOST_PANELS)
    thinned = series.link_series(samples, names, "queue_packets").join(labels, on="variant", maintain_order="left")
    if thinned.is_empty():
        return []
    measure = Measure("queue_packets", "Queue", "packets")
    drawing = chart.link_time_series(
        thinned, measure, panel="panel", panels=labels["panel"].to_list(), columns=_panel_columns(runs)
    )
    caption = "Packets waiting or in transmission" + (
        ", mean over the seeds; band: least and most of the seeds." if _several_seeds(runs.links) else "."
    )
    layout = _panel_layout(runs, names["series"].to_list())
    title = "Queue of the busiest links, packets"
    return [Figure("time-queue", title, caption + omitted, drawing, layout)]


def _panel_layout(runs: Runs, legend: Sequence[str]) -> dict[str, Any]:
    columns = _panel_columns(runs)
    return {
        "kind": "panels",
        "columns": columns,
        "least": 150,
        "aspect": 0.42,
        "tallest": 150,
        "legend": _longest(legend),
    }


def _panel_columns(runs: Runs) -> int:
    """As many panels in a row as the last key has values, so that a row compares along that key."""
    last = {variant.values[runs.keys[-1]] for variant in runs.variants} if runs.keys else set()
    return len(last) if 2 <= len(last) <= 5 else min(4, len(runs.variants))


def _band_caption(flows: pl.DataFrame) -> str:
    if flows["flow"].n_unique() > series.LINES:
        return "Median over flows and seeds; band: from the 10 % to the 90 % quantile."
    if _several_seeds(flows):
        return "A line for each flow, mean over the seeds; band: least and most of the seeds."
    return "A line for each flow."


def _several_seeds(table: pl.DataFrame) -> bool:
    """Whether some variant has more than one run."""
    return largest(table.group_by("variant").agg(pl.col("run").n_unique())["run"]) > 1


def _busiest(runs: Runs, links: pl.DataFrame) -> pl.DataFrame:
    """The links of the highest utilisation in any variant; of those about as busy, the ones with the longest queues."""
    ranked = (
        links.group_by(["source", "link", "src", "dst"], maintain_order=True)
        .agg(pl.col("utilisation").max().round(1), pl.col("queue_delay_mean_s").max())
        .sort(["utilisation", "queue_delay_mean_s"], descending=True, nulls_last=True, maintain_order=True)
        .with_columns(series=pl.format("{} → {}", "src", "dst"))
    )
    chosen = ranked["series"].unique(maintain_order=True).head(MOST_LINKS_OVER_TIME)
    return ranked.filter(pl.col("series").is_in(chosen.to_list())).select("source", "link", "series")


def _distributions(runs: Runs, stacks: Sequence[str]) -> list[Figure]:
    groups = [variant.values for variant in runs.variants]
    stack_keys = _stack_keys(runs, runs.flows)
    names = [
        " · ".join(value for key, value in values.items() if key not in stack_keys) or "all traffic"
        for values in groups
    ]
    panels = list(dict.fromkeys(names))[:MOST_PANELS]
    flows = runs.flows.with_columns(
        panel=pl.col("variant").replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    )
    flows = flows.filter(pl.col("panel").is_in(panels))
    omitted = f" The first {MOST_PANELS} of {len(set(names))} panels." if len(set(names)) > MOST_PANELS else ""
    columns = min(3, len(panels))
    layout = {
        "kind": "panels",
        "columns": columns,
        "least": 210,
        "aspect": 0.6,
        "tallest": 240,
        "legend": _longest(stacks),
    }
    figures = []
    sized = flows.filter(pl.col("size_bytes").is_not_null(), pl.col("start_s") >= pl.col("warm_up_s"))
    completed = sized["fct_s"].count()
    if completed >= LEAST_COMPLETED:
        measure = Measure("fct_s", "Flow completion time", "s")
        drawing = chart.distributions(sized, measure, panel="panel", panels=panels, stacks=stacks, columns=columns)
        caption = f"{completed:,} of {sized.height:,} flows of all seeds finished; a curve ends at the share that did."
        figures.append(Figure("completion", measure.title, caption + omitted, drawing, layout))
    lasting = flows.with_columns(goodput_bps=statistics.lasting_goodput(["variant", "stack"])).drop_nulls("goodput_bps")
    if largest(lasting.group_by(["source", "run"]).len()["len"]) >= MANY_FLOWS:
        measure = chart.rate("goodput_bps", "Goodput of a flow", largest(lasting["goodput_bps"]))
        drawing = chart.distributions(lasting, measure, panel="panel", panels=panels, stacks=stacks, columns=columns)
        caption = f"All {lasting.height:,} flows of all seeds that send to the end of the run." + omitted
        figures.append(Figure("goodput-of-flows", measure.title, caption, drawing, layout))
    return figures


def _group_columns(runs: Runs, table: pl.DataFrame, by: Sequence[str]) -> list[Column]:
    """What a row is of: stack, matrix values, and what else differs among the flows of a run."""
    stack_keys = _stack_keys(runs, table)

    def matrix_value(key: str) -> Callable[[Mapping[str, Any]], str]:
        return lambda row: runs.variants[row["variant"]].values[key]

    return [
        Column("Stack", "", "Transport stack: congestion control, loss detection and ACK policy.", get("stack")),
        *(
            Column(key, "", "A value of the scenario's matrix.", matrix_value(key))
            for key in runs.keys
            if key not in stack_keys
        ),
        *(Column(name.capitalize(), "", f"The flows' {name}.", get(name)) for name in by[2:]),
    ]


def _summary_table(runs: Runs, summary: pl.DataFrame, by: Sequence[str]) -> Table:
    shown = chart.rate("goodput_bps", "Goodput", largest(summary["goodput_bps"]))
    single = chart.rate("flow_goodput_bps", "per flow", largest(summary["flow_goodput_bps"]))
    columns = _group_columns(runs, summary, by)
    columns += [
        Column("Runs", "", "Number of runs, one a seed.", get("runs"), count),
        Column("Flows", "", "Flows in a run.", get("flows"), count),
        Column(
            "Goodput",
            shown.unit,
            "Payload counted once, when it first arrives, per second of measured time (after the warm-up); all flows of "
            "the row together that send to the end of the run; mean over the seeds.",
            get("goodput_bps", shown.factor),
            three_digits,
        ),
        Column(
            "±\u00a095\u00a0%",
            shown.unit,
            "Half the width of the 95 % confidence interval of that mean (Student's t); unknown with one seed.",
            get("goodput_interval_bps", shown.factor),
            lambda value: chart.digits(value, 2),
        ),
    ]
    if largest(summary["flows"]) > 1:
        columns += [
            Column(
                "Per flow",
                single.unit,
                "Mean goodput of a flow over the time in which it was active.",
                get("flow_goodput_bps", single.factor),
                three_digits,
            ),
            Column(
                "Jain index",
                "",
                "Fairness among the row's TCP flows: 1 if all have the same goodput, 1/n if one of n has all.",
                get("jain_index"),
                three_digits,
            ),
        ]
    columns += [
        Column("Retransmitted", "%", "Retransmissions per segment sent.", get("retransmit_ratio", 100), three_digits),
        Column(
            "Spurious",
            "%",
            "Share of the retransmissions whose original had arrived or was still to arrive.",
            get("spurious_ratio", 100),
            three_digits,
        ),
        Column("Timeouts", "a run", "Retransmission timeouts, mean over the seeds.", get("timeouts"), _tenths),
        Column(
            "Smoothed RTT",
            "ms",
            "SRTT (RFC 6298) at the end, mean over flows and seeds.",
            get("srtt_s", 1e3),
            three_digits,
        ),
        Column(
            "Reordered", "%", "Segments that arrived after one sent later.", get("reordered_ratio", 100), three_digits
        ),
        Column(
            "Extent, most",
            "segments",
            "Reordering extent (RFC 4737): how many segments at most a late segment was overtaken by.",
            get("reordering_extent_max"),
            count,
        ),
        Column(
            "Extent, mean",
            "segments",
            "Its mean over reordered segments.",
            get("reordering_extent_mean"),
            three_digits,
        ),
    ]
    if statistics.waits_long(runs.flows):
        columns += [
            Column(
                "Longest stall",
                "s",
                "Longest time without delivery in order while data is outstanding, of any flow and seed.",
                get("longest_stall_s"),
                three_digits,
            ),
            Column(
                "Reassembly, peak",
                "kB",
                "The most that a receiver held beyond a hole, of any flow and seed.",
                get("reassembly_peak_bytes", 1e-3),
                three_digits,
            ),
        ]
    return _rows(columns, summary)


def _completion_table(runs: Runs, times: pl.DataFrame, by: Sequence[str]) -> Table | None:
    """Completion times and slowdown by class of sizes, if there are flows with a size."""
    if times.is_empty():
        return None
    shown = chart.seconds("fct_p99_s", "", largest(times["fct_p99_s"]))
    names = dict(zip(statistics.FIGURES, ("mean", "median", "95th percentile", "99th percentile"), strict=True))
    columns = [
        *_group_columns(runs, times, by),
        Column(
            "Size",
            "",
            "Class of the flows' sizes, with its lower bound.",
            lambda row: size_class(row["size_from_bytes"], row["size_below_bytes"]),
        ),
        Column("Flows", "", "Flows of all seeds that started after the warm-up.", get("flows"), count),
        Column(
            "Unfinished",
            "",
            "Those that had not finished when the run ended. They count with the time that they had had: the figures of "
            "the row are lower bounds.",
            get("unfinished"),
            count,
        ),
        *(
            Column(
                f"Completion, {name}",
                shown.unit,
                f"Time from the start of a flow to the arrival of its last byte: {name} over the flows.",
                get(f"fct_{what}_s", shown.factor),
                three_digits,
            )
            for what, name in names.items()
        ),
        *(
            Column(
                f"Slowdown, {name}",
                "",
                f"Completion time over that in an idle network: {name} over the flows.",
                get(f"slowdown_{what}"),
                three_digits,
            )
            for what, name in names.items()
        ),
    ]
    return _rows(columns, statistics.worth_showing(times, by))


def _rows(columns: list[Column], table: pl.DataFrame) -> Table:
    """The first rows of a table, and a note if there are more."""
    note = f"The first {MOST_ROWS_OF_TABLE} of {table.height} rows." if table.height > MOST_ROWS_OF_TABLE else ""
    return Table(columns, [cells(columns, row) for row in table.head(MOST_ROWS_OF_TABLE).to_dicts()], note=note)


def _state_table(runs: Runs) -> Table | None:
    """The shares of time in the states of congestion controls, if any has reported them."""
    if runs.states.is_empty():
        return None
    names = runs.states["state"].unique(maintain_order=True).to_list()
    means = runs.states.pivot("state", index=["variant", "stack"], values="share", aggregate_function="mean")
    labels = {variant.index: variant.label for variant in runs.variants}
    columns = [
        Column("Variant", "", "Matrix values.", lambda row: labels[row["variant"]]),
        Column("Stack", "", "Transport stack.", get("stack")),
        *(
            Column(
                name,
                "%",
                f"Share of the time in state {name}, mean over flows and seeds.",
                get(name, 100),
                three_digits,
            )
            for name in names
        ),
    ]
    return Table(columns, [cells(columns, row) for row in means.head(MOST_ROWS_OF_TABLE).to_dicts()])


def _link_table(runs: Runs, links: pl.DataFrame) -> Table:
    labels = {variant.index: variant.label for variant in runs.variants}
    capacity = chart.rate("capacity_bps", "Capacity", largest(links["capacity_bps"]))
    columns = [
        Column("Variant", "", "Matrix values.", lambda row: labels[row["variant"]]),
        Column(
            "Link", "", "From and to: a direction is a link of its own.", lambda row: f"{row['src']} → {row['dst']}"
        ),
        Column(
            "Capacity", capacity.unit, "Rate of the transmitter.", get("capacity_bps", capacity.factor), three_digits
        ),
        Column("Delay", "ms", "Propagation delay.", get("delay_s", 1e3), three_digits),
        Column(
            "Utilisation",
            "%",
            "Share of the capacity in use, headers included.",
            get("utilisation", 100),
            three_digits,
        ),
        Column("Packets", "a run", "Packets transmitted.", get("packets"), count),
        Column("Queueing", "ms", "Mean time that a packet waited.", get("queue_delay_mean_s", 1e3), three_digits),
        Column(
            "Longest wait",
            "ms",
            "The longest that a packet waited, of any seed.",
            get("queue_delay_max_s", 1e3),
            three_digits,
        ),
        Column(
            "Dropped",
            "%",
            "Packets refused by the queue, of those that came.",
            get("queue_drop_ratio", 100),
            three_digits,
        ),
        Column("Lost", "%", "Packets that the wire lost, of those transmitted.", get("loss_ratio", 100), three_digits),
        Column("Marked", "a run", "Packets marked with congestion experienced (ECN).", get("marks"), count),
    ]
    shown = (
        links.filter(pl.col("variant") < MOST_PANELS)
        .sort(["variant", "utilisation"], descending=[False, True], nulls_last=True, maintain_order=True)
        .group_by("variant", maintain_order=True)
        .head(MOST_LINKS_OF_TABLE)
        .to_dicts()
    )
    note = f"The first {MOST_PANELS} of {len(runs.variants)} variants." if len(runs.variants) > MOST_PANELS else ""
    groups = [labels[row["variant"]] for row in shown]
    return Table(columns, [cells(columns, row) for row in shown], groups, note)


def _tenths(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _longest(labels: Sequence[str]) -> int:
    return max((len(label) for label in labels), default=0)
