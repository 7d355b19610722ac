"""Routes that follow measurements: the path of each pair over time, and the estimates of the links."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from anabranch.pages.report import chart, series
from anabranch.pages.report.chart import Measure, three_digits
from anabranch.pages.report.parts import Column, Figure, ReportTable, cells, get, largest
from anabranch.results.run_directory import LoadedVariant, Runs

# More rows than this in a timeline, or lines in a panel, are no longer read; the page says so where it leaves some out.
MOST_PAIRS = 24
MOST_CHANGES = 500
MOST_LINKS = 4
MOST_PANELS = 12


def timeline(runs: Runs) -> Figure | None:
    """The path that packets of each pair took over time, in the first run of every variant."""
    if runs.routes.is_empty():
        return None
    spans = _spans(runs)
    pairs = spans.group_by("row", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    rows = pairs["row"].head(MOST_PAIRS).to_list()
    shown = spans.filter(pl.col("row").is_in(rows))
    drawing = chart.route_timeline(shown, rows)
    caption = "The nodes that packets visit, from one computation of the routes to the next."
    if runs.routes.select("source", "run").n_unique() > runs.routes["variant"].n_unique():
        caption += " Of each variant the first seed."
    if pairs.height > MOST_PAIRS:
        caption += f" The {MOST_PAIRS} of {pairs.height} pairs whose routes changed most often."
    layout = {"kind": "single", "height": 26 * len(rows) + 40, "legend": 3}
    return Figure("routes", "Which path when", caption, drawing, layout)


def _spans(runs: Runs) -> pl.DataFrame:
    """A row for each path of a pair in the first run of a variant: ``row``, ``path``, ``number``, ``start``, ``end``."""
    first = runs.routes.group_by("variant").agg(pl.col("run").min())  # a variant is of one source
    routes = runs.routes.join(first, on=["variant", "run"], how="semi")
    pair = ["variant", "routing", "src", "dst"]
    labels = {variant.index: variant.label for variant in runs.variants}
    name = pl.format("{} → {}", "src", "dst")
    if routes["variant"].n_unique() > 1:
        name = pl.format("{} · {}", name, pl.col("variant").replace_strict(labels, return_dtype=pl.String))
    if routes["routing"].n_unique() > 1:
        name = pl.format("{} · {}", name, "routing")
    return routes.select(
        row=name,
        path=_shown_path(),
        # the same path has the same number, and so the same colour, whenever the pair comes back to it
        number=pl.col("path").rank("dense").over(pair) - 1,
        start="time_s",
        end=pl.col("time_s").shift(-1).over(pair).fill_null(pl.col("simulated_s")),
    ).filter(pl.col("start") < pl.col("end"))


def _shown_path() -> pl.Expr:
    """The path, and what is wrong with it if it does not lead there."""
    nodes = pl.col("path").str.split(" > ")
    wrong = (
        pl.when(nodes.list.len() > nodes.list.n_unique())
        .then(pl.lit(" (in a circle)"))
        .otherwise(pl.lit(" (no route)"))
    )
    return pl.when(nodes.list.last() == pl.col("dst")).then("path").otherwise(pl.concat_str("path", wrong))


def changes(runs: Runs) -> ReportTable | None:
    """The first route of each pair, and every change, with the estimates at that time."""
    if runs.routes.is_empty():
        return None
    labels = {variant.index: variant.label for variant in runs.variants}
    seeds = runs.routes["seed"].n_unique() > 1
    columns = [
        Column("LoadedVariant", "", "Matrix values.", lambda row: labels[row["variant"]]),
        *([Column("Seed", "", "Of the run.", get("seed"), lambda value: str(value))] if seeds else []),
        Column("From", "s", "When packets began to take the path.", get("time_s"), lambda value: f"{value:g}"),
        Column("Pair", "", "Where packets come from, and where they go.", lambda row: f"{row['src']} → {row['dst']}"),
        Column("Path", "", "The nodes that they visit.", get("shown")),
        Column("Before", "", "The path before.", get("before")),
        Column("Delay", "ms", "The sum of the links' estimates then, one way.", get("delay_s", 1e3), three_digits),
        Column(
            "Loss",
            "%",
            "The loss ratio that follows from the links' estimates, one way.",
            get("loss", 100),
            three_digits,
        ),
        Column(
            "Cost",
            "",
            "In the routing's metric: of delay in seconds, of loss as a ratio, of tcpbp delay times the root of loss, seconds.",
            get("cost"),
            three_digits,
        ),
    ]
    routes = runs.routes.with_columns(shown=_shown_path()).with_columns(
        before=pl.col("shown").shift(1).over(["source", "run", "routing", "src", "dst"])
    )
    rows = routes.head(MOST_CHANGES).to_dicts()
    note = f"The first {MOST_CHANGES} of {routes.height} rows." if routes.height > MOST_CHANGES else ""
    return ReportTable(columns, [cells(columns, row) for row in rows], [labels[row["variant"]] for row in rows], note)


def estimates(runs: Runs) -> list[Figure]:
    """Loss and delay of the links whose estimates varied most, over time, with what is configured."""
    if runs.link_state is None:
        return []
    names = _links_that_varied(runs)
    variants = runs.variants[:MOST_PANELS]
    samples = runs.link_state.filter(pl.col("variant") < MOST_PANELS)
    labels = {variant.index: variant.label for variant in variants}
    routings = samples.select("routing").unique().collect()["routing"].sort().to_list()
    figures = []
    for column, title, unit, factor in (("loss", "Loss", "%", 100.0), ("delay_s", "Delay", "ms", 1e3)):
        lines = pl.concat(
            series.link_series(samples.filter(pl.col("routing") == routing), names, column).with_columns(
                panel=pl.col("variant").replace_strict(labels, return_dtype=pl.String)
                + (f" · {routing}" if len(routings) > 1 else "")
            )
            for routing in routings
        )
        if lines.is_empty():
            continue
        panels = lines["panel"].unique(maintain_order=True).to_list()
        columns = min(len(panels), 3)
        drawing = chart.link_estimates(
            lines, names, Measure(column, title, unit, factor), panel="panel", panels=panels, columns=columns
        )
        caption = {
            "loss": "Estimate after each sample; dotted: the loss that the scenario gives the wire at the start{}.",
            "delay_s": "Estimate after each sample: queueing, transmission and propagation; dotted: propagation alone{}.",
        }[column].format(", under the first condition" if names[column].null_count() else "")
        caption += " The links whose estimates varied most, of those on a route that changed."
        layout = {
            "kind": "panels",
            "columns": columns,
            "least": 260,
            "aspect": 0.34,
            "tallest": 240,
            "legend": max(len(name) for name in names["series"]),
        }
        figures.append(
            Figure(
                f"estimates-{title.lower()}",
                f"Estimated {title.lower()}, {unit}",
                caption,
                drawing,
                layout,
            )
        )
    return figures


def _links_that_varied(runs: Runs) -> pl.DataFrame:
    """``variant``, ``link``, ``series`` (name), and what is configured: ``loss``, ``delay_s``; at most :data:`MOST_LINKS`.

    A manifest has what the first variant configures. It is that of others only if they differ from it in treatments alone.
    """
    assert runs.link_state is not None
    ranges = (
        runs.link_state.group_by("variant", "link")
        .agg(pl.col("loss").max() - pl.col("loss").min(), pl.col("delay_s").max() - pl.col("delay_s").min())
        .collect()
    )
    known = pl.concat(
        pl.DataFrame(
            [
                (index, link["src"], link["dst"], link.get("loss"), link["delay_s"])
                for link in source.manifest["topology"]["links"]
            ],
            schema={
                "source": pl.UInt32,
                "src": pl.String,
                "dst": pl.String,
                "configured_loss": pl.Float64,
                "configured_delay_s": pl.Float64,
            },
            orient="row",
        )
        for index, source in enumerate(runs.sources)
    )
    first = {variant.source: variant for variant in reversed(runs.variants)}
    alike = [one.index for one in runs.variants if _given(one, runs) == _given(first[one.source], runs)]
    changed = pl.col("path").n_unique().over(["source", "run", "routing", "src", "dst"]) > 1
    used = pl.DataFrame(
        sorted({hop for path in runs.routes.filter(changed)["path"].unique() for hop in pairwise(path.split(" > "))}),
        schema={"src": pl.String, "dst": pl.String},
        orient="row",
    ).with_columns(on_route=pl.lit(value=True))
    ranked = (
        runs.links.select("source", "variant", "link", "src", "dst")
        .unique(maintain_order=True)
        .join(ranges.with_columns(pl.col("link").cast(runs.links.schema["link"])), on=["variant", "link"])
        .join(known, on=["source", "src", "dst"], how="left", maintain_order="left")
        .join(used, on=["src", "dst"], how="left")
        .with_columns(
            pl.col("on_route").fill_null(value=False),
            pl.when(pl.col("variant").is_in(alike)).then(pl.col("configured_loss", "configured_delay_s")),
            spread=(pl.col("loss") / largest(ranges["loss"])).fill_nan(0).fill_null(0)
            + (pl.col("delay_s") / largest(ranges["delay_s"])).fill_nan(0).fill_null(0),
            series=pl.format("{} → {}", "src", "dst"),
        )
    )
    ranked = ranked.sort(["on_route", "spread"], descending=True, maintain_order=True)
    chosen = ranked["series"].unique(maintain_order=True).head(MOST_LINKS).to_list()
    return ranked.filter(pl.col("series").is_in(chosen)).select(
        "variant", "link", "series", loss="configured_loss", delay_s="configured_delay_s"
    )


def _given(variant: LoadedVariant, runs: Runs) -> list[str]:
    """The values of the conditions of a variant."""
    return [value for key, value in variant.values.items() if key not in runs.treatments]
