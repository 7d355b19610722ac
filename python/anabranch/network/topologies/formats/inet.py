"""The output of Inet (Winick, Jamin, "Inet-3.0", 2002): numbered nodes on a plane, and edges with a weight, which is a cost."""

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft, draw_or_map
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the numbers."""
    lines = [(number, line.split()) for number, line in enumerate(text(data, source).splitlines(), 1) if line.strip()]
    number, head = lines[0]
    counts = [int(word) for word in head if word.isascii() and word.isdigit() and len(word) < 9]
    if len(head) != 2 or len(counts) != 2 or len(lines) != 1 + sum(counts):
        raise TopologyError(
            source,
            f"line {number}",
            " ".join(head),
            f"must be the numbers of nodes and edges, of which there are {len(lines) - 1}",
        )
    draft = Draft(source, name, agreed(False, directed, source))
    nodes, edges = lines[1 : 1 + counts[0]], lines[1 + counts[0] :]
    for number, words in (*nodes, *edges):
        if len(words) != 3:
            raise TopologyError(source, f"line {number}", " ".join(words), "must be NUMBER X Y or SOURCE TARGET WEIGHT")
    points = []
    for number, (_, *place) in nodes:
        x, y = map(plain_number, place)
        if x is None or y is None:
            raise TopologyError(source, f"line {number}", " ".join(place), "must be two numbers, X and Y")
        points.append((x, y))
    for (_, words), where in zip(nodes, draw_or_map(points, geographical=False), strict=True):
        draft.node(words[0], None, where)
    for number, (one, other, weight) in edges:
        draft.link(one, other, {"weight": weight}, "line {}", number)
    return draft
