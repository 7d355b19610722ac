"""A drawing of a topology: one SVG, nodes where they are on the map or their drawing, else where springs put them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from anabranch.foundation.printable import printable_line
from anabranch.network.topologies.links import Link
from anabranch.network.topologies.map_layout import Box, Point, bounds, positions
from anabranch.network.topologies.model import Node, Topology

_WIDTH = 960.0
_MARGIN = 60.0
_FLATTEST, _TALLEST = 0.35, 1.0
_LABEL_SIZE = 13.0
_LETTER_WIDTH = 0.58
_MOST_LABELS = 150
_LEGEND_LINE = 20.0
_COURSE_WIDTH = 4.0

_STYLE = """
  .link { stroke: #7d93a8; stroke-width: 1.8; stroke-linecap: round; fill: none }
  .link:hover { stroke: #d9822b; stroke-width: 4 }
  .one-way { stroke-dasharray: 7 4 }
  .node { fill: #1f5a96; stroke: #ffffff; stroke-width: 1.5 }
  .node:hover { fill: #d9822b }
  text { font: 13px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #22303c;
         paint-order: stroke; stroke: #ffffff; stroke-width: 3.5px; stroke-linejoin: round }
"""

Label = tuple[str, Point, str]
"""A name, where it stands, and which end of it (`text-anchor`) stands there."""


@dataclass(frozen=True, slots=True)
class Course:
    """A path drawn over the links."""

    name: str
    colour: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stroke:
    """The line for the links between two nodes, and its text."""

    width: float
    colour: str
    told: str


def svg(
    topology: Topology,
    courses: Sequence[Course] = (),
    strokes: Mapping[frozenset[str], Stroke] | None = None,
    legend: Sequence[tuple[str, str]] = (),
) -> str:
    """The drawing; pointing at a node or link shows its attributes. Links that go one way only are dashed.

    Courses lie over the links side by side and are named in the legend, before its other entries (colour, text).
    """
    points, height = _fit(positions(topology.nodes, ((link.source, link.target) for link in topology.links)))
    legend = [*((course.colour, f"{course.name}: {' > '.join(course.nodes)}") for course in courses), *legend]
    top = _LEGEND_LINE * len(legend) + (_LEGEND_LINE if legend else 0)
    points = {name: (x, y + top) for name, (x, y) in points.items()}
    height += top
    radius = max(2.5, min(6.0, 60 / math.sqrt(len(points))))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" '
        f'height="{height:.0f}" role="img">',
        f"<title>{_escaped(topology.name)}</title>",
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    drawn = []
    for links in _pairs(topology):
        (x1, y1), (x2, y2) = points[links[0].source], points[links[0].target]
        drawn.append(((x1, y1), (x2, y2)))
        kind = "link" if len(links) == 2 else "link one-way"
        stroke = (strokes or {}).get(frozenset((links[0].source, links[0].target)))
        told = "\n".join([*(_described(link) for link in links), *([stroke.told] if stroke else [])])
        style = f' style="stroke: {stroke.colour}; stroke-width: {stroke.width:.1f}"' if stroke else ""
        lines.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{style}>'
            f"<title>{_escaped(told)}</title></line>"
        )
    lines += _drawn_courses(courses, points)
    for node in topology.nodes:
        x, y = points[node.name]
        lines.append(
            f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{_escaped(_located(node))}</title></circle>"
        )
    for name, (x, y), anchor in _labels(points, drawn, radius):
        lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escaped(name)}</text>')
    for line, (colour, text) in enumerate(legend):
        y = _LEGEND_LINE * (line + 1)
        lines.append(f'<rect x="16" y="{y - 4:.1f}" width="22" height="4" fill="{colour}"/>')
        lines.append(f'<text x="46" y="{y + 3:.1f}">{_escaped(text)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _drawn_courses(courses: Sequence[Course], points: dict[str, Point]) -> Iterator[str]:
    """Lines beside each other: each course keeps its distance from the middle of the links."""
    for place, course in enumerate(courses):
        aside = (place - (len(courses) - 1) / 2) * _COURSE_WIDTH
        for one, other in pairwise(course.nodes):
            # the same side of the cable whichever way the path goes
            (x1, y1), (x2, y2) = (points[name] for name in sorted((one, other)))
            length = math.hypot(x2 - x1, y2 - y1) or 1.0
            dx, dy = -(y2 - y1) / length * aside, (x2 - x1) / length * aside
            yield (
                f'<line x1="{x1 + dx:.1f}" y1="{y1 + dy:.1f}" x2="{x2 + dx:.1f}" y2="{y2 + dy:.1f}" '
                f'stroke="{course.colour}" stroke-width="{_COURSE_WIDTH}" stroke-linecap="round">'
                f"<title>{_escaped(course.name)}</title></line>"
            )


def _fit(places: dict[str, Point]) -> tuple[dict[str, Point], float]:
    """The places inside the picture, y downwards, and the picture's height."""
    x0, y0, x1, y1 = bounds(places)
    wide, tall = x1 - x0, y1 - y0
    inner = _WIDTH - 2 * _MARGIN
    shape = min(_TALLEST, max(_FLATTEST, tall / wide)) if wide else _TALLEST if tall else _FLATTEST
    height = inner * shape + 2 * _MARGIN
    scale = min((inner / wide) if wide else math.inf, (inner * shape / tall) if tall else math.inf)
    scale = scale if math.isfinite(scale) else 1.0
    return {
        name: (
            _WIDTH / 2 + (x - x0 - wide / 2) * scale,
            height / 2 - (y - y0 - tall / 2) * scale,
        )
        for name, (x, y) in places.items()
    }, height


def _pairs(topology: Topology) -> list[list[Link]]:
    """The links of each pair of nodes: one, or one each way."""
    pairs: dict[tuple[str, str], list[Link]] = {}
    for link in topology.links:
        pairs.setdefault((min(link.source, link.target), max(link.source, link.target)), []).append(link)
    return list(pairs.values())


def _labels(points: dict[str, Point], lines: list[tuple[Point, Point]], radius: float) -> Iterator[Label]:
    """A place for each label, clear of nodes and labels, over the fewest links; what finds none goes without."""
    if len(points) > _MOST_LABELS:
        return
    taken: list[Box] = [(x - radius, y - radius, x + radius, y + radius) for x, y in points.values()]
    away, ascent, above, below = radius + 4, _LABEL_SIZE * 0.35, _LABEL_SIZE * 0.8, _LABEL_SIZE * 0.2
    for name, (x, y) in points.items():
        width = len(name) * _LABEL_SIZE * _LETTER_WIDTH
        found: list[tuple[int, Box, Label]] = []
        for (at_x, at_y), anchor, left in (
            ((x + away, y + ascent), "start", x + away),
            ((x - away, y + ascent), "end", x - away - width),
            ((x, y - away), "middle", x - width / 2),
            ((x, y + away + above), "middle", x - width / 2),
        ):
            box = (left, at_y - above, left + width, at_y + below)
            if left >= 0 and left + width <= _WIDTH and not any(_overlap(box, other) for other in taken):
                crossings = sum(crosses(line, box) for line in lines)
                found.append((crossings, box, (name, (at_x, at_y), anchor)))
        if found:
            _, box, label = min(found, key=lambda candidate: candidate[0])
            taken.append(box)
            yield label


def crosses(line: tuple[Point, Point], box: Box) -> bool:
    """Whether a segment meets a box (Liang and Barsky 1984: the part of the segment within each pair of sides)."""
    (x, y), (end_x, end_y) = line
    enters, leaves = 0.0, 1.0
    for start, way, low, high in ((x, end_x - x, box[0], box[2]), (y, end_y - y, box[1], box[3])):
        if way == 0:
            if not low <= start <= high:
                return False
            continue
        sides = sorted(((low - start) / way, (high - start) / way))
        enters, leaves = max(enters, sides[0]), min(leaves, sides[1])
    return enters <= leaves


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _described(link: Link) -> str:
    known = {
        "Mbit/s": None if link.capacity_bps is None else link.capacity_bps / 1e6,
        "ms": None if link.delay_s is None else link.delay_s * 1e3,
        "km": None if link.length_m is None else link.length_m / 1e3,
    }
    facts = [f"{value:,.6g} {unit}" for unit, value in known.items() if value is not None]
    facts += [] if link.loss is None else [f"loss {link.loss:.3g}"]
    facts += [] if link.cost is None else [f"cost {link.cost:.6g}"]
    return f"{link.source} → {link.target}" + (f": {', '.join(facts)}" if facts else "")


def _located(node: Node) -> str:
    if node.latitude is None or node.longitude is None:
        return node.name
    north = f"{abs(node.latitude):.2f}° {'N' if node.latitude >= 0 else 'S'}"
    east = f"{abs(node.longitude):.2f}° {'E' if node.longitude >= 0 else 'W'}"
    return f"{node.name}, {north}, {east}"


def _escaped(text: str) -> str:
    """A text for XML, which has no control characters."""
    return escape(printable_line(text))
