"""The replay as a film: an animated PNG, which browsers, slides and ``ffmpeg`` play. Its frames show what the player shows."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anabranch.foundation.extras import needed
from anabranch.foundation.output_files import write_bytes
from anabranch.foundation.printable import printable_line
from anabranch.foundation.progress import Shown
from anabranch.network.topologies.map_layout import positions
from anabranch.network.topologies.model import Node
from anabranch.pages.replay.recording import Recording

FRAMES_PER_S, LENGTH_S = 12, 12
_WIDTH, _MAP_LEAST, _MAP_MOST, _CHART, _MARGIN, _HEAD = 720, 120, 380, 150, 46, 34
_PALETTE = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999933", "#882255"),
    *("#44AA99", "#AA4499"),
)
_ACK, _AGAIN, _LATE, _QUEUE, _GONE, _INK, _SOFT, _TRACK = (
    *("#7b8794", "#c2255c", "#e8590c", "#d9a032", "#e03131", "#16202c", "#566373", "#b9c2cd"),
)
_FLASH_S = 0.35
"""Seconds of the film for which a drop is shown."""
_MOST_NAMES = 60
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
Floats = npt.NDArray[np.float64]


def write(recording: Recording, output: Path, *, named: bool = True, progress: bool = False) -> Path:
    """Write the film; the path of the file. ``named`` says that the user has named it (:func:`anabranch.foundation.output_files.write_bytes`).

    Raises:
        anabranch.foundation.extras.MissingExtraError: vl-convert, which draws the frames, is not installed.
        anabranch.foundation.output_files.FileError: the file cannot be written.
    """
    with needed("a film", "figures"):
        import vl_convert
    count = FRAMES_PER_S * LENGTH_S
    pictures = []
    with Shown(count, progress) as shown:
        for number, frame in enumerate(frames(recording, count)):
            pictures.append(vl_convert.svg_to_png(frame))
            shown.show(number, "film", f"{number} of {count} frames")
    write_bytes(output, animated(pictures, FRAMES_PER_S), named=named)
    return output


def frames(recording: Recording, count: int) -> Iterator[str]:
    """The frames as SVG, evenly over the span."""
    scene = _Scene(recording)
    for time in np.linspace(recording.from_s, recording.until_s, count):
        yield scene.at(float(time), (recording.until_s - recording.from_s) * _FLASH_S / LENGTH_S)


def animated(pictures: list[bytes], frames_per_s: int) -> bytes:
    """PNG files of one size as an animated PNG that repeats: https://www.w3.org/TR/png-3/#apng-frame-based-animation."""
    chunks = [_chunks(picture) for picture in pictures]
    header = dict(chunks[0])[b"IHDR"]
    width, height = struct.unpack(">II", header[:8])
    parts = [_chunk(b"IHDR", header), _chunk(b"acTL", struct.pack(">II", len(pictures), 0))]
    sequence = 0
    for number, frame in enumerate(chunks):
        control = struct.pack(">IIIIIHHBB", sequence, width, height, 0, 0, 1, frames_per_s, 0, 0)
        parts.append(_chunk(b"fcTL", control))
        sequence += 1
        data = b"".join(body for kind, body in frame if kind == b"IDAT")
        if number == 0:
            parts.append(_chunk(b"IDAT", data))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + data))
            sequence += 1
    return b"".join([_SIGNATURE, *parts, _chunk(b"IEND", b"")])


def _chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], len(_SIGNATURE)
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        found.append((picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]))
        at += size + 12
    return found


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


