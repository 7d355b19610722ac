"""Figures 12 to 15, other optima, and plans on the same axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import altair as alt
import polars as pl

from anabranch.network import topologies
from anabranch.pages.report.chart import PALETTE
from anabranch.studies.papers import charts, drawings
from anabranch.studies.papers.drawings import Place
from anabranch.studies.papers.fixed_robust_routing.choices import HEURISTICS, LOAD_TOPOLOGIES, TITLES, X
from anabranch.studies.papers.fixed_robust_routing.network import NSFNET, Found
from anabranch.studies.papers.published import Published
from anabranch.studies.papers.study import Figure


def _both(found: Found, published: Mapping[str, Published], heuristic: str, what: str) -> Any:
    parts = []
    for topology in LOAD_TOPOLOGIES:
        if what == "load" or found.measured(f"{heuristic}-{X[-1]}", topology):
            parts.append((topology, _figure(found, published, heuristic, what, topology)))
    return charts.side_by_side(parts)


def _figure(found: Found, published: Mapping[str, Published], heuristic: str, what: str, topology: str) -> Any:
    title = TITLES[heuristic]
    rows, given, bands = [], [], []
    for percent in X:
        name = f"{heuristic}-{percent}"
        for series, one in ((title, name), ("ALL", "all")):
            mean, half = (found.load(one, topology), None) if what == "load" else found.rate(one, topology)
            rows.append({"x": percent, "series": series, "mean": mean, "half_width": half})
            given.append({"x": percent, "series": series, "mean": published[f"{what}-{one}"].value})
        bands.append({"x": percent, **_band(found, topology, name, what)})
    chart = charts.lines(
        pl.DataFrame(rows, schema_overrides={"half_width": pl.Float64}),
        x="x",
        colour="series",
        x_title="pairs on a single path, X (%)",
        y_title="worst-case maximum link load" if what == "load" else "mean TCP throughput (Mbit/s)",
        order=[title, "ALL"],
        published=pl.DataFrame(given),
    )
    kept = [band for band in bands if "low" in band]
    if not kept:
        return chart
    area = alt.Chart(alt.InlineData(values=kept)).mark_area(opacity=0.13, color=PALETTE[0])
    return alt.layer(area.encode(alt.X("x:Q"), alt.Y("low:Q"), alt.Y2("high:Q")), chart).properties(
        width=charts.WIDTH, height=charts.HEIGHT
    )


def _band(found: Found, topology: str, name: str, what: str) -> dict[str, float]:
    """The range over ties."""
    if what == "load":
        low, high = found.load_range(name, topology)
        return {"low": low, "high": high}
    rates = [found.rate(one, topology)[0] for one in (name, *found.with_other_ties(name, topology))]
    return {"low": min(rates), "high": max(rates)} if len(rates) > 1 else {}


def _optima(found: Found, published: Mapping[str, Published], heuristic: str) -> Any:
    titles = {"": "anabranch robust", "-interior": "interior point", "-vertex": "simplex", "-fewest": "fewest splits"}
    rows = []
    for ending, title in titles.items():
        for percent in X:
            name = f"{heuristic}-{percent}{ending}"
            if found.measured(name):
                mean, half = found.rate(name)
                rows.append({"x": percent, "series": title, "mean": mean, "half_width": half})
    given = [
        {"x": percent, "series": titles[""], "mean": published[f"throughput-{heuristic}-{percent}"].value}
        for percent in X
    ]
    return charts.lines(
        pl.DataFrame(rows, schema_overrides={"half_width": pl.Float64}),
        x="x",
        colour="series",
        x_title="pairs on a single path, X (%)",
        y_title="mean TCP throughput (Mbit/s)",
        colour_title="solver",
        order=list(titles.values()),
        published=pl.DataFrame(given),
    )


def _against_load(found: Found, published: Mapping[str, Published], what: str) -> Any:
    series = {"plan": found.plans, "ALL": ["all"]} | {
        TITLES[heuristic]: [f"{heuristic}-{percent}" for percent in X] for heuristic in HEURISTICS
    }
    rows, given = [], []
    for title, names in series.items():
        for name in names:
            mean, half = (
                found.rate(name)
                if what == "throughput"
                else (100 * found.single(name) / found.choices[NSFNET][name]["pairs"], None)
            )
            rows.append({"x": found.load(name), "series": title, "mean": mean, "half_width": half})
            if title != "plan":
                shown = (
                    published[f"throughput-{name}"].value
                    if what == "throughput"
                    else 0
                    if name == "all"
                    else int(name.rpartition("-")[2])
                )
                given.append({"x": published[f"load-{name}"].value, "series": title, "mean": shown})
    return charts.lines(
        pl.DataFrame(rows, schema_overrides={"half_width": pl.Float64}),
        x="x",
        colour="series",
        x_title="worst-case maximum link load",
        y_title="mean TCP throughput (Mbit/s)" if what == "throughput" else "pairs on a single path (%)",
        order=list(series),
        published=pl.DataFrame(given),
    )


def _load(heuristic: str) -> Callable[..., Any]:
    return lambda found, published: _both(found, published, heuristic, "load")


def _throughput(heuristic: str) -> Callable[..., Any]:
    return lambda found, published: _both(found, published, heuristic, "throughput")


def _all_optima(found: Found, published: Mapping[str, Published]) -> Any:
    return charts.side_by_side([(TITLES[heuristic], _optima(found, published, heuristic)) for heuristic in HEURISTICS])


_THROUGHPUT = (
    "Mean TCP throughput of {} and ALL; crosses are the published values, the wide band is the range over "
    "other ties (one seed each), the narrow one the interval over seeds."
)
_LOAD = "Worst-case load of {} and ALL; crosses are the published values, the band is the range over ties."
_PLACES: Mapping[str, Place] = {
    "1": (0, 3), "2": (1, 2.2), "3": (1, 3.8), "4": (2.2, 2), "5": (3, 3), "6": (3.6, 4), "7": (4.2, 2.8), "8": (5, 2.2),
    "9": (6.2, 2.6), "10": (6, 3.8), "11": (5, 0.8), "12": (7.2, 1.8), "13": (6.6, 1), "14": (8, 1.4),
}  # fmt: skip


def _nsfnet(_: Found, __: Mapping[str, Published]) -> Any:
    links = [
        (link.source, link.target) for link in topologies.load(NSFNET).links if int(link.source) < int(link.target)
    ]
    return drawings.network(_PLACES, links, height=280)


FIGURES = (
    Figure(
        "figure-8",
        "Figure 8",
        "NSFNET: 14 nodes and 21 links, which the paper draws without their lengths; this is `nsfnet`.",
        _nsfnet,
    ),
    Figure("figure-12", "Figure 12", _LOAD.format(TITLES["hop"]), _load("hop")),
    Figure("figure-13", "Figure 13", _LOAD.format(TITLES["delay"]), _load("delay")),
    Figure("figure-14", "Figure 14", _THROUGHPUT.format(TITLES["hop"]), _throughput("hop")),
    Figure("figure-15", "Figure 15", _THROUGHPUT.format(TITLES["delay"]), _throughput("delay")),
    Figure(
        "optima",
        "Figures 14 and 15, other optima",
        "Throughput over other optima: splits of the same candidates with the same, least load. They come from an interior "
        "point, a simplex, a search for few splits, and `anabranch robust`. The paper's figures show one such choice. Crosses "
        "are the published values.",
        _all_optima,
    ),
    Figure(
        "plan-throughput",
        "Beyond: throughput within a load",
        "Measured mean TCP throughput against the worst-case load. A plan chooses the paths of single-path pairs; the heuristics fix them. "
        "Crosses are the paper's values on its own links.",
        lambda found, published: _against_load(found, published, "throughput"),
    ),
    Figure(
        "plan-single-pairs",
        "Beyond: pairs on single paths within a load",
        "Share of the 182 pairs on a single path. Crosses: X, the least share that the heuristic keeps on a single path.",
        lambda found, published: _against_load(found, published, "single"),
    ),
)
