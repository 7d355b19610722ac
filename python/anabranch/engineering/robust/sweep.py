"""The sweep over the percentage of single-path pairs, as in the paper's figures 12 to 15."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anabranch.engineering.robust.candidates import By
from anabranch.engineering.robust.hybrid import with_single_paths
from anabranch.engineering.robust.problem import Problem, Report
from anabranch.engineering.robust.solving import GAP, Method, RobustRouting, best_found, silent
from anabranch.engineering.robust.ties import LoadRange, over_draws
from anabranch.foundation.extras import needed
from anabranch.foundation.output_files import write_text
from anabranch.foundation.printable import printable_document

PERCENTAGES = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
"""The percentages of the paper."""


@dataclass(frozen=True, eq=False)
class Step:
    """One percentage."""

    percent: float
    routing: RobustRouting
    over_ties: LoadRange | None = None


def sweep(
    problem: Problem,
    percentages: Iterable[float] = PERCENTAGES,
    method: Method = "auto",
    gap: float = GAP,
    report: Report = silent,
    ties: tuple[int, By, int] | None = None,
) -> list[Step]:
    """The robust routing for each percentage of pairs that keep to their shortest path.

    ``ties`` asks for the range over random tie-breaks: how many shortest paths by which metric the candidates are, and how
    many draws. Ctrl-C ends the sweep with the routing that it interrupted.
    """
    steps = []
    for percent in percentages:
        routing = best_found(with_single_paths(problem, percent), method, gap, report)
        over_ties = None
        if ties is not None and not routing.interrupted:
            count, by, draws = ties
            try:
                over_ties = over_draws(problem, count, by, percent, draws).with_load(routing.worst_case_load)
            except KeyboardInterrupt:
                routing = replace(routing, interrupted=True)
        steps.append(Step(percent, routing, over_ties))
        if routing.interrupted:
            break
    return steps


def records(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Records of the steps for JSON and tables."""
    return [
        {
            "single_percent": step.percent,
            "worst_case_load": step.routing.worst_case_load,
            "lower_bound": step.routing.lower_bound,
            "gap": step.routing.gap,
            "over_ties": None
            if step.over_ties is None
            else {
                "least_found": step.over_ties.least,
                "greatest_found": step.over_ties.greatest,
                "bound": step.over_ties.bound,
            },
        }
        for step in steps
    ]


def picture(steps: Sequence[Step], title: str, output: Path, reference: Mapping[str, float] | None = None) -> None:
    """Draw load against the percentage, as an SVG file.

    ``reference`` are loads to draw as level lines, such as that over all paths.
    """
    with needed("pictures of sweeps", "figures"):
        import altair as alt
        import vl_convert

    rows = records(steps)
    ranges = [{"single_percent": row["single_percent"], **row["over_ties"]} for row in rows if row["over_ties"]]
    percent = alt.X("single_percent:Q", title="pairs on a single path (%)", scale=alt.Scale(domain=[0, 100]))
    load = alt.Y("worst_case_load:Q", title="worst-case maximum link load", scale=alt.Scale(zero=True))
    layers: list[Any] = [alt.Chart(alt.InlineData(values=rows)).mark_line(point=True).encode(percent, load)]
    if ranges:
        area = alt.Chart(alt.InlineData(values=ranges)).mark_area(opacity=0.2)
        layers.insert(0, area.encode(percent, alt.Y("least_found:Q"), alt.Y2("greatest_found:Q")))
    for name, value in (reference or {}).items():
        level = alt.Chart(alt.InlineData(values=[{"name": name, "load": value}]))
        layers += [
            level.mark_rule(strokeDash=[4, 4]).encode(alt.Y("load:Q")),
            level.mark_text(align="left", dx=4, dy=-6, x=0).encode(alt.Y("load:Q"), text="name:N"),
        ]
    chart: Any = alt.layer(*layers).properties(width=360, height=240, title=title)
    write_text(output, vl_convert.vegalite_to_svg(printable_document(chart.to_dict())))
