"""Runs the reordering shoot-out, draws its picture and fills the tables of docs/models/reordering.md.

``python docs/images/reordering.py`` runs everything. With a directory it keeps its runs there and reuses them.
"""

import csv
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import altair
import polars as pl

from anabranch import Scenario
from anabranch.results.result import Result
from anabranch.results.statistics import half_width

HERE = Path(__file__).parent
PAGE = HERE.parent / "models" / "reordering.md"
SCENARIO = HERE.parents[1] / "scenarios" / "reordering.toml"
GRID = {
    "topology.generate.paths": "[2, 4]",
    "topology.generate.difference": '["0ms", "2.5ms", "5ms", "7.5ms", "10ms"]',
    "impairments[0].loss": "[0.0, 1e-3]",
}
SHORTEST_S = 0.01
"""The shortest path's delay."""
RUNS = {"bulk": {}, "transfer": {"traffic[0].size": '"1 MB"', "run.warm_up": '"0s"'}}
DETECTORS = {
    "dup-ack": "dup-ack",
    "dup-ack-eifel": "dup-ack, Eifel",
    "path-count": "path-count",
    "tcp-ba": "tcp-ba, DSACK",
    "rr-tcp": "rr-tcp, DSACK",
    "tcp-ncr": "tcp-ncr",
    "tcp-pr": "tcp-pr",
    "rack-tlp": "rack-tlp",
    "rack-tlp-dsack": "rack-tlp, DSACK",
    "fast-rto": "fast-rto",
}
CONGESTION = {"newreno": "NewReno", "cubic": "CUBIC"}
SELECT = {"in-turn": "in turn", "random": "at random"}
PATH_PAYLOAD_BPS = 10e6 * 1460 / 1500
TRANSFER_BITS = 8e6
DRAWN = (0, 50, 100)
"""The differences in the picture, in percent."""
GROUP = ["congestion", "detector", "paths", "routing", "difference", "loss"]

FORMS = {"goodput": ".1f", "spurious": ".2f", "slowdown": ".2f"}


def measured(kind: str, directory: Path) -> pl.DataFrame:
    """A row for each run: where it stands in the grid, its share of the bound, its spurious share, its slowdown."""
    if (directory / kind / "manifest.json").exists():
        result = Result.load(directory / kind)
    else:
        result = Scenario.load(SCENARIO, GRID | RUNS[kind]).run(directory=directory / kind)
    bound = pl.col("paths") * PATH_PAYLOAD_BPS
    return result.flows.select(
        pl.col("stack").str.extract(r"^(newreno|cubic)").alias("congestion"),
        pl.col("stack").str.replace(r"^(newreno|cubic)-", "").alias("detector"),
        "paths",
        "routing",
        (pl.col("difference") / SHORTEST_S * 100).round().cast(pl.Int64),
        "loss",
        goodput=pl.col("goodput_bps") / bound * 100,
        spurious=pl.col("spurious_retransmits") / pl.col("segments_sent") * 100,
        slowdown=pl.col("fct_s") / (TRANSFER_BITS / bound),
    )


def means(rows: pl.DataFrame, measure: str) -> pl.DataFrame:
    """The mean over the seeds of each place in the grid, and half its 95 % confidence interval."""
    table = rows.group_by(GROUP, maintain_order=True).agg(pl.col(measure))
    return table.with_columns(
        pl.col(measure).list.mean().alias("mean"),
        pl.col(measure).map_elements(lambda values: half_width(list(values)), pl.Float64).alias("half"),
    ).drop(measure)


def panel(table: pl.DataFrame, title: str, scale: altair.Scale, form: str, headers: bool) -> Any:
    """Detector against difference, side by side for each congestion control, number of paths and selector."""
    columns = [f"{c}|{p}|{s}" for c in CONGESTION for p in (2, 4) for s in SELECT]
    names = [f"{CONGESTION[c]}, {p} {SELECT[s]}" for c in CONGESTION for p in (2, 4) for s in SELECT]
    shown = table.with_columns(
        pl.concat_str("congestion", pl.col("paths").cast(pl.String), "routing", separator="|")
        .replace_strict(dict(zip(columns, names, strict=True)))
        .alias("column"),
        pl.col("detector").replace_strict(DETECTORS),
    ).select("column", "detector", "difference", "mean")
    dark = f"datum.mean > {sum(scale.domain) / 2}"
    base = altair.Chart().encode(
        x=altair.X("difference:O", title=None, axis=altair.Axis(labelAngle=0, domain=False, ticks=False)),
        y=altair.Y(
            "detector:N", title=None, sort=list(DETECTORS.values()), axis=altair.Axis(domain=False, ticks=False)
        ),
    )
    cells = base.mark_rect(stroke="white").encode(color=altair.Color("mean:Q", scale=scale, legend=None))
    words = (
        base.transform_filter(f"format(datum.mean, '{form}') != format(0, '{form}')")
        .mark_text(fontSize=8)
        .encode(
            text=altair.Text("mean:Q", format=form),
            color=altair.condition(dark, altair.value("white"), altair.value("#222")),
        )
    )
    header = altair.Header(title=None, labels=headers, labelFontSize=9, labelFontWeight="bold")
    return (
        altair.layer(cells, words, data=altair.InlineData(values=shown.to_dicts()))
        .properties(width=110, height=130)
        .facet(column=altair.Column("column:N", sort=names, header=header), spacing=6)
        .properties(title=altair.Title(title, fontSize=11, anchor="start"))
    )


