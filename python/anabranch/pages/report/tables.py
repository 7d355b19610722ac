"""The tables of the page, beside those of the answer and of links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anabranch.foundation.text_table import size_class
from anabranch.pages.report import chart
from anabranch.pages.report.chart import three_digits
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import Column, ReportTable, count, first_rows, get, largest
from anabranch.results import limiting, statistics


def group_columns(e: Evaluation) -> list[Column]:
    """Columns that identify a row: stack, matrix values, and other columns that differ among the flows of a run."""

    def matrix_value(key: str) -> Callable[[Mapping[str, Any]], str]:
        return lambda row: e.runs.variants[row["variant"]].values[key]

    return [
        Column("Stack", "", "Transport stack: congestion control, loss detection and ACK policy.", get("stack")),
        *(
            Column(key, "", "A value of the scenario's matrix.", matrix_value(key))
            for key in e.runs.keys
            if key not in e.stack_keys
        ),
        *(Column(name.capitalize(), "", f"The flows' {name}.", get(name)) for name in e.by[2:]),
    ]


def summary(e: Evaluation) -> ReportTable:
    """The results and costs of each stack of each variant."""
    rows = e.summary
    shown = chart.rate("goodput_bps", "Goodput", largest(rows["goodput_bps"]))
    single = chart.rate("flow_goodput_bps", "per flow", largest(rows["flow_goodput_bps"]))
    columns = group_columns(e)
    columns += [
        Column("Runs", "", "Number of complete runs, one a seed.", get("runs"), count),
        Column("Flows", "", "Flows in a run.", get("flows"), count),
    ]
    goodput = [
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
    if largest(rows["flows"]) > 1:
        goodput += [
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
    columns += goodput if rows["goodput_bps"].count() or e.times.is_empty() else []
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
    if limits := limiting.limits_by(e.runs.flows, e.by):
        columns += [
            Column(
                "Limited by",
                "",
                "What most often kept the senders from sending more, with its share of their time; mean over flows and seeds.",
                lambda row: limits.get(tuple(row[name] for name in e.by)),
            )
        ]
    if statistics.waits_long(e.runs.flows):
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
    return first_rows(columns, rows)


def completions(e: Evaluation) -> ReportTable | None:
    """Completion times and slowdown by class of sizes, if there are flows with a size that started after the warm-up."""
    times = e.times
    if not times["flows"].sum():
        return None
    shown = chart.seconds("fct_p99_s", "", largest(times["fct_p99_at_least_s"]))
    names = dict(zip(statistics.FIGURES, ("mean", "median", "95th percentile", "99th percentile"), strict=True))
    columns = [
        *group_columns(e),
        Column(
            "Size",
            "",
            "Class of the flows' sizes, with its lower bound.",
            lambda row: size_class(row["size_from_bytes"], row["size_below_bytes"]),
        ),
        Column("Flows", "", "Flows of all seeds that started after the warm-up.", get("flows"), count),
        Column(
            "Finished",
            "",
            "How many of them finished before the run ended.",
            lambda row: row["flows"] - row["unfinished"],
            count,
        ),
        *(
            Column(
                f"Completion, {name}",
                shown.unit,
                f"Time from the start of a flow to the arrival of its last byte: {name} over the flows. {AT_LEAST}",
                _bounded(f"fct_{what}", "_s", shown.factor),
                _text_of_bounded,
            )
            for what, name in names.items()
        ),
        *(
            Column(
                f"Slowdown, {name}",
                "",
                f"Completion time over that in an idle network with the same paths: {name} over the flows. {AT_LEAST}",
                _bounded(f"slowdown_{what}", "", 1.0),
                _text_of_bounded,
            )
            for what, name in names.items()
        ),
    ]
    return first_rows(columns, statistics.worth_showing(times, e.by))


AT_LEAST = "≥: at least so much, because some flows had not finished; the figure is not known."


class _AtLeast(float):
    """A lower bound of a figure that is not known."""


def _bounded(name: str, unit: str, factor: float) -> Callable[[Mapping[str, Any]], float | None]:
    def value(row: Mapping[str, Any]) -> float | None:
        exact, least = row[f"{name}{unit}"], row[f"{name}_at_least{unit}"]
        if least is None:
            return None
        return _AtLeast(least * factor) if exact is None else exact * factor

    return value


def _text_of_bounded(value: float) -> str:
    return f"≥\u00a0{three_digits(value)}" if isinstance(value, _AtLeast) else three_digits(value)


def states(e: Evaluation) -> ReportTable | None:
    """The shares of time in the states of congestion controls, if any has reported them."""
    if e.runs.states.is_empty():
        return None
    names = e.runs.states["state"].unique(maintain_order=True).to_list()
    means = e.runs.states.pivot("state", index=["variant", "stack"], values="share", aggregate_function="mean")
    labels = {variant.index: variant.label for variant in e.runs.variants}
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
    return first_rows(columns, means)


def _tenths(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
