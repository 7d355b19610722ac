"""GEXF, read by networkx (https://gexf.net). Positions of ``viz:position`` are a drawing's."""

import io

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.formats.networkx_graph import draft_of, parsed
from anabranch.network.topologies.formats.xml import root


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the labels."""
    import networkx

    root(data, source)  # refuses entities and depths, which networkx would follow
    graph = parsed(lambda: networkx.read_gexf(io.BytesIO(data)), "GEXF", source)
    graph.graph.pop("name", None)
    for _, values in graph.nodes(data=True):
        place = values.pop("viz", {}).get("position", {})
        values |= {axis: place[axis] for axis in ("x", "y") if axis in place}
    for _, _, values in graph.edges(data=True):
        values.pop("id", None)
    return draft_of(graph, source, name, directed)