def picture(tables: dict[str, pl.DataFrame]) -> Any:
    """Goodput, spurious retransmissions and completion time, without and with loss."""
    blue = altair.Scale(domain=[0, 100], range=["#ffffff", "#08519c"], clamp=True, interpolate="rgb")
    red = altair.Scale(domain=[0, 10], range=["#ffffff", "#a50f15"], clamp=True, interpolate="rgb")
    brown = altair.Scale(domain=[1, 5], range=["#ffffff", "#7f2704"], clamp=True, interpolate="rgb")
    rows: list[Any] = []
    for measure, title, scale, form in (
        ("goodput", "Goodput, % of what all paths carry", blue, ".0f"),
        ("spurious", "Spurious retransmissions, % of the segments sent", red, ".1f"),
        ("slowdown", "Completion time of 1 MB, as multiple of its time at the rate of all paths", brown, ".1f"),
    ):
        for loss in (0.0, 1e-3):
            where = "no loss" if loss == 0 else "one packet in a thousand lost"
            table = tables[measure].filter(pl.col("loss") == loss, pl.col("difference").is_in(DRAWN))
            rows.append(panel(table, f"{title}: {where}", scale, form, headers=not rows))
    heading = altair.Title(
        "Loss detectors under packet spraying",
        subtitle="Above: window, number of paths and their choice. Across: by how many percent the longest path is longer than the shortest, 10 ms. Means over five seeds; an empty cell is 0.",
        anchor="start",
    )
    return (
        altair.vconcat(*rows, spacing=8)
        .resolve_scale(color="independent")
        .properties(title=heading)
        .configure(background="white", aria=False)
        .configure_view(stroke=None)
    )


def grid(table: pl.DataFrame, form: str) -> list[list[str]]:
    """Below a head, a row for each detector and congestion control, a column for each number of paths, selector and loss."""
    places = [(p, s, loss) for loss in (0.0, 1e-3) for p in (2, 4) for s in SELECT]
    rows = [["window", "detector", *(f"{p} {SELECT[s]}{', loss' if loss else ''}" for p, s, loss in places)]]
    found = {(*row[:4], row[5]): row[6:] for row in table.select(*GROUP, "mean", "half").iter_rows()}
    for congestion in CONGESTION:
        for detector, name in DETECTORS.items():
            cells = []
            for paths, select, loss in places:
                mean, half = found[congestion, detector, paths, select, loss]
                cells.append(f"{mean:{form}}" + (f" ± {half:{form}}" if half >= 10 ** -int(form[1]) / 2 else ""))
            rows.append([CONGESTION[congestion], name, *cells])
    return rows


def markdown(rows: list[list[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def fill(page: str, name: str, text: str) -> str:
    """The page with the text between the marks of that name."""
    begin, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    filled, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}\n\n{text}\n\n{end}", page, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{PAGE} needs one pair of marks {begin} ... {end}")
    return filled


def main(directory: Path) -> None:
    """Run what is not there, write the picture beside this file, and the tables into the page."""
    bulk, transfer = measured("bulk", directory), measured("transfer", directory)
    tables = {
        "goodput": means(bulk, "goodput"),
        "spurious": means(bulk, "spurious"),
        "slowdown": means(transfer, "slowdown"),
    }
    picture(tables).save(HERE / "reordering.svg")
    page = PAGE.read_text(encoding="utf-8")
    rows = {
        measure: grid(table.filter(pl.col("difference") == 100), FORMS[measure]) for measure, table in tables.items()
    }
    PAGE.write_text(fill(page, "goodput", markdown(rows["goodput"])), encoding="utf-8")
    for measure in ("slowdown", "spurious"):
        with PAGE.with_name(f"reordering-{measure}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows[measure])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
