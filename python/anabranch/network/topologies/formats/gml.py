"""GML, read by networkx."""

import re

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.formats import text
from anabranch.network.topologies.formats.networkx_graph import draft_of, parsed

_GRAPH = re.compile(r"^\s*graph\s*\[", re.MULTILINE)
_EXPONENT = re.compile(r'"[^"]*"|#[^\n]*|(?<![\w.])([+-]?\d+)([Ee][+-]?\d+)\b')
"""A number with an exponent and no point; or a text or comment, which may hold what looks like one."""


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are ``label`` or ``name``, else the ids."""
    import networkx

    # GML is ASCII with character references; files in UTF-8 are common all the same.
    ascii_text = text(data, source).encode("ascii", "xmlcharrefreplace").decode("ascii")
    # igraph writes 1e-05, which networkx takes for the number 1 and a key e.
    ascii_text = _EXPONENT.sub(lambda found: f"{found[1]}.0{found[2]}" if found[1] else found[0], ascii_text)
    # networkx refuses parallel edges in a file that does not say that it may have them.
    ascii_text = _GRAPH.sub(r"\g<0> multigraph 1\n", ascii_text, count=1)
    graph = parsed(lambda: networkx.parse_gml(ascii_text, label="id"), "GML", source)
    return draft_of(graph, source, name, directed)
