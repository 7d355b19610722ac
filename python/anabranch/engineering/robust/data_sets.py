"""Traffic matrices of data sets, in which nodes may be numbers: REPETITA's demands, SNDlib's native form, and plain matrices of numbers.

A **plain matrix** has a line for each source, and in it a number for each destination, in the order of the topology's nodes, or of
their numbers if they are named 0, 1, 2 or 1, 2, 3. A
**sequence** has a matrix in each line, row after row, as TEAVAR, YATES and DOTE write it; ``FILE#3`` is its third. Numbers are bit/s.
What a node sends to itself uses no link, so the diagonal does not count.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from anabranch.engineering.robust.errors import RobustError, shortened
from anabranch.foundation import input_files


class Numbered(NamedTuple):
    """A node by its number in the topology's file, from 0."""

    number: int
    of: int | None = None
    """How many nodes the topology must have, if the matrix says it."""

    def name(self, numbered: Mapping[int, str]) -> str:
        """Its name.

        Raises:
            ValueError: there is no such node, or the topology has another number of nodes.
        """
        count = len(numbered)
        if self.of is not None and (
            self.of != count if max(numbered, default=0) == count - 1 else self.of <= max(numbered)
        ):
            raise ValueError(f"the matrix is of {self.of} nodes, the topology has {count}")
        if self.of == count and _are_numbers(numbered.values()):
            return sorted(numbered.values(), key=int)[self.number]
        if self.number not in numbered:
            raise ValueError(f"there is no node {self.number}; the topology has {count}, and the first is 0")
        return numbered[self.number]


def _are_numbers(names: Collection[str]) -> bool:
    """Whether nodes are named by consecutive numbers from 0 or 1, which then order the rows of a matrix."""
    first = "0" if "0" in names else "1"
    return set(names) == {str(number) for number in range(int(first), int(first) + len(names))}


Row = tuple[str, str | Numbered, str | Numbered, float]
"""Place, source, destination and bit/s."""

_KBPS = 1000
_NATIVE = re.compile(r"\?SNDlib native|\s*(#[^\n]*\n\s*)*(META|NODES|LINKS|DEMANDS)\s*\(")
_REPETITA = re.compile(r"\s*DEMANDS\b")
_BETWEEN = re.compile(r"[\s,;]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf", re.IGNORECASE)


def file_of(source: str | Path) -> tuple[Path, int | None]:
    """The file, and the number of a matrix in its sequence: ``demand.txt#3`` is the third of ``demand.txt``."""
    path = Path(source)
    name, _, number = path.name.rpartition("#")
    if not name or not number.isdecimal() or not number.isascii() or path.exists():
        return path, None
    return path.with_name(name), int(number[:9])


def rows(path: Path, number: int | None) -> Iterator[Row] | None:
    """The demands of a file of a data set; ``None`` if it is none.

    Raises:
        RobustError: it is one that cannot be used; names the place, the value, and what would be right.
    """
    data = input_files.content(path)
    if path.suffix.lower() in (".pkl", ".pickle", ".npy", ".npz") or data[:2] in (
        b"\x80\x03",
        b"\x80\x04",
        b"\x80\x05",
    ):
        raise RobustError(
            f"{path}: is a Python object, which may run code when it is read; write its numbers with numpy.savetxt, and name that file"
        )
    text = input_files.text(path)
    if _NATIVE.match(text):
        return _native(text, path)
    if _REPETITA.match(text):
        return _repetita(text, path)
    words = _BETWEEN.split(text.strip().partition("\n")[0].strip())
    if number is not None or (words[0] and all(map(_NUMBER.fullmatch, words))):
        return _plain(text, path, number)
    return None


def _repetita(text: str, path: Path) -> Iterator[Row]:
    """Gay, Schaus, Vissicchio, "REPETITA" (2017): numbered nodes, and kbit/s. Several demands of a pair are added."""
    found: dict[tuple[int, int], float] = {}
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 2 or lines[1][1] != ["label", "src", "dest", "bw"]:
        raise RobustError(f"{path}: line 2 must be the column names: label src dest bw")
    for number, words in lines[2:]:
        where = f"{path}: line {number}"
        if len(words) != 4:
            raise RobustError(f"{where}: must have the columns label src dest bw")
        source, target = (_index(word, where) for word in words[1:3])
        if source != target:
            rate = _rate(words[3], f"{where}, bw") * _KBPS
            found[source, target] = found.get((source, target), 0.0) + rate
    if not found:
        raise RobustError(f"{path}: has no demand between two nodes")
    for (source, target), rate in found.items():
        yield str(path), Numbered(source), Numbered(target), rate


def _native(text: str, path: Path) -> Iterator[Row]:
    from anabranch.network.topologies.errors import TopologyError
    from anabranch.network.topologies.formats.sndlib_native import demands

    try:
        found = list(demands(text, str(path)))
    except TopologyError as error:
        raise RobustError(str(error)) from None
    if not found:
        raise RobustError(f"{path}: has no demand; SNDlib's networks with demands have a section DEMANDS ( ... )")
    yield from found


def _plain(text: str, path: Path, number: int | None) -> Iterator[Row]:
    lines = [(line, written) for line, written in enumerate(text.splitlines(), 1) if written.strip()]
    if not lines:
        raise RobustError(f"{path}: is empty; write a number for each source and destination")
    width = len(_BETWEEN.split(lines[0][1].strip()))
    nodes = math.isqrt(width)
    if number is None and len(lines) == width:
        nodes, parts = width, lines
    elif nodes * nodes != width or nodes < 2:
        raise RobustError(
            f"{path}: has {len(lines)} lines, and {width} numbers in the first; a matrix has as many lines as numbers in each, "
            "and a sequence has a square number of them in each line"
        )
    elif number is None and len(lines) > 1:
        raise RobustError(f"{path}: has {len(lines)} matrices of {nodes} nodes; name one, such as {path.name}#1")
    elif number is not None and not 1 <= number <= len(lines):
        raise RobustError(f"{path}: has no matrix {number}; there are {len(lines)}, the first is {path.name}#1")
    else:
        parts = [lines[(number or 1) - 1]]
    values: list[tuple[str, str]] = []
    for line, written in parts:
        words = _BETWEEN.split(written.strip())
        if len(words) != width:
            raise RobustError(f"{path}: line {line} has {len(words)} numbers; the first has {width}")
        values += [(f"{path}: line {line}", word) for word in words]
    for place, (where, word) in enumerate(values):
        source, target = divmod(place, nodes)
        rate = _rate(word, f"{where}, number {place % width + 1}")
        if source != target:
            yield where, Numbered(source, nodes), Numbered(target, nodes), rate


def _rate(word: str, where: str) -> float:
    rate = float(word) if _NUMBER.fullmatch(word) else math.nan
    if not 0 <= rate < math.inf:
        raise RobustError(f"{where} {shortened(repr(word))}: must be a number of at least 0")
    return rate


def _index(word: str, where: str) -> int:
    if not word.isascii() or not word.isdecimal():
        raise RobustError(f"{where} {shortened(repr(word))}: must be the number of a node, from 0")
    return int(word[:9])