class _Scene:
    """What frames have in common."""

    def __init__(self, recording: Recording) -> None:
        columns = recording.crossings
        self.recording = recording
        self.link = np.asarray(columns["link"], np.int64)
        self.flow = np.asarray(columns["flow"], np.int64)
        self.segment = np.asarray(columns["segment"], np.int64)
        self.ack = np.asarray(columns["ack"], bool)
        self.again = np.asarray(columns["retransmission"], bool)
        self.fate = np.asarray(columns["fate"])
        self.entered = np.asarray(columns["entered_s"], float)
        self.start, self.end = self._times()
        data = self.flow[~self.ack]
        self.chosen = int(np.bincount(data).argmax()) if data.size else -1
        self._place()
        self._receive()

    def _times(self) -> tuple[Floats, Floats]:
        """When each packet begins to move, and when it is gone: a queue transmits one after another."""
        columns = self.recording.crossings
        departs, left = np.asarray(columns["departs_s"], float), np.asarray(columns["left_s"], float)
        delays = np.array([link["delay_s"] for link in self.recording.links])
        late = np.where(np.isnan(departs), np.inf, departs)
        end = np.where(np.isnan(left), late + delays[self.link], left) if late.size else late
        start = end.copy()
        free = np.full(len(delays), -np.inf)
        for packet in np.argsort(late, kind="stable"):
            link = self.link[packet]
            if np.isfinite(late[packet]):
                start[packet] = min(max(self.entered[packet], free[link]), end[packet])
            free[link] = late[packet]
        return start, end

    def _place(self) -> None:
        recording = self.recording
        ends = [(link["src"], link["dst"]) for link in recording.links]
        places = positions([Node(**node) for node in recording.nodes], dict.fromkeys(ends))
        wide = max(x for x, _ in places.values()) or 1.0
        tall = max(y for _, y in places.values())
        inner = _WIDTH - 2 * _MARGIN
        self.map_height = min(_MAP_MOST, max(_MAP_LEAST, inner * tall / wide + 2 * _MARGIN))
        scale = min(inner / wide, (self.map_height - 2 * _MARGIN) / tall if tall else np.inf)
        left, bottom = (_WIDTH - wide * scale) / 2, _HEAD + (self.map_height + tall * scale) / 2
        self.nodes = {name: (left + x * scale, bottom - y * scale) for name, (x, y) in places.items()}
        one, other = (np.array([self.nodes[end[side]] for end in ends]).reshape(-1, 2) for side in (0, 1))
        self.way = other - one
        self.size = np.maximum(np.hypot(*self.way.T), 1.0)
        # Each direction of a link lies on its own side, as traffic drives on the right.
        self.across = np.column_stack((-self.way[:, 1], self.way[:, 0])) / self.size[:, None]
        self.origin = one + 4 * self.across
        tracks = "".join(
            f'<path d="M{x:.1f} {y:.1f}l{dx:.1f} {dy:.1f}"/>'
            for (x, y), (dx, dy) in zip(self.origin, self.way, strict=True)
        )
        dots = "".join(_circle(x, y, 4) for x, y in self.nodes.values())
        names = "".join(_text(x, y - 12, name) for name, (x, y) in self.nodes.items())
        self.network = f'<g stroke="{_TRACK}">{tracks}</g>'
        self.on_top = f'<g fill="{_SOFT}">{dots}</g>{names if len(self.nodes) <= _MOST_NAMES else ""}'

    def _receive(self) -> None:
        """Arrivals at the receiver of the chosen flow: time, segment, and whether each is late or was sent again."""
        name = self.recording.flows[self.chosen]["dst"] if self.chosen >= 0 else None
        there = np.array([link["dst"] == name for link in self.recording.links])
        here = (self.flow == self.chosen) & ~self.ack & (self.fate == "arrived")
        here &= there[self.link] if here.size else False
        order = np.flatnonzero(here)[np.argsort(self.end[here], kind="stable")]
        self.arrival_s, self.arrived = self.end[order], self.segment[order]
        greatest = np.maximum.accumulate(np.concatenate(([-1], self.arrived)))[:-1]
        colours = np.full(order.size, _PALETTE[max(self.chosen, 0) % len(_PALETTE)])
        colours[self.arrived < greatest] = _LATE
        colours[self.again[order]] = _AGAIN
        self.arrival_colours = colours

    def at(self, time: float, flash_s: float) -> str:
        """The frame of an instant."""
        recording = self.recording
        height = _HEAD + self.map_height + _CHART
        title = escape(printable_line(" · ".join(filter(None, (recording.title, recording.variant)))))
        head = (
            f'<text x="16" y="22" font-weight="600">{title}</text>'
            f'<text x="{_WIDTH - 16}" y="22" text-anchor="end">{time:.4f} s</text>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:.0f}" '
            f'font-family="sans-serif" font-size="12" fill="{_INK}"><rect width="100%" height="100%" fill="#ffffff"/>'
            f"{head}{self.network}{self._packets(time, flash_s)}{self.on_top}{self._chart(time)}</svg>"
        )

    def _packets(self, time: float, flash_s: float) -> str:
        dropped = self.fate == "dropped"
        there = (self.entered <= time) & ~dropped
        waiting = np.bincount(self.link[there & (time < self.start)], minlength=len(self.size))
        parts = [self._queue(link, int(waiting[link])) for link in np.flatnonzero(waiting)]
        for packet in np.flatnonzero(there & (self.start <= time) & (time <= self.end)):
            link = self.link[packet]
            share = (time - self.start[packet]) / ((self.end[packet] - self.start[packet]) or 1.0)
            x, y = self.origin[link] + share * self.way[link]
            own = _PALETTE[self.flow[packet] % len(_PALETTE)]
            colour = _ACK if self.ack[packet] else _AGAIN if self.again[packet] else own
            parts.append(_circle(x, y, 2 if self.ack[packet] else 4, f'fill="{colour}"'))
        gone = (self.end <= time) & (time <= self.end + flash_s) & (dropped | (self.fate == "lost"))
        for packet in np.flatnonzero(gone):
            x, y = self.origin[self.link[packet]] + (0.0 if dropped[packet] else 1.0) * self.way[self.link[packet]]
            parts.append(_circle(x, y, 9, f'fill="none" stroke="{_GONE}" stroke-width="2"'))
        return "".join(parts)

    def _queue(self, link: int, packets: int) -> str:
        along, across = self.way[link] / self.size[link], self.across[link]
        x, y = self.origin[link] + 3 * across
        dx, dy = along * min(2.2 * packets, 0.45 * self.size[link])
        name_x, name_y = self.origin[link] + 12 * across + 10 * along
        bar = f'<path d="M{x:.1f} {y:.1f}l{dx:.1f} {dy:.1f}" stroke="{_QUEUE}" stroke-width="5"/>'
        return bar + _text(name_x, name_y + 4, str(packets))

    def _chart(self, time: float) -> str:
        """Segments by the time of their arrival: those below others were overtaken."""
        if not self.arrived.size:
            return ""
        begin, end = self.recording.from_s, self.recording.until_s
        least, most = int(self.arrived.min()), int(self.arrived.max())
        top, bottom = _HEAD + self.map_height + 24, _HEAD + self.map_height + _CHART - 12
        left, right = 60, _WIDTH - 16

        def x(at: float) -> float:
            return left + (at - begin) / (end - begin) * (right - left)

        dots = "".join(
            f'<rect x="{x(at) - 1.5:.1f}" y="{bottom - (segment - least) / ((most - least) or 1) * (bottom - top) - 1.5:.1f}" '
            f'width="3" height="3" fill="{colour}"/>'
            for at, segment, colour in zip(self.arrival_s, self.arrived, self.arrival_colours, strict=True)
            if at <= time
        )
        name = escape(printable_line(self.recording.flows[self.chosen]["name"]))
        axis = _text(left - 6, top + 6, str(most), "end") + _text(left - 6, bottom, str(least), "end")
        now = f'<path d="M{x(time):.1f} {top}V{bottom}" stroke="{_GONE}"/>'
        head = _text(
            left, top - 8, f"Segments that arrive, of flow {name}; orange: overtaken; red: sent again", "start"
        )
        return head + axis + dots + now


def _circle(x: float, y: float, radius: float, style: str = "") -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {style}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(printable_line(text))}</text>'
