"""The charts of a report as files for papers: PDF, SVG or PNG, of a given width."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError

from anabranch.foundation.extras import needed
from anabranch.foundation.output_files import write_bytes
from anabranch.foundation.printable import printable_document
from anabranch.pages.report import figures as report_figures
from anabranch.pages.report.parts import Figure, longest
from anabranch.pages.report.vega_lite import Specification
from anabranch.results.run_directory import unreadable_series

FORMATS = (".pdf", ".svg", ".png")
PIXELS_PER_MM = 96 / 25.4
"""CSS's pixels, which Vega draws in: a text of 11 pixels has 8.25 points."""
_DOTS_PER_INCH = 300
_POINTS_PER_PIXEL = 0.75
_GREY = "#333333"
_NARROW_MAP = 500
"""Width in pixels below which the names on a map are smaller."""
_NARROW_BAR = 36
"""Width in pixels below which the number above a bar stands upright."""
_NARROWEST_CELL = 12
"""Width in pixels below which a cell has no number."""
_ABOVE_BARS = {"align": "left", "baseline": "middle", "dx": 5, "dy": 0}
"""Where such an upright number is."""
_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')


class FigureError(ValueError):
    """A figure that cannot be drawn: says which one, and which there are."""


def figures(run_directories: Sequence[Path]) -> dict[str, Figure]:
    """The figures of the report by name, in its order; a map that shows a variant at a time is a figure for each.

    Raises:
        anabranch.results.run_directory.RunDirectoryError: a run directory lacks a file or has a broken one.
    """
    try:
        found = report_figures.figures(run_directories)
    except PolarsError as error:
        raise unreadable_series(run_directories, error) from None
    return {one.name: one for figure in found for one in _each_variant(figure)}


def write(figure: Figure, output: Path, width_mm: float, *, named: bool = True) -> None:
    """Draw a figure into a file, whose suffix says the format. ``named`` says that the user has named it (:func:`anabranch.foundation.output_files.write_bytes`).

    Raises:
        FigureError: it is no format for figures.
        anabranch.foundation.extras.MissingExtraError: vl-convert is not installed.
        anabranch.foundation.output_files.FileError: the file cannot be written.
    """
    if output.suffix not in FORMATS:
        raise FigureError(f'{output}: "{output.suffix}" is no format of figures; possible: {", ".join(FORMATS)}')
    with needed("figures as files", "figures"):
        import vl_convert
    if output.suffix == ".png":
        drawing = _printable(figure, width_mm)
        data = vl_convert.vegalite_to_png(drawing, scale=_POINTS_PER_PIXEL, ppi=_DOTS_PER_INCH)
    else:
        text = svg(figure, width_mm)
        data = text.encode() if output.suffix == ".svg" else vl_convert.svg_to_pdf(_SIZE.sub(_in_points, text, count=1))
    write_bytes(output, data, named=named)


def svg(figure: Figure, width_mm: float) -> str:
    """A figure as SVG.

    Raises:
        anabranch.foundation.extras.MissingExtraError: vl-convert is not installed.
    """
    with needed("figures as files", "figures"):
        import vl_convert
    drawn: str = vl_convert.vegalite_to_svg(_printable(figure, width_mm))
    return drawn


def _printable(figure: Figure, width_mm: float) -> Specification:
    """Fitted, without control characters, which XML cannot have."""
    drawing: Specification = printable_document(fitted(figure, width_mm * PIXELS_PER_MM))
    return drawing


