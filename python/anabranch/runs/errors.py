"""What cannot be run."""

from dataclasses import dataclass

from anabranch.scenario import Case


class RunError(ValueError):
    """What an engine refuses, or an argument that cannot be used."""


@dataclass(frozen=True)
class Refusal:
    """Why an engine does not run a variant."""

    case: Case
    why: str
