"""The same scenario by two engines, flow by flow and link by link: ratios with intervals over the seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from anabranch.foundation import extras, output_files
from anabranch.foundation.printable import printable_document
from anabranch.foundation.text_table import TextTable, percent, quantity
from anabranch.pages.report.evaluation import NO_STACK
from anabranch.pages.report.vega_lite import Specification
from anabranch.results.csv import guarded
from anabranch.results.run_directory import Runs
from anabranch.results.statistics import ratio_of_means

LEAST_UTILISATION = 0.05
"""Links that both engines load less are left out: a few packets more are a large ratio there."""
MOST_ROWS = 20
"""Rows of a table in the terminal. Files have all."""
GOODPUT, COMPLETION, UTILISATION = "goodput_bps", "fct_s", "utilisation"
_TITLES = {GOODPUT: "goodput", COMPLETION: "completion time", UTILISATION: "utilisation"}
_UNITS = {GOODPUT: "bit/s", COMPLETION: "s", UTILISATION: ""}
_FLOW = ["variant", "traffic", "flow", "src", "dst", "stack"]
_LINK = ["variant", "link", "src", "dst"]


@dataclass(frozen=True)
class EngineComparison:
    """The results of an engine beside those of the first one.

    ``flows`` has a row for each variant and flow, ``links`` for each variant and directed link. Both name it, with the keys of the matrix. They have
    the ``measure``, its means over the seeds (``first``, ``second``), their ``ratio`` (second to first), and the number of ``seeds``. ``half_width`` is of the
    ratio's 95 % confidence interval (null with one seed). Beside a prediction, flows have its interval (``low``, ``high``). ``spread`` is the standard
    deviation of the packet engine's runs over their mean (null with one seed). Flows with a size share a row for each traffic group: the mean
    completion time of the flows that finish in both engines.
    """

    engines: tuple[str, str]
    keys: Sequence[str]
    flows: pl.DataFrame
    links: pl.DataFrame
    inside: tuple[int, int] | None
    """The number of single runs whose goodput is within the predicted interval, and the number of runs; ``None`` without a prediction."""

    @property
    def deviations(self) -> pl.Series:
        """How far each ratio is from 1."""
        ratios: pl.Series = pl.concat([self.flows["ratio"], self.links["ratio"]]).drop_nulls()
        return (ratios - 1).abs()

    @property
    def from_nothing(self) -> int:
        """The number of flows and links for which the first engine has nothing and the second something: they have no ratio."""
        tables = (self.flows, self.links)
        return sum(table.filter((pl.col("first") == 0) & (pl.col("second") > 0)).height for table in tables)

    @property
    def median(self) -> float | None:
        """The median deviation; ``None`` if there is nothing to compare."""
        return cast("float | None", self.deviations.median())

    @property
    def greatest(self) -> float | None:
        """The greatest deviation; ``None`` if there is nothing to compare."""
        return cast("float | None", self.deviations.max())


def compare(engines: tuple[str, str], first: Runs, second: Runs) -> EngineComparison:
    """Compare the runs of one scenario by two engines; ``engines`` are their names."""
    both = _join(_flows(first), _flows(second), [*_FLOW, "seed"])
    lasting = _ratios(both.filter(pl.col("size_bytes").is_null()), _FLOW, GOODPUT)
    finished = both.drop_nulls([f"{COMPLETION}_first", f"{COMPLETION}_second"])
    groups = finished.group_by("variant", "seed", "traffic", "stack", maintain_order=True).agg(
        pl.lit(None, pl.UInt32).alias("flow"),
        *(pl.lit(None, pl.String).alias(end) for end in ("src", "dst")),
        *(pl.col(f"{COMPLETION}_{which}").mean() for which in ("first", "second")),
    )
    flows = pl.concat([lasting, _ratios(groups, _FLOW, COMPLETION)])
    links = _join(_links(first), _links(second), [*_LINK, "seed"])
    loaded = pl.max_horizontal(f"{UTILISATION}_first", f"{UTILISATION}_second").mean().over(_LINK) >= LEAST_UTILISATION
    table = _ratios(links.filter(loaded), _LINK, UTILISATION)
    inside = _inside(first, second) or _inside(second, first)
    by_engine = dict(zip(engines, (first, second), strict=True))
    if "predict" in by_engine:
        flows = flows.join(
            _intervals(by_engine["predict"]), on=_FLOW, how="left", nulls_equal=True, maintain_order="left"
        )
        spread = _spread(by_engine["packet"]) if "packet" in by_engine else None
        flows = (
            flows.with_columns(spread=pl.lit(None, pl.Float64))
            if spread is None
            else flows.join(spread, on=_FLOW, how="left", nulls_equal=True, maintain_order="left")
        )
    return EngineComparison(engines, first.keys, _with_keys(flows, first), _with_keys(table, first), inside)


def _inside(predicted: Runs, other: Runs) -> tuple[int, int] | None:
    if "low_bps" not in predicted.flows.columns:
        return None
    on = [*_FLOW, "seed"]
    intervals = predicted.flows.select(*on, "low_bps", "high_bps")
    rows = intervals.join(other.flows.select(*on, GOODPUT), on=on, nulls_equal=True).drop_nulls(GOODPUT)
    held = rows.filter(pl.col(GOODPUT).is_between("low_bps", "high_bps"))
    return held.height, rows.height


def _intervals(predicted: Runs) -> pl.DataFrame:
    return predicted.flows.group_by(_FLOW).agg(low=pl.col("low_bps").mean(), high=pl.col("high_bps").mean())


def _spread(simulated: Runs) -> pl.DataFrame:
    """How far single runs of a flow differ: the standard deviation of its goodputs over their mean; null where that is zero."""
    goodput = pl.col(GOODPUT)
    return simulated.flows.group_by(_FLOW).agg(spread=(goodput.std() / goodput.mean()).fill_nan(None))


def _flows(runs: Runs) -> pl.DataFrame:
    return runs.flows.select(*_FLOW, "seed", "size_bytes", GOODPUT, COMPLETION)


def _links(runs: Runs) -> pl.DataFrame:
    return runs.links.join(runs.table.select("run", "seed"), on="run").select(*_LINK, "seed", UTILISATION)


def _join(first: pl.DataFrame, second: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    measures = [name for name in (GOODPUT, COMPLETION, UTILISATION) if name in first.columns]
    one, other = (
        table.rename({name: f"{name}_{which}" for name in measures})
        for table, which in ((first, "first"), (second, "second"))
    )
    return one.join(
        other.select(*on, *(f"{name}_second" for name in measures)), on=on, nulls_equal=True, maintain_order="left"
    )


def _ratios(both: pl.DataFrame, by: Sequence[str], measure: str) -> pl.DataFrame:
    """A row for each combination of the columns ``by``: the means of both engines, and their ratio."""
    rows = []
    for key, group in both.group_by(by, maintain_order=True):
        known = group.drop_nulls([f"{measure}_first", f"{measure}_second"])
        if not known.height:
            continue
        first, second = (known[f"{measure}_{which}"].to_list() for which in ("first", "second"))
        ratio, half = ratio_of_means(first, second)
        rows.append(
            (
                *key,
                measure,
                known[f"{measure}_first"].mean(),
                known[f"{measure}_second"].mean(),
                ratio,
                half,
                known.height,
            )
        )
    schema: dict[str, Any] = {
        **both.select(by).schema,
        "measure": pl.String,
        **dict.fromkeys(("first", "second", "ratio", "half_width"), pl.Float64),
        "seeds": pl.UInt32,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _with_keys(table: pl.DataFrame, runs: Runs) -> pl.DataFrame:
    """The values of the matrix instead of the variant's number, where no column of the table has them."""
    keys = [key for key in runs.keys if key not in table.columns]
    values = [pl.Series(key, [runs.variants[one].values[key] for one in table["variant"]], pl.String) for key in keys]
    return table.select(*values, pl.exclude("variant"))


