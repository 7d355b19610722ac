"""The result of a format: files by name, warnings, and the largest error of weights."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from anabranch.engineering.routes.export.plan import PlannedNode


@dataclass
class Files:
    """The files of an export before they are written."""

    texts: dict[str, str] = field(default_factory=dict)
    """The texts of the files by name."""
    largest_error: float = 0.0
    """The most by which a whole-number weight misses the share that was meant."""
    warnings: list[str] = field(default_factory=list)
    routers: str = ""
    """Of a laboratory, the format of its routers."""

    def missed(self, error: float) -> None:
        """Remember the error of some weights."""
        self.largest_error = max(self.largest_error, error)


def document(head: dict[str, Any], name: str, records: Iterable[dict[str, Any]]) -> str:
    """JSON with a record a line, last in the document."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(record, ensure_ascii=False, allow_nan=False)}" for record in records)
    return f"{{\n{''.join(lines)} {json.dumps(name)}: [\n{body}\n ]\n}}\n"


def quoted(name: str) -> str:
    """A name for comments: always one line of ASCII."""
    return json.dumps(name)


def heading(node: PlannedNode, what: str, comment: str = "#") -> str:
    """The first line of a file for a node."""
    return f"{comment} {node.identifier} = node {quoted(node.name)}: {what}\n"


def error_note(error: float, comment: str = "#") -> str:
    """A line on the weights of a file; empty if they are exact."""
    return f"{comment} weights miss the shares by at most {error:.3g}\n" if error > 1e-12 else ""
