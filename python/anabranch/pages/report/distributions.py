"""How completion times, slowdown and goodput of single flows are distributed, with confidence bands."""

from __future__ import annotations

from typing import Any

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.chart import Measure
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import MOST_PANELS, Figure, largest, longest
from anabranch.results import statistics

# From this number of flows in a run on, the distribution of goodput says more than its mean.
MANY_FLOWS = 9
LEAST_COMPLETED = 5
_BAND = (
    " Band: 95 % confidence for the whole curve (Dvoretzky, Kiefer and Wolfowitz), as if flows were independent; flows of a "
    "run are not quite."
)


def figures(e: Evaluation) -> list[Figure]:
    """Distributions over single flows; nothing of a few flows."""
    flows, panels, omitted = in_panels(e, e.runs.flows)
    layout = panel_layout(e, len(panels))
    shared: dict[str, Any] = {"panels": panels, "stacks": e.stacks, "columns": layout["columns"]}
    shared["directories"] = [source.name for source in e.runs.sources] if len(e.runs.sources) > 1 else []

    def figure(name: str, measure: Measure, of: pl.DataFrame, caption: str) -> Figure:
        drawing = chart.distributions(of, measure, panel="panel", **shared)
        return Figure(name, f"{measure.title}, distribution", caption + _BAND + omitted, drawing, layout)

    found = []
    sized = flows.filter(
        pl.col("size_bytes").is_not_null(), pl.col("start_s").is_between("warm_up_s", "simulated_s", closed="left")
    )
    if sized["fct_s"].count() >= LEAST_COMPLETED:
        measure = Measure("fct_s", "Flow completion time", "s")
        found.append(figure("completion", measure, sized, _finished(sized)))
    slow = sized.drop_nulls("idle_fct_s").with_columns(slowdown=pl.col("fct_s") / pl.col("idle_fct_s"))
    if slow["slowdown"].count() >= LEAST_COMPLETED:
        caption = "Completion time over that in an idle network with the same paths. " + _finished(slow)
        found.append(figure("slowdown", Measure("slowdown", "Slowdown of a flow", ""), slow, caption))
    lasting = flows.with_columns(goodput_bps=statistics.lasting_goodput(["variant", "stack"])).drop_nulls("goodput_bps")
    if largest(lasting.group_by(["source", "run"]).len()["len"]) >= MANY_FLOWS:
        measure = chart.rate("goodput_bps", "Goodput of a flow", largest(lasting["goodput_bps"]))
        caption = f"All {lasting.height:,} flows of all seeds that send to the end of the run."
        found.append(figure("goodput-of-flows", measure, lasting, caption))
    return found


def _finished(flows: pl.DataFrame) -> str:
    """How many flows finished, and what a curve means if not all did."""
    completed = flows["fct_s"].count()
    text = f"{completed:,} of {flows.height:,} flows of all seeds finished; a curve ends at the share that did."
    if completed < flows.height:
        text += (
            " Unfinished flows count as slower than all others: a curve is a lower bound of the share, not an estimate."
        )
    return text


def in_panels(e: Evaluation, rows: pl.DataFrame, *, overlaid: bool = True) -> tuple[pl.DataFrame, list[str], str]:
    """Rows with ``panel`` and ``directory``; the panels; a caption about omitted panels.

    A panel has a name of the matrix values without the stack, and of the groups of flows that are compared with themselves. Run directories are
    overlaid, or have panels of their own.
    """
    several = len(e.runs.sources) > 1
    names = []
    groups = rows.select("variant", *e.by[2:]).unique(maintain_order=True)
    for number, *group in groups.rows():
        variant = e.runs.variants[number]
        directory = e.runs.sources[variant.source].name
        parts = [*([] if overlaid or not several else [directory]), variant.rest(e.stack_keys), *group]
        names.append((" · ".join(filter(None, parts)) or "all traffic", directory))
    named = rows.join(
        groups.with_columns(pl.DataFrame(names, schema=["panel", "directory"], orient="row")),
        on=groups.columns,
        maintain_order="left",
    )
    distinct = list(dict.fromkeys(name for name, _ in names))
    panels = distinct[:MOST_PANELS]
    omitted = f" The first {MOST_PANELS} of {len(distinct)} panels." if len(distinct) > MOST_PANELS else ""
    return named.filter(pl.col("panel").is_in(panels)), panels, omitted


def panel_layout(e: Evaluation, panels: int) -> dict[str, Any]:
    """How the page fits such panels to its width."""
    size = {"kind": "panels", "columns": min(3, panels), "least": 210, "aspect": 0.6, "tallest": 240}
    return size | {"legend": longest(e.stacks)}
