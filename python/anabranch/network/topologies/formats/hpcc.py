"""The topology files of HPCC's ns-3 simulator (Li et al., SIGCOMM 2019): numbered nodes, and links with rate and delay.

The first line has the numbers of nodes, switches and links, the second the switches. A link is ``SOURCE TARGET RATE DELAY ERROR-RATE``,
both ways; the error rate is the share of packets lost.
"""

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text

_MOST_NODES = 10**7


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the numbers."""
    lines = [(number, line.split()) for number, line in enumerate(text(data, source).splitlines(), 1)]
    number, head = lines[0]
    if len(head) != 3 or not all(word.isascii() and word.isdigit() and len(word) < 9 for word in head):
        raise TopologyError(
            source, f"line {number}", " ".join(head), "must be the numbers of nodes, switches and links"
        )
    nodes, switches, links = map(int, head)
    rows = [(number, words) for number, words in lines[1:] if words]
    if switches:
        rows = rows[1:]
    if nodes > _MOST_NODES or len(rows) < links:
        raise TopologyError(
            source, f"line {number}", " ".join(head), f"says {links} links, and {len(rows)} follow the line of switches"
        )
    draft = Draft(source, name, agreed(False, directed, source))
    if len(rows) > links:
        draft.notes.append(
            f"{len(rows) - links} lines after the links that line 1 counts are not read, as in the simulator"
        )
    for node in range(nodes):
        draft.node(node)
    for number, words in rows[:links]:
        if len(words) != 5:
            raise TopologyError(
                source, f"line {number}", " ".join(words), "must be SOURCE TARGET RATE DELAY ERROR-RATE"
            )
        values = dict(zip(("capacity", "delay", "loss"), words[2:], strict=True))
        draft.link(words[0], words[1], values, "line {}", number)
    return draft
