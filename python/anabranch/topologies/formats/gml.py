"""GML, read by networkx."""

import re

from anabranch.topologies.draft import Draft
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.formats import agreed, text

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
    try:
        graph = networkx.parse_gml(ascii_text, label="id")
    except Exception as error:  # what networkx raises on a broken file is of every kind, RecursionError among them
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TopologyError(source, "GML", None, f"cannot be read ({reason[:200]}); see the syntax there") from None
    title = graph.graph.get("name")
    draft = Draft(
        source,
        title.strip() if isinstance(title, str) and title.strip() else name,
        agreed(graph.is_directed(), directed, source),
    )
    for identity, values in graph.nodes(data=True):
        draft.node(identity, values.get("label", values.get("name")), values)
    for number, (start, end, values) in enumerate(graph.edges(data=True), 1):
        draft.link(start, end, values, "edge {}", number)
    return draft
