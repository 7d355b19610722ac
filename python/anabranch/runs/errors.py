"""Errors of runs."""

from dataclasses import dataclass

from anabranch.scenario import Case


class RunError(ValueError):
    """An engine refuses a run, or an argument cannot be used."""


@dataclass(frozen=True)
class Refusal:
    """Why an engine does not run a variant."""

    case: Case
    why: str