def document(comparison: EngineComparison) -> dict[str, Any]:
    """All rows, as JSON has them."""
    first, second = comparison.engines
    return {
        "first": first,
        "second": second,
        "median_deviation": comparison.median,
        "greatest_deviation": comparison.greatest,
        "inside_intervals": comparison.inside,
        "flows": comparison.flows.to_dicts(),
        "links": comparison.links.to_dicts(),
    }


def tables(comparison: EngineComparison) -> Iterator[TextTable]:
    """The rows with the largest deviations first, for people."""
    for name, table in (("flows", comparison.flows), ("links", comparison.links)):
        if table.height:
            yield _table(name, table, comparison)


def _table(name: str, table: pl.DataFrame, comparison: EngineComparison) -> TextTable:
    first, second = comparison.engines
    own = ("traffic", "stack") if name == "flows" else ()
    keys = [key for key in comparison.keys if key not in own]
    predicted = ("predicted interval", "spread of one run") if "spread" in table.columns else ()
    worst = table.sort((pl.col("ratio") - 1).abs(), descending=True, nulls_last=True, maintain_order=True)

    def row(one: Mapping[str, Any]) -> tuple[str, ...]:
        ends = "all with a size" if one["src"] is None else f"{one['src']} -> {one['dst']}"
        unit = _UNITS[one["measure"]]
        return (
            *(one[key] for key in keys),
            *(one[column] or NO_STACK for column in own),
            ends,
            _TITLES[one["measure"]],
            *(quantity(one[which], unit) if unit else percent(one[which]) for which in ("first", "second")),
            *(_evidence(one) if predicted else ()),
            "-" if one["ratio"] is None else f"{one['ratio']:.3f}",
            "-" if one["half_width"] is None else f"{one['half_width']:.3f}",
        )

    head = (
        *keys,
        *own,
        "flow" if own else "link",
        "measure",
        first,
        second,
        *predicted,
        f"{second} / {first}",
        "± 95 %",
    )
    more = table.height - MOST_ROWS
    notes = (f"... and {more} {name} that differ less.",) if more > 0 else ()
    return TextTable(
        head, [row(one) for one in worst.head(MOST_ROWS).to_dicts()], len(head) - 4 - len(predicted), notes
    )


