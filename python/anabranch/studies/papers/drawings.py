"""Drawings of networks: nodes at given places, links with what they carry, and the paths that a study uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from anabranch.pages.report.chart import PALETTE

Place = tuple[float, float]
Ends = tuple[str, str]
_GREY, _DARK = "#c3cad2", "#334155"


@dataclass(frozen=True)
class Way:
    """A path to be drawn in colour."""

    name: str
    nodes: Sequence[str]


def network(
    places: Mapping[str, Place],
    links: Sequence[Ends],
    *,
    ways: Sequence[Way] = (),
    texts: Mapping[Ends, str] | None = None,
    width: int = 520,
    height: int = 260,
    size: int = 500,
) -> Any:
    """The network; ``texts`` stand beside the middle of links. ``size`` is that of a node, in square pixels."""
    x, y = (
        alt.X("x:Q", axis=None, scale=alt.Scale(padding=34, zero=False, nice=False)),
        alt.Y("y:Q", axis=None, scale=alt.Scale(padding=26, zero=False, nice=False)),
    )
    layers = [_lines([_line(places, ends) for ends in links], x, y, color=_GREY, strokeWidth=2)]
    if ways:
        names = [way.name for way in ways]
        colour = alt.Color(
            "way:N",
            scale=alt.Scale(domain=names, range=list(PALETTE[: len(names)])),
            sort=names,
            legend=alt.Legend(title=None, orient="bottom"),
        )
        rows = [
            _line(places, ends) | {"way": way.name}
            for way in ways
            for ends in zip(way.nodes, way.nodes[1:], strict=False)
        ]
        layers.append(_lines(rows, x, y, strokeWidth=4, opacity=0.8).encode(color=colour))
    nodes = alt.Chart(alt.InlineData(values=[{"x": at[0], "y": at[1], "name": name} for name, at in places.items()]))
    nodes = nodes.encode(x=x, y=y)
    longest = max(map(len, places))
    if longest <= 3:
        layers += [
            nodes.mark_circle(size=size, color=_DARK, opacity=1),
            nodes.mark_text(color="white", fontWeight="bold").encode(text="name:N"),
        ]
    else:
        layers += [
            nodes.mark_circle(size=size / 4, color=_DARK, opacity=1),
            nodes.mark_text(dy=-13, color=_DARK).encode(text="name:N"),
        ]
    if texts:
        middles = [
            {"x": (places[one][0] + places[other][0]) / 2, "y": (places[one][1] + places[other][1]) / 2, "text": text}
            for (one, other), text in texts.items()
        ]
        said = alt.Chart(alt.InlineData(values=middles)).encode(x=x, y=y, text="text:N")
        layers += [
            said.mark_text(dy=-9, stroke="white", strokeWidth=4, strokeJoin="round"),
            said.mark_text(dy=-9, color="#7a2e00"),
        ]
    return alt.layer(*layers).properties(width=width, height=height, view=alt.ViewConfig(stroke=None))


def _line(places: Mapping[str, Place], ends: Ends) -> dict[str, Any]:
    (x, y), (x2, y2) = places[ends[0]], places[ends[1]]
    return {"x": x, "y": y, "x2": x2, "y2": y2}


def _lines(rows: Sequence[Mapping[str, Any]], x: alt.X, y: alt.Y, **look: Any) -> Any:
    return alt.Chart(alt.InlineData(values=list(rows))).mark_rule(**look).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
