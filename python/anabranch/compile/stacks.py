"""Stacks as the core has them, and their predicted goodput over any path."""

import json
from functools import lru_cache
from typing import Any

from anabranch import _core
from anabranch.foundation.progress import Computing
from anabranch.foundation.suggest import suggest
from anabranch.scenario.stacks import PRESETS, Stack, preset_stack


def compiled_stack(name: str, stack: Stack) -> dict[str, Any]:
    """The ``StackSpec`` of a stack, as plain data for JSON."""
    congestion, detection, ack = stack.policies()
    return {
        "name": name,
        "congestion": congestion,
        "slow_start": stack.slow_start.compiled(),
        "detection": detection,
        "ack": ack,
        **({} if stack.protocol.name == "tcp" else {"protocol": stack.protocol.compiled()}),
        **({} if stack.entropy is None else {"entropy": stack.entropy.compiled()}),
        **stack.settings(),
    }


def goodput_law(name: str, stack: Stack) -> dict[str, Any]:
    """The table of a stack's predicted goodput, which the metric ``goodput:STACK`` needs (``GoodputLaw`` of the core).

    Raises:
        ValueError: says why the stack cannot be predicted.
    """
    with Computing(f"the goodput of {name}"):  # seconds for stacks that measure the rate
        law: dict[str, Any] = json.loads(_law(json.dumps(compiled_stack(name, stack))))
    return law


@lru_cache(maxsize=64)
def _law(stack: str) -> str:
    """A table takes up to five seconds, and every seed and every variant of a scenario asks for it."""
    return _core.goodput_law(stack)


def preset_law(name: str) -> dict[str, Any]:
    """The table of a preset, for :class:`anabranch.routes.Search`.

    Raises:
        ValueError: there is no such preset, or it cannot be predicted.
    """
    if name not in PRESETS:
        raise ValueError(f'"goodput:{name}": there is no stack "{name}"; {suggest(name, list(PRESETS))}')
    return goodput_law(name, preset_stack(name))
