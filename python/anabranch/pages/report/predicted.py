"""Predicted goodput with its intervals, flow by flow."""

from __future__ import annotations

from anabranch.pages.report import chart
from anabranch.pages.report.chart import three_digits
from anabranch.pages.report.parts import Column, ReportTable, first_rows, get, largest
from anabranch.results.run_directory import Runs


def table(runs: Runs) -> ReportTable | None:
    """The flows that an engine has predicted, if any: goodput, interval, and what limits the flow."""
    if "low_bps" not in runs.flows.columns:
        return None
    flows = runs.flows.drop_nulls("low_bps").unique(["variant", "flow"], keep="first", maintain_order=True)
    labels = {variant.index: variant.label for variant in runs.variants}
    rate = chart.rate("goodput_bps", "Goodput", largest(flows["high_bps"]))

    def bits(title: str, meaning: str, column: str) -> Column:
        return Column(title, rate.unit, meaning, get(column, rate.factor), three_digits)

    columns = [
        Column("Variant", "", "Matrix values.", lambda row: labels[row["variant"]]),
        Column("Flow", "", "From and to.", lambda row: f"{row['flow']}: {row['src']} → {row['dst']}"),
        Column("Stack", "", "Transport stack.", get("stack")),
        bits("Goodput", "Predicted payload per second.", "goodput_bps"),
        bits("Low", "Of single runs of the packet engine, 5 % were below, for flows of this kind.", "low_bps"),
        bits("High", "Of single runs of the packet engine, 5 % were above.", "high_bps"),
        Column("Limited by", "", "What limits the flow.", get("limited_by")),
    ]
    return first_rows(columns, flows, of="flows; flows.parquet has all")
