"""A square matrix of numbers, a line for each node: where a number is not 0, a link leads from the node of the line to that of the column.

Numbers other than 1 are costs. If the matrix is symmetric, its links lead both ways. Nodes are named 1, 2, 3.
"""

import re

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text

_BETWEEN = re.compile(r"[\s,;]+")


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file."""
    lines = [(number, line.strip()) for number, line in enumerate(text(data, source).splitlines(), 1) if line.strip()]
    draft = Draft(source, name, agreed(True, directed, source))
    for place in range(len(lines)):
        draft.node(place + 1)
    for place, (number, line) in enumerate(lines):
        words = _BETWEEN.split(line)
        if len(words) != len(lines):
            raise TopologyError(
                source,
                f"line {number}",
                line,
                f"has {len(words)} numbers; a matrix of links has as many as lines, {len(lines)}",
            )
        for column, word in enumerate(words):
            weight = plain_number(word)
            if weight is None:
                raise TopologyError(source, f"line {number}, number {column + 1}", word, "must be a number")
            if weight:
                draft.link(
                    place + 1,
                    column + 1,
                    {} if weight == 1 else {"cost": word},
                    f"line {{}}, number {column + 1}",
                    number,
                )
    return draft
