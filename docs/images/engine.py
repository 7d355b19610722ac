"""Draws engine.svg, the picture of docs/development/engine.md: python docs/images/engine.py."""

from html import escape
from pathlib import Path

INK, SOFT, LINK, NODE, HOT, PACKET = "#222", "#777", "#dbe9f6", "#f4ecd8", "#f6d9d5", "#3b78b0"
WIDTH, HEIGHT = 980, 700

parts: list[str] = []


def text(
    x: float, y: float, words: str, *, size: int = 13, anchor: str = "middle", fill: str = INK, bold: bool = False
) -> None:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    parts.append(
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str, *lines: str, size: int = 12) -> None:
    """A box with lines of text in its middle."""
    parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{SOFT}"/>')
    top = y + height / 2 - (len(lines) - 1) * 8 + 4
    for index, line in enumerate(lines):
        text(x + width / 2, top + 16 * index, line, size=size, bold=index == 0 and len(lines) > 1)


def arrow(x: float, y: float, to_x: float, to_y: float, *, dashed: bool = False, colour: str = INK) -> None:
    """An arrow."""
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    parts.append(f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}" marker-end="url(#head)"{dash}/>')


def node(x: float, y: float, name: str) -> None:
    """A node."""
    parts.append(f'<circle cx="{x}" cy="{y}" r="24" fill="{NODE}" stroke="{SOFT}"/>')
    text(x, y + 4, name, size=12)


def link(x: float, y: float, width: float, feed: str, exit_: str, packets: int, fill: str = LINK) -> None:
    """A link with its FIFO of packets, its fan-in and its egress."""
    parts.append(f'<rect x="{x}" y="{y - 17}" width="{width}" height="34" rx="6" fill="{fill}" stroke="{SOFT}"/>')
    for index in range(packets):
        parts.append(f'<rect x="{x + width - 14 - 12 * index}" y="{y - 5}" width="8" height="10" fill="{PACKET}"/>')
    text(x + width / 2, y - 24, f"fan-in: {feed}", size=11, fill=SOFT)
    text(x + width / 2, y + 31, f"egress: {exit_}", size=11, fill=SOFT)


def network() -> None:
    """The top: links and nodes."""
    text(
        20,
        26,
        "Links hold FIFOs of packets, each with its arrival time at the far end",
        anchor="start",
        bold=True,
    )
    for y, sender, receiver in ((90, "s1", "d1"), (190, "s2", "d2")):
        node(50, y, sender)
        link(90, y, 170, "direct", "link", 4)
        link(650, y, 170, "direct", "host", 3)
        node(870, y, receiver)
        arrow(260, y, 330, 140 + (y - 140) * 0.25)
        arrow(580, 140 + (y - 140) * 0.25, 648, y)
        arrow(820, y, 844, y)
        arrow(74, y, 89, y)
    link(388, 140, 160, "merged", "various", 9, HOT)
    parts.append(f'<circle cx="358" cy="140" r="28" fill="{NODE}" stroke="{SOFT}"/>')
    text(358, 144, "left", size=12)
    parts.append(f'<circle cx="566" cy="140" r="18" fill="{NODE}" stroke="{SOFT}"/>')
    text(566, 144, "right", size=11)
    text(870, 240, "and the same way back", size=11, fill=SOFT)


def epoch() -> None:
    """The middle: time in epochs."""
    y = 270
    text(
        20,
        y,
        "An epoch is no longer than any packet takes from the head of a queue to the next node",
        anchor="start",
        bold=True,
    )
    for index, name in enumerate(("done", "this epoch", "later", "later")):
        x = 150 + 200 * index
        fill = HOT if index == 1 else "#fff"
        parts.append(f'<rect x="{x}" y="{y + 14}" width="200" height="86" fill="{fill}" stroke="{SOFT}"/>')
        text(x + 100, y + 116, name, size=12, fill=SOFT)
    rows = (
        ("s1 to left", (362, 380, 398, 416, 590)),
        ("s2 to left", (371, 389, 407, 560)),
        ("left to right", (355, 425, 495, 565, 635, 705, 775)),
    )
    for row, (name, times) in enumerate(rows):
        line = y + 34 + 24 * row
        text(140, line + 4, name, size=12, anchor="end")
        for x in times:
            parts.append(f'<rect x="{x}" y="{line - 5}" width="8" height="10" fill="{PACKET}"/>')
    arrow(375, y + 68, 640, y + 74, dashed=True, colour=SOFT)
    text(950, y + 116, "time", size=12, fill=SOFT, anchor="end")
    text(
        20,
        y + 138,
        "Packets offered in this epoch arrive after it (dashed), so nodes and links can be visited one by one.",
        size=12,
        anchor="start",
        fill=SOFT,
    )


def phases() -> None:
    """The bottom: the three phases."""
    y = 452
    text(20, y, "The phases of an epoch", anchor="start", bold=True)
    box(20, y + 80, 130, 60, LINK, "wheel", "due links")
    box(20, y + 160, 130, 60, LINK, "timers, starts", "of this epoch")
    box(220, y + 80, 170, 60, HOT, "1 deliver", "bursts of packets, by link")
    box(480, y + 20, 190, 46, NODE, "host, alone at its node:", "delivered at once")
    box(480, y + 76, 190, 46, LINK, "next link direct:", "into its FIFO at once")
    box(480, y + 132, 190, 46, "#fff", "next link merged:", "its inbox, or left in the FIFO")
    box(480, y + 188, 190, 46, "#fff", "node with more to do:", "its inbox")
    for target in (43, 99, 155, 211):
        arrow(390, y + 110, 478, y + target)
    arrow(150, y + 110, 218, y + 110)
    arrow(150, y + 205, 478, y + 217)
    box(760, y + 180, 200, 62, HOT, "2 nodes, in order", "starts, arrivals, timers")
    box(760, y + 112, 200, 46, HOT, "3 links, in order", "merge, then queue")
    arrow(670, y + 211, 758, y + 211)
    arrow(670, y + 155, 758, y + 140)
    arrow(860, y + 180, 860, y + 160)
    box(760, y + 20, 200, 60, LINK, "FIFOs", "and wheel: next epochs")
    arrow(670, y + 43, 758, y + 43)
    arrow(670, y + 99, 758, y + 62)
    arrow(860, y + 112, 860, y + 82)


network()
epoch()
phases()
HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path d="M0 0 10 5 0 10z" fill="{INK}"/></marker></defs><rect width="100%" height="100%" fill="#fff"/>'
)
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Helvetica, Arial, sans-serif">{HEAD}'
Path(__file__).with_suffix(".svg").write_text(SVG + "\n".join(parts) + "</svg>\n", encoding="utf-8")
