"""Find a topology: a built-in by name, a TopoHub name, or a file."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from anabranch.foundation.input_files import InputError, content
from anabranch.network.topologies import topohub_names
from anabranch.network.topologies.builtin import BUILTINS
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import reader
from anabranch.network.topologies.model import Topology, is_name, largest_part

LARGEST_TOPOLOGY = 2**30
"""Bytes; four times a GraphML file of a million nodes."""


def load(source: str | Path, directed: bool | None = None, part: Literal["largest"] | None = None) -> Topology:
    """The topology of that name or in that file; a :class:`~pathlib.Path` is always a file.

    ``directed`` says whether edges are directed in a file that does not say it itself (CSV, SNDlib). By default they are not, and each
    is a link both ways; if every edge has one back, they are. ``part`` keeps the largest connected part alone. Warnings say which
    elements were left out, and which attributes were not read (docs/guide/networks-and-traffic.md has the rules).

    Raises:
        TopologyError: there is no such topology, or it cannot be used; names the file, the place, the value, and what
            would be right.
    """
    with _without_collection():
        topology = _load(source, directed)
    return topology if part is None else largest_part(topology)


def _load(source: str | Path, directed: bool | None) -> Topology:
    if isinstance(source, str) and (source in BUILTINS or source in topohub_names.names()):
        if directed is not None:
            raise TopologyError(source, "directed", directed, "only for a CSV or SNDlib file; leave it out")
        return BUILTINS[source]() if source in BUILTINS else topohub_names.load(source)
    return _from_file(source, directed)


def names() -> list[str]:
    """Every name that :func:`load` knows: the built-ins, then TopoHub's."""
    return [*BUILTINS, *topohub_names.names()]


def suggest(name: str) -> list[str]:
    """Up to three known names that may have been meant, the likeliest first; case and a missing group do not matter."""
    meant: dict[str, list[str]] = {}
    for full in names():
        for spelling in dict.fromkeys((full.lower(), full.rpartition("/")[2].lower())):
            meant.setdefault(spelling, []).append(full)
    close = get_close_matches(name.strip().lower(), meant, 5, 0.7)
    return list(dict.fromkeys(full for spelling in close for full in meant[spelling]))[:3]


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pauses garbage collection. Readers make millions of objects that stay, and a collection visits all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _from_file(path: str | Path, directed: bool | None) -> Topology:
    shown = os.fspath(path)
    data = _content(Path(path), shown)
    if not data.strip():
        raise TopologyError(shown, "content", None, "is empty; write nodes and links into it")
    stem = " ".join("".join(letter if letter.isprintable() else " " for letter in Path(path).stem).split())
    name = stem if is_name(stem) else "topology"
    return reader(data, Path(path).suffix, shown)(data, shown, name, directed).topology()


def _content(path: Path, shown: str) -> bytes:
    try:
        return content(path, LARGEST_TOPOLOGY)
    except InputError as error:
        if os.path.lexists(path):
            raise TopologyError(shown, "file", None, error.reason) from None
        from anabranch.foundation.extras import command, missing

        if missing("topologies"):
            hint = f"for TopoHub's topologies run: {command('topologies')}"
            raise TopologyError(shown, "topology", None, f"is no file and no built-in; {hint}") from None
        close = suggest(shown)
        hint = f"did you mean {' or '.join(close)}?" if close else "`anabranch topology list` shows the names"
        raise TopologyError(shown, "topology", None, f"is no file, no built-in and no TopoHub name; {hint}") from None
