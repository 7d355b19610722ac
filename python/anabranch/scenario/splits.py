"""Explicit paths with weights from a file: what ``anabranch robust``, ``routes`` and ``plan`` write as JSON."""

from pathlib import Path
from typing import Any

from anabranch.foundation import input_files

LARGEST_FILE = 256 * 2**20
"""Bytes; the splits of 200 nodes over four paths take 50 million."""
_DOCUMENTS = "must be a JSON document of anabranch robust, plan or routes"


def read(name: str, directory: Path | None) -> tuple[list[list[str]], list[float]]:
    """The paths of all pairs and their weights; :class:`ValueError` says what is wrong with the file.

    A relative name is looked up in the directory of the scenario.
    """
    path = (directory or Path()) / name
    document = input_files.json_document(path, LARGEST_FILE)
    listed = document.get("splits", document.get("routes")) if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError(f'{path}: has neither "splits" nor "routes"; {_DOCUMENTS}')
    paths: list[list[str]] = []
    weights: list[float] = []
    for number, entry in enumerate(listed):
        for part in _parts(entry, f"{path}: entry {number}"):
            nodes, weight = part["path"], part.get("fraction", 1.0)
            if nodes is None:
                continue  # a pair that routes found no way for
            if not isinstance(nodes, list) or len(nodes) < 2 or not all(isinstance(node, str) for node in nodes):
                raise ValueError(f"{path}: entry {number}: path must be a list of at least two node names")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1e300:
                raise ValueError(
                    f"{path}: entry {number}: fraction is {weight!r:.60}; it must be a number from 0 to 1e300"
                )
            if weight > 0:
                paths.append(nodes)
                weights.append(float(weight))
    if not paths:
        raise ValueError(f"{path}: has no paths")
    return paths, weights


def _parts(entry: Any, place: str) -> list[dict[str, Any]]:
    parts = entry.get("paths", [entry]) if isinstance(entry, dict) else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) and "path" in part for part in parts):
        raise ValueError(f'{place}: must have a "path", or "paths" that each have one; {_DOCUMENTS}')
    return parts
