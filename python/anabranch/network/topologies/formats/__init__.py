"""One module for each file format, with a function ``read(data, source, name, directed)`` that returns a draft.

``data`` is the whole file, ``source`` its name in errors, and ``name`` the topology's name if the file has none.
``directed`` says whether edges are directed (``None``: unknown). A format is registered by a line in
:data:`FORMATS`.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError

Reader = Callable[[bytes, str, str, bool | None], Draft]


class Format(NamedTuple):
    """A format, and how to recognise it."""

    title: str
    suffixes: tuple[str, ...]
    content: re.Pattern[bytes]
    """Matches the first kilobyte of such a file after its comments."""


FORMATS = {
    "graphml": Format("GraphML", (".graphml",), re.compile(rb"<(\w+:)?graphml\b")),
    "sndlib": Format("SNDlib XML", (".sndlib",), re.compile(rb"<(\w+:)?network\b")),
    "dot": Format(
        "DOT", (".dot", ".gv"), re.compile(rb"(\A|\n|\*/)\s*(strict\s+)?(di)?graph\b[^\[{;=]*\{", re.IGNORECASE)
    ),
    "gml": Format("GML", (".gml",), re.compile(rb"(^|\n)\s*graph\s*\[")),
    "node_link": Format("TopoHub JSON", (".json",), re.compile(rb"\A\s*\{")),
    "gexf": Format("GEXF", (".gexf",), re.compile(rb"<(\w+:)?gexf\b")),
    "pajek": Format("Pajek", (".net",), re.compile(rb"\A\s*(%[^\n]*\n\s*)*\*(network|vertices)\b", re.IGNORECASE)),
    "brite": Format("BRITE", (".brite",), re.compile(rb"\ATopology:\s*\(")),
    "rocketfuel": Format(
        "Rocketfuel",
        (".cch", ".intra"),
        re.compile(rb"\A(-?\d+\s+(@\S+|=)|[^\s,;]*[A-Za-z][^\s;]*[ \t]+\S+[ \t]+[\d.]+\s*\n)"),
    ),
    "hpcc": Format(
        "HPCC's topology", (), re.compile(rb"\A\s*\d+ +\d+ +\d+ *\r?\n[\d ]*\r?\n\d+ +\d+ +[\d.]+[A-Za-z/]+ ")
    ),
    "htsim": Format("htsim", (".topo",), re.compile(rb"\A\s*Nodes +\d+\s+Tiers +\d", re.IGNORECASE)),
    "repetita": Format("REPETITA", (".graph",), re.compile(rb"\A\s*NODES\b")),
    "sndlib_native": Format("SNDlib native", (), re.compile(rb"\A\?SNDlib native|\A\s*(META|NODES)\s*\(")),
    "inet": Format("Inet", (), re.compile(rb"\A\s*\d+[ \t]+\d+[ \t]*\r?\n\s*\d+[ \t]+[\d.-]+[ \t]+[\d.-]+[ \t]*\r?\n")),
    "caida": Format("CAIDA's as-rel", (), re.compile(rb"\A\d+\|\d+\|-?\d")),
    "adjacency": Format("matrix", (), re.compile(rb"\A\s*[\d.]+([ \t,;]+[\d.eE+-]+)+[ \t]*\r?\n")),
    "csv_table": Format(
        "CSV",
        (".csv",),
        re.compile(rb"\A(?=[^\n]*\b(source|src|from|from_node)\b)[^\n]*\b(target|dst|dest|to|to_node)\b"),
    ),
}
"""Module of this package, and how its files are recognised."""


_COMMENTS = re.compile(rb"(#[^\n]*\n)+")


def reader(data: bytes, suffix: str, source: str) -> Reader:
    """The reader for a file: by its suffix, else by its content.

    Raises:
        TopologyError: neither tells.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    comments = _COMMENTS.match(data)
    head = data[comments.end() :][:1024] if comments else data[:1024]
    by_suffix = [name for name, known in FORMATS.items() if suffix.lower() in known.suffixes]
    by_content = [name for name, known in FORMATS.items() if known.content.search(head)]
    for name in by_suffix + by_content:
        found: Reader = import_module(f"{__name__}.{name}").read
        return found
    known = ", ".join(
        known.title + (f" ({', '.join(known.suffixes)})" if known.suffixes else "") for known in FORMATS.values()
    )
    raise TopologyError(source, "content", bytes(head[:20]), f"is of no known format; known are {known}")


def agreed(own: bool | None, directed: bool | None, source: str) -> bool | None:
    """Whether edges are directed: as the file says itself, else as the caller says, who may not say otherwise."""
    if own is None:
        return directed
    if directed is not None and directed != own:
        says = "directed" if own else "undirected"
        raise TopologyError(source, "directed", directed, f"the file declares its edges as {says}; change it there")
    return own


def text(data: bytes, source: str) -> str:
    """The file as text, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = bytes(data[error.start : error.start + 1])
        raise TopologyError(source, f"byte {error.start}", found, "is not UTF-8; save the file as UTF-8 text") from None
