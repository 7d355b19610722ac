"""Metrics of routing by name, for scenarios and the command line, as the core declares them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anabranch import _core
from anabranch.foundation.suggest import suggest

_DECLARED: list[dict[str, Any]] = json.loads(_core.metrics())

NAMES: Sequence[str] = tuple(one["name"] for one in _DECLARED)
SUMS: Sequence[str] = tuple(one["name"] for one in _DECLARED if one["kind"] == "sum")
"""Metrics that add up along a path; paths by them may be disjoint."""
BOTTLENECKS: Sequence[str] = tuple(one["name"] for one in _DECLARED if one["kind"] == "least")
"""Metrics that count the least value of a path's links; a greater value is better."""
BY_THROUGHPUT: Sequence[str] = tuple(one["name"] for one in _DECLARED if one["kind"] == "throughput")
"""Predicted TCP throughput: as the paper searches, exactly, and of a stack. All others are isotone: Dijkstra's method serves them."""
MEASURABLE: Sequence[str] = tuple(one["name"] for one in _DECLARED if one["is_measured"])
"""Metrics that depend on measurements of links."""
DESCRIPTIONS: Mapping[str, str] = {one["name"]: one["summary"] for one in _DECLARED}
NEEDS: Mapping[str, Sequence[str]] = {one["name"]: tuple(one["needs"]) for one in _DECLARED}
"""The attributes of links that each metric needs."""
GOODPUT = "goodput:STACK"
"""The metric that names a stack."""


def stack_of(name: str) -> str | None:
    """The stack that a metric such as ``goodput:linux-cubic`` names; ``None`` of another metric."""
    kind, colon, stack = name.partition(":")
    return stack.strip() if colon and kind == GOODPUT.partition(":")[0] else None


def declared(name: str) -> str:
    """The name under which a metric is declared: ``goodput:STACK`` for each stack."""
    return name if stack_of(name) is None else GOODPUT


def metric(text: str) -> list[str]:
    """The metrics that a text names: one, or several isotone ones with commas, the weightiest first.

    Raises:
        ValueError: says which name is none, or why these do not go together, and what would be right.
    """
    if not isinstance(text, str):
        raise ValueError(f'must be a metric such as "delay", or several such as "hop-count, delay": {", ".join(NAMES)}')
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name == GOODPUT or stack_of(name) == "" or name == GOODPUT.partition(":")[0]:
            raise ValueError(f'"{name}" needs the name of a stack, such as "goodput:linux-cubic"')
        if declared(name) not in NAMES:
            raise ValueError(f'"{name}" is not a metric; {suggest(name, NAMES)}')
        if declared(name) in BY_THROUGHPUT and len(names) > 1:
            raise ValueError(f'"{name}" cannot be combined with other metrics: it already combines delay and loss')
        if names.count(name) > 1:
            raise ValueError(f'"{name}" is listed twice; name each metric once')
    early = [name for name in names[:-1] if name in BOTTLENECKS]
    if early:
        raise ValueError(
            f'"{early[0]}" may only be the last metric: before another it is not isotone, and no best path would be certain'
        )
    return names


def compiled(text: str, law: Callable[[str], Any]) -> str | list[str] | dict[str, Any]:
    """The metric in the form of the compiled run. ``law`` returns the table of the predicted goodput of a stack by its name.

    Raises:
        ValueError: as :func:`metric`, and as ``law``.
    """
    names = metric(text)
    stack = stack_of(names[0])
    if stack is not None:
        return {"goodput": law(stack)}
    return names[0] if len(names) == 1 else names
