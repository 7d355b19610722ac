"""CAIDA's relations of autonomous systems (``as-rel``): ``A|B|-1`` if A provides for B, ``A|B|0`` for peers, after comments.

A relation is a link both ways. The relation itself is not read: routes here do not know of providers.
"""

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the numbers of the systems."""
    draft = Draft(source, name, agreed(False, directed, source))
    rows = []
    for number, line in enumerate(text(data, source).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            words = line.strip().split("|")
            if len(words) < 3:
                raise TopologyError(source, f"line {number}", line, "must be A|B|RELATION")
            rows.append((number, words))
    for system in dict.fromkeys(system for _, words in rows for system in words[:2]):
        draft.node(system)
    for number, words in rows:
        draft.link(words[0], words[1], {}, "line {}", number)
    draft.notes.append("who provides for whom is not read: each relation is a link both ways")
    return draft
