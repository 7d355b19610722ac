"""An answer as a page: its table, and what the candidates cost, with the Pareto front of each price."""

from typing import Any

import markupsafe
import polars as pl

from anabranch.pages import plain
from anabranch.pages.report import chart, figure_files
from anabranch.pages.report.chart.measure import Measure, rate, seconds
from anabranch.pages.report.parts import Figure, longest
from anabranch.results.comparison import is_on_front
from anabranch.studies.advise import telling
from anabranch.studies.advise.answer import Advice

_WIDTH_MM = 240
_PRICES = (
    Measure("spurious", "spurious retransmissions", "% of segments", 100),
    Measure("reassembly_bytes", "bytes held for reassembly", "MB", 1e-6),
    Measure("stall_s", "longest stall", "s"),
)


def html(advice: Advice) -> str:
    """The page. It loads nothing from anywhere.

    Raises:
        anabranch.foundation.extras.MissingExtraError: vl-convert is not installed.
    """
    return plain.page(
        f"Advice for {advice.question.name}",
        "anabranch.studies.advise",
        "advice.html.j2",
        network=advice.question.name,
        recommendation=telling.recommendation(advice),
        others=" ".join(telling.others(advice.lines[0])),
        table=telling.table(advice),
        figures=[figure for price in _PRICES if (figure := _figure(advice, price)) is not None],
    )


def _figure(advice: Advice, price: Measure) -> dict[str, Any] | None:
    """Value against a price of all candidates that ran; ``None`` if nothing costs anything."""
    is_time = advice.question.objective == "completion"
    values = [1 / one.value if is_time else one.value for one in advice.standings]
    costs = [one.price(price.column) * price.factor for one in advice.standings]
    if not any(costs):
        return None
    value = seconds("y", "completion", max(values)) if is_time else rate("y", "goodput", max(values))
    front = is_on_front(costs, [-each if is_time else each for each in values])
    points = pl.DataFrame(
        {
            "panel": "all",
            "treatment": one.candidate.name,
            "stack": one.candidate.stack,
            "choice": _forwarding(one.candidate.routing.paths, one.candidate.routing.per),
            "on_front": on_front,
        }
        | dict.fromkeys(("x", "x_low", "x_high"), cost)
        | dict.fromkeys(("y", "y_low", "y_high"), each * value.factor)
        for one, cost, each, on_front in zip(advice.standings, costs, values, front, strict=True)
    )
    stacks = points["stack"].unique(maintain_order=True).to_list()
    drawing = chart.pareto(points, price, value, panels=["all"], stacks=stacks)
    title = f"{value.title.capitalize()} against {price.title}"
    better = "down" if is_time else "up"
    caption = (
        f"A point for each combination that ran, mean over its seeds. Better is left and {better}. Line and filled points: the Pareto front, "
        "the combinations that no other beats in both."
    )
    layout = {"kind": "panels", "columns": 1, "least": 260, "aspect": 0.5, "tallest": 360, "own_y": True}
    figure = Figure(price.column, title, caption, drawing, layout | {"legend": longest(stacks)})
    svg = markupsafe.Markup(figure_files.svg(figure, _WIDTH_MM))
    return {"name": figure.name, "title": title, "caption": caption, "svg": svg}


def _forwarding(paths: int, per: str) -> str:
    return "one path" if paths == 1 else f"several paths, for each {per}"
