"""The page of a recording: the player, and the packets as arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import numpy as np

from anabranch.foundation import output_files
from anabranch.network.topologies.map_layout import positions
from anabranch.network.topologies.model import Node
from anabranch.pages.replay.recording import Recording

FATES = ("on its way", "arrived", "dropped", "lost")
DATA, ACK, RETRANSMISSION = 0, 1, 2


def write(recording: Recording, output: Path, *, named: bool = True) -> Path:
    """Write the page; the path of the file. ``named`` says that the user has named it (:func:`anabranch.foundation.output_files.write_bytes`)."""
    output_files.write_text(output, render(recording), named=named)
    return output


def render(recording: Recording) -> str:
    """The page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("anabranch.pages.replay", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )

    def source(name: str) -> markupsafe.Markup:
        assert environment.loader is not None
        return markupsafe.Markup(environment.loader.get_source(environment, name)[0])

    return environment.get_template("replay.html.j2").render(
        title=recording.title,
        recording=document(recording),
        is_cut=recording.is_cut,
        style=source("player.css"),
        script=source("player.js"),
    )


def document(recording: Recording) -> dict[str, Any]:
    """The data that the player reads. Times are whole microseconds from the start of the span, and null where they are not known."""
    columns = recording.crossings
    ends = [(link["src"], link["dst"]) for link in recording.links]
    places = positions([Node(**node) for node in recording.nodes], dict.fromkeys(ends))
    numbers = {name: index for index, name in enumerate(places)}

    def microseconds(name: str) -> list[int | None]:
        times = np.asarray(columns[name], dtype=float)
        return [None if np.isnan(time) else round(time) for time in (times - recording.from_s) * 1e6]

    kind = np.where(columns["ack"], ACK, np.where(columns["retransmission"], RETRANSMISSION, DATA))
    return {
        "variant": recording.variant,
        "seed": recording.seed,
        "from": recording.from_s,
        "length": round((recording.until_s - recording.from_s) * 1e6),
        "nodes": [{"name": name, "x": round(x, 5), "y": round(y, 5)} for name, (x, y) in places.items()],
        "links": [
            {
                "src": numbers[link["src"]],
                "dst": numbers[link["dst"]],
                "delay": link["delay_s"] * 1e6,
            }
            for link in recording.links
        ],
        "flows": [{"name": flow["name"], "dst": numbers[flow["dst"]]} for flow in recording.flows],
        "packets": {
            **{name: np.asarray(columns[name]).tolist() for name in ("link", "flow", "segment", "marked")},
            "kind": kind.tolist(),
            "entered": microseconds("entered_s"),
            "departs": microseconds("departs_s"),
            "left": microseconds("left_s"),
            "fate": [FATES.index(fate) for fate in columns["fate"]],
        },
    }
