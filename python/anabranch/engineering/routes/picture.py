"""Routes on the map."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from anabranch.engineering.routes.compare import OPTIMUM, MetricComparison
from anabranch.engineering.routes.model import Path, Routes
from anabranch.network.topologies import plot

# Okabe and Ito's colours, told apart by most who are colour-blind; the optimum's first.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")
_MORE, _FEWER, _SAME = "#d55e00", "#0072b2", "#b5c2cd"
_WIDEST = 9.0


def of_routes(routes: Routes) -> str:
    """An SVG: one pair's paths as lines; of several pairs, how many paths each link carries."""
    if len(routes.routes) == 1:
        route = routes.routes[0]
        return plot.svg(
            routes.topology,
            [
                plot.Course(
                    routes.metric if len(route.paths) == 1 else f"{path.weight:.3g}",
                    COLOURS[place % len(COLOURS)],
                    path.nodes,
                )
                for place, path in enumerate(route.paths)
            ],
        )
    carried = _carried(path for route in routes.routes for path in route.paths)
    most = max(carried.values(), default=1)
    strokes = {
        ends: plot.Stroke(1 + _WIDEST * count / most, _MORE, f"{count} paths") for ends, count in carried.items()
    }
    return plot.svg(
        routes.topology, (), strokes, [(_MORE, f"width: paths by {routes.metric} over the link, at most {most}")]
    )


def of_comparison(comparison: MetricComparison) -> str:
    """An SVG: of one pair the path by each metric; of several, how the optimum's paths spread over links against the first metric's."""
    if len(comparison.pairs) == 1:
        (pair,) = comparison.pairs
        by_path: dict[tuple[str, ...], list[str]] = {}
        for metric in sorted(pair.paths, key=lambda metric: metric != OPTIMUM):
            by_path.setdefault(pair.paths[metric].nodes, []).append(metric)
        courses = [
            plot.Course(", ".join(metrics), COLOURS[place % len(COLOURS)], nodes)
            for place, (nodes, metrics) in enumerate(by_path.items())
        ]
        return plot.svg(comparison.topology, courses)
    base = comparison.metrics[0]
    before, after = (
        _carried(pair.paths[metric] for pair in comparison.pairs if pair.paths) for metric in (base, OPTIMUM)
    )
    most = max([*after.values(), *before.values()], default=1)
    strokes = {}
    for ends in before.keys() | after.keys():
        change = after[ends] - before[ends]
        colour = _MORE if change > 0 else _FEWER if change < 0 else _SAME
        told = f"{after[ends]} paths by {OPTIMUM}, {before[ends]} by {base}"
        strokes[ends] = plot.Stroke(1 + _WIDEST * after[ends] / most, colour, told)
    legend = [
        (_MORE, f"more paths by {OPTIMUM} than by {base}; width: their number, at most {most}"),
        (_FEWER, "fewer"),
        (_SAME, "as many"),
    ]
    return plot.svg(comparison.topology, (), strokes, legend)


def _carried(paths: Iterable[Path]) -> Counter[frozenset[str]]:
    """How many paths go over each cable, either way."""
    return Counter(frozenset(hop) for path in paths for hop in pairwise(path.nodes))
