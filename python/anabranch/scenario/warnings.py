"""What a scenario may say but its author may not mean: a rule for each trap, with the place and the remedy."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from anabranch.scenario.problems import Problem

if TYPE_CHECKING:
    from anabranch.scenario import Case


def of(case: "Case") -> Iterator[Problem]:
    """All that is worth a warning in one variant."""
    for rule in RULES:
        yield from rule(case)


def _topology(case: "Case") -> Iterator[Problem]:
    """What the loader changed."""
    for warning in case.topology.warnings:
        yield Problem(("topology",), warning)


RULES: tuple[Callable[["Case"], Iterator[Problem]], ...] = (_topology,)