def fitted(figure: Figure, width: float) -> Specification:
    """The figure's specification for a width in pixels, with the sizes of texts; ``report.js`` does this for the page."""
    drawing: Specification = deepcopy(dict(figure.specification))
    layout = figure.layout
    config = _configuration(width, layout)
    if layout["kind"] == "single":
        drawing["autosize"] = {"type": "fit", "contains": "padding"}
        drawing["width"] = min(width, 150 + 100 * layout["bars"]) if "bars" in layout else width
        drawing["height"] = layout.get("height") or min(layout["most"], max(layout["least"], width * layout["aspect"]))
        room = (width - 60) / layout.get("bars", 1)
        if room < _NARROW_BAR:
            above = any(
                "dy" in layer["mark"] for layer in drawing["layer"]
            )  # of bars; the numbers of cells are in their middle
            config["legend"]["offset"] = 26 if above else 10
            _change_texts(drawing, angle=270, fontSize=10, **(_ABOVE_BARS if above else {}))
            if room < _NARROWEST_CELL and not above:
                drawing["layer"] = [layer for layer in drawing["layer"] if layer["mark"]["type"] != "text"]
    elif layout["kind"] == "map":
        drawing["width"] = min(width - 12, 580 / layout["aspect"])
        drawing["height"] = round(drawing["width"] * layout["aspect"])
        if drawing["width"] < _NARROW_MAP:
            _change_texts(drawing, fontSize=9)
    elif layout["kind"] == "panels":
        _fit_panels(drawing, layout, width)
        drawing["title"] = {"text": figure.title, "anchor": "start", "fontSize": 12, "fontWeight": 400}
    return drawing | {"config": config}


def _change_texts(drawing: Specification, **options: Any) -> None:
    for layer in drawing.get("layer", ()):
        if layer["mark"]["type"] == "text":
            layer["mark"] |= options


def _in_points(size: re.Match[str]) -> str:
    """The size in points: the unit of a PDF is the point, not the unit of the SVG."""
    width, height = (_POINTS_PER_PIXEL * float(number) for number in size.groups())
    return f' width="{width:g}" height="{height:g}"'


def _fit_panels(drawing: Specification, layout: Mapping[str, Any], width: float) -> None:
    axis, gap = 66 if layout.get("own_y") else 48, 16
    columns = max(1, min(layout["columns"], int((width - axis + gap) / (layout["least"] + gap))))
    each = int((width - axis - (columns - 1) * gap) / columns)
    drawing["columns"] = columns
    drawing["spec"]["width"] = each
    drawing["spec"]["height"] = round(min(layout["tallest"], max(90, each * layout["aspect"])))
    if not layout.get("own_y"):
        for layer in drawing["spec"].get("layer", [drawing["spec"]]):
            layer["encoding"]["y"]["title"] = None  # it is above the panels, once
    panels = drawing["facet"]["sort"]
    if len(panels) > 1 and longest(panels) * 7 > each:  # a line for each key: beginnings are often alike
        drawing["facet"]["header"]["labelExpr"] = "split(datum.label, ' · ')"
    drawing["facet"]["header"] |= {"labelLimit": each + gap - 4, "labelFontSize": 10 if each < 200 else 12}


def _configuration(width: float, layout: Mapping[str, Any]) -> Specification:
    texts = {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": 400}
    return {
        "background": "white",
        "view": {"stroke": None},
        "axis": texts | {"labelColor": _GREY, "titleColor": _GREY, "gridColor": "#e8ebef", "tickSize": 4},
        "axisX": {"grid": False},
        "header": {"labelFontWeight": 600, "labelPadding": 4},
        "legend": texts | {"columns": max(1, int(width / (layout["legend"] * 7 + 30))), "offset": 10},
        "facet": {"spacing": 16},
    }


def _each_variant(figure: Figure) -> list[Figure]:
    """A figure for each variant if the figure has a selector of variants; otherwise the figure itself."""
    labels = figure.layout.get("variants", ())
    if len(labels) < 2:
        return [figure]
    params = figure.specification["params"]
    return [
        replace(
            figure,
            name=f"{figure.name}.{place}",
            title=f"Map: {label}",
            specification={**figure.specification, "params": [_fixed(each, place) for each in params]},
        )
        for place, label in enumerate(labels, 1)
    ]


def _fixed(param: Specification, place: int) -> Specification:
    return {"name": "variant", "value": place - 1} if param["name"] == "variant" else param
