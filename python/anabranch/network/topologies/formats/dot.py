"""Graphviz's DOT language: nodes, edges and their attributes, with defaults, chains, sets of nodes and subgraphs.

networkx reads DOT by pydot alone, which this package would need for nothing else. Ports of nodes do not count, and texts in HTML are refused.
A number may have an exponent or a unit without quotes, as in ``1e9`` or ``10Mbps``.
"""

import re
from collections.abc import Mapping
from itertools import pairwise

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text

_TOKEN = re.compile(
    r'\s+|//[^\n]*|/\*.*?\*/|^#[^\n]*|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>-?\.?\d[\w.%]*(?:(?<=[eE])[+-]\d+)?|[^\W\d]\w*)'
    r"|(?P<edge>->|--)|(?P<sign>[{}\[\]=;,:+])",
    re.DOTALL | re.MULTILINE,
)
_DEEPEST = 50
_Token = tuple[str, str, int]
"""Kind, text and line."""


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are their labels, else the ids."""
    return _Parser(text(data, source), source).draft(name, directed)


class _Parser:
    """The language's grammar (https://graphviz.org/doc/info/lang.html), a method for each of its rules."""

    def __init__(self, written: str, source: str) -> None:
        self._source = source
        self._tokens = self._split(written)
        self._next = 0
        self._nodes: dict[str, dict[str, str]] = {}
        self._edges: list[tuple[str, str, dict[str, str], int]] = []

    def draft(self, name: str, directed: bool | None) -> Draft:
        """The whole file."""
        self._takes("strict", lower=True)
        kind = self._word().lower()
        if kind not in ("graph", "digraph"):
            raise self._wrong(self._next - 1, "must be graph or digraph")
        title = name if self._peek() == "{" else self._word().strip() or name
        self._needs("{")
        self._statements({}, {}, 0)
        draft = Draft(self._source, title, agreed(kind == "digraph", directed, self._source))
        for node, values in self._nodes.items():
            label = values.get("label", "")
            draft.node(node, None if "\\" in label else label, _place(values) | values)
        for number, (start, end, values, line) in enumerate(self._edges, 1):
            both = values.get("dir") in ("both", "none") or None
            draft.link(start, end, values, f"line {line}, edge {{}}", number, False if both else None)
        return draft

    def _split(self, written: str) -> list[_Token]:
        tokens: list[_Token] = []
        place, line = 0, 1
        while place < len(written):
            match = _TOKEN.match(written, place)
            if match is None:
                raise TopologyError(
                    self._source,
                    f"line {line}",
                    written[place : place + 20],
                    "is not read; write names and texts in quotes",
                )
            kind, shown = match.lastgroup, match[0]
            if kind == "text":
                shown = re.sub(r'\\(\n|")', lambda found: found[1].strip(), shown[1:-1])
            if kind is not None:
                tokens.append((kind, shown, line))
            line += written.count("\n", place, match.end())
            place = match.end()
        return tokens

    def _statements(self, of_nodes: dict[str, str], of_edges: dict[str, str], depth: int) -> list[str]:
        """Statements up to the brace that ends them; returns their nodes. Defaults hold within the braces."""
        if depth > _DEEPEST:
            raise self._wrong(self._next, f"is nested more than {_DEEPEST} deep; no topology is")
        of_nodes, of_edges = dict(of_nodes), dict(of_edges)
        inside: dict[str, None] = {}
        while not self._takes("}"):
            if self._takes(";") or self._takes(","):
                continue
            start, line = self._next, self._line()
            first = self._ends(of_nodes, of_edges, depth)
            if first is None:
                word = self._word()
                if self._takes("="):
                    self._word()  # an attribute of the graph
                    continue
                kind = word.lower()
                if kind in ("node", "edge", "graph") and self._tokens[start][0] == "word" and self._peek() == "[":
                    (of_nodes if kind == "node" else of_edges if kind == "edge" else {}).update(self._attributes())
                    continue
                first = [self._node(word, of_nodes)]
            inside |= dict.fromkeys(first)
            ways = [first]
            while self._peek() in ("->", "--"):
                self._next += 1
                ends = self._ends(of_nodes, of_edges, depth)
                ways.append([self._node(self._word(), of_nodes)] if ends is None else ends)
                inside |= dict.fromkeys(ways[-1])
            values = self._attributes()
            if len(ways) == 1:
                for node in first:
                    self._nodes[node] |= values
            for sources, targets in pairwise(ways):
                self._edges += [(one, other, of_edges | values, line) for one in sources for other in targets]
        return list(inside)

    def _ends(self, of_nodes: dict[str, str], of_edges: dict[str, str], depth: int) -> list[str] | None:
        """The nodes of a subgraph, if one is next."""
        if self._takes("subgraph", lower=True) and self._peek() != "{":
            self._word()
        return self._statements(of_nodes, of_edges, depth + 1) if self._takes("{") else None

    def _node(self, name: str, defaults: Mapping[str, str]) -> str:
        self._nodes.setdefault(name, dict(defaults))
        while self._takes(":"):  # a port of the node
            self._word()
        return name

    def _attributes(self) -> dict[str, str]:
        values: dict[str, str] = {}
        while self._takes("["):
            while not self._takes("]"):
                name = self._word()
                values[name] = self._word() if self._takes("=") else "true"
                if not self._takes(","):
                    self._takes(";")
        return values

    def _peek(self) -> str:
        """The sign or word that is next; a text in quotes is no sign."""
        if self._next >= len(self._tokens):
            raise TopologyError(self._source, "end of file", None, "comes before the } that ends the graph")
        kind, shown, _ = self._tokens[self._next]
        return "" if kind == "text" else shown

    def _takes(self, wanted: str, lower: bool = False) -> bool:
        found = self._peek()
        if (found.lower() if lower else found) != wanted:
            return False
        self._next += 1
        return True

    def _needs(self, wanted: str) -> None:
        if not self._takes(wanted):
            raise self._wrong(self._next, f"must be {wanted}")

    def _word(self) -> str:
        self._peek()
        kind, shown, _ = self._tokens[self._next]
        if kind not in ("word", "text"):
            raise self._wrong(self._next, "must be a name")
        self._next += 1
        while kind == "text" and self._takes("+"):
            shown += self._word()
        return shown

    def _line(self) -> int:
        self._peek()
        return self._tokens[self._next][2]

    def _wrong(self, token: int, expectation: str) -> TopologyError:
        _, shown, line = self._tokens[token]
        return TopologyError(self._source, f"line {line}", shown, expectation)


def _place(values: Mapping[str, str]) -> dict[str, object]:
    """The place on the drawing that Graphviz has written, as ``pos="72,36"``."""
    x, comma, y = values.get("pos", "").rstrip("!").partition(",")
    numbers = plain_number(x), plain_number(y)
    return dict(zip("xy", numbers, strict=True)) if comma and None not in numbers else {}
