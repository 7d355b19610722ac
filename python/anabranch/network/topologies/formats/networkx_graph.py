"""What networkx has read, as a draft: its graphs know nodes, edges, their attributes, and whether edges are directed."""

from collections.abc import Callable
from typing import Any

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed


def parsed(parse: Callable[[], Any], title: str, source: str) -> Any:
    """The graph that a parser of networkx returns.

    Raises:
        TopologyError: it cannot read the file; ``title`` is the format.
    """
    try:
        return parse()
    except Exception as error:  # what networkx raises on a broken file is of every kind, RecursionError among them
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TopologyError(source, title, None, f"cannot be read ({reason[:200]}); see the syntax there") from None


def draft_of(graph: Any, source: str, name: str, directed: bool | None) -> Draft:
    """The draft; node names are ``label`` or ``name``, else the ids."""
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