def _evidence(row: Mapping[str, Any]) -> tuple[str, str]:
    """A flow's predicted interval, and the spread of the packet engine's runs."""
    low, high, spread = row["low"], row["high"], row["spread"]
    interval = "-" if low is None else f"{quantity(low, 'bit/s')} to {quantity(high, 'bit/s')}"
    return interval, "-" if spread is None else percent(spread)


def write(comparison: EngineComparison, directory: Path) -> list[Path]:
    """Write ``flows-ENGINE.csv``, ``links-ENGINE.csv`` and ``comparison-ENGINE.svg`` of the second engine. Returns the paths of the files.

    The picture is left out if the packages that draw it are missing.

    Raises:
        anabranch.foundation.output_files.FileError: a file cannot be written.
    """
    second = comparison.engines[1]
    contents = {
        f"flows-{second}.csv": guarded(comparison.flows).write_csv(),
        f"links-{second}.csv": guarded(comparison.links).write_csv(),
    }
    if not extras.missing("figures"):
        import vl_convert

        contents[f"comparison-{second}.svg"] = vl_convert.vegalite_to_svg(printable_document(picture(comparison)))
    for name, content in contents.items():
        output_files.write_text(directory / name, content, named=False)
    return [directory / name for name in contents]


def picture(comparison: EngineComparison) -> Specification:
    """A Vega-Lite chart: each flow's and link's value by the second engine over that by the first, both in logarithms."""
    first, second = comparison.engines
    panels = []
    for measure, title in _TITLES.items():
        rows = pl.concat([comparison.flows, comparison.links], how="diagonal").filter(
            pl.col("measure") == measure, pl.col("first") > 0, pl.col("second") > 0
        )
        if rows.height:
            panels.append(_panel(rows, title, _UNITS[measure], first, second))
    return {"hconcat": panels}


def _panel(rows: pl.DataFrame, what: str, unit: str, first: str, second: str) -> Specification:
    title = f"{what}, {unit}" if unit else what
    least, most = (bound(bound(rows[which]) for which in ("first", "second")) for bound in (min, max))
    is_link = pl.col("measure") == UTILISATION
    points = rows.with_columns(
        stack=pl.when(is_link).then(pl.lit("link")).otherwise(pl.col("stack").fill_null(NO_STACK))
    )
    scale = {"type": "log", "domain": [least * 0.9, most * 1.1], "nice": False}
    axis = {"format": "~s" if unit else ".3~%"}

    def encoding(which: str, engine: str) -> dict[str, Any]:
        return {"field": which, "type": "quantitative", "scale": scale, "axis": axis, "title": f"{title}, {engine}"}

    line = {
        "data": {"values": [{"first": bound, "second": bound} for bound in (least * 0.9, most * 1.1)]},
        "mark": {"type": "line", "color": "#999999", "strokeDash": [4, 4]},
        "encoding": {"x": encoding("first", first), "y": encoding("second", second)},
    }
    dots = {
        "data": {"values": points.select("first", "second", "stack").to_dicts()},
        "mark": {"type": "point", "filled": True, "size": 40, "opacity": 0.7},
        "encoding": {
            "x": encoding("first", first),
            "y": encoding("second", second),
            "color": {"field": "stack", "type": "nominal", "title": None},
        },
    }
    bars = _bars(points, scale, (first, second)) if "spread" in points.columns else []
    return {"width": 320, "height": 320, "layer": [line, *bars, dots]}


def _bars(points: pl.DataFrame, scale: Specification, engines: tuple[str, str]) -> list[Specification]:
    """Along the prediction's axis its interval, along the packet engine's the spread of one run to both sides of the mean."""
    layers: list[Specification] = []
    for which, engine in zip(("first", "second"), engines, strict=True):
        mean = pl.col(which)
        low, high = (
            (pl.col("low"), pl.col("high"))
            if engine == "predict"
            else (mean * (1 - pl.col("spread")), mean * (1 + pl.col("spread")))
        )
        ends = points.select("first", "second", "stack", low=low, high=high)
        # The panel ends where the means do, and a logarithm begins above zero.
        inside = ends.with_columns(pl.col("low", "high").clip(*scale["domain"])).drop_nulls(["low", "high"])
        along, across = ("x", "y") if which == "first" else ("y", "x")
        other = "second" if which == "first" else "first"
        position = {"type": "quantitative", "scale": scale, "title": None}
        layers.append(
            {
                "data": {"values": inside.to_dicts()},
                "mark": {"type": "rule", "opacity": 0.35},
                "encoding": {
                    along: {"field": "low", **position},
                    f"{along}2": {"field": "high"},
                    across: {"field": other, **position},
                    "color": {"field": "stack", "type": "nominal", "title": None},
                },
            }
        )
    return layers
