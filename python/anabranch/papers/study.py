"""What a study of a paper consists of: experiments, and findings in their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from anabranch.papers.published import Published
    from anabranch.results import Result
    from anabranch.scenario import Scenario

Verdict = Literal["holds", "holds partly", "does not hold"]


@dataclass(frozen=True)
class Experiment:
    """A scenario of which all variants are run with all seeds; its name is that of the run directory."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Number:
    """A number that we found; what it is, its unit and its place are those of the published one of the same ``id``, if any."""

    id: str
    value: float | None
    half_width: float | None = None
    """Half of the 95 % confidence interval over seeds; unknown for one seed, and for what is not drawn."""
    what: str = ""
    unit: str = ""
    where: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Claim:
    """What a paper says, and whether it is so."""

    id: str
    where: str
    says: str
    verdict: Verdict
    evidence: str
    """Our numbers."""
    reason: str = ""
    """Why it does not hold in full."""


@dataclass(frozen=True)
class Picture:
    """A figure like the paper's."""

    id: str
    where: str
    caption: str
    chart: Any
    """An Altair chart."""


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    id: str
    where: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Findings:
    """What a study found."""

    claims: Sequence[Claim]
    numbers: Sequence[Number]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Lab:
    """What a study has at hand."""

    name: str
    quick: bool
    folder: Path
    """The paper's data: scenarios, published numbers."""
    directory: Path
    """Where the results go."""
    published: Mapping[str, Published] = field(default_factory=dict)
    seeds: int | None = None
    """How many seeds the user asks for instead of the scenarios' own."""

    def scenario(
        self, file: str, *, full: Mapping[str, str] | None = None, quick: Mapping[str, str] | None = None
    ) -> Scenario:
        """A scenario of the paper's folder, with the settings of the full or the quick version, as ``--set KEY=VALUE`` has them.

        :class:`anabranch.scenario.ScenarioError` holds its problems.
        """
        from anabranch.scenario import Scenario

        settings = dict((quick if self.quick else full) or {})
        if self.seeds is not None:
            settings["run.seeds"] = str(self.seeds)
        return Scenario.load(self.folder / "scenarios" / file, settings)

    def kept(self, name: str, inputs: Any, compute: Callable[[], Any]) -> Any:
        """What ``compute`` returns, as JSON has it; computed once for each name and inputs, then kept in the directory."""
        from anabranch.papers.lab import kept

        return kept(self.directory, name, inputs, compute)


class Study(Protocol):
    """A module about a paper."""

    def experiments(self, lab: Lab) -> list[Experiment]:
        """What is run."""

    def findings(self, lab: Lab, results: Mapping[str, Result]) -> Findings:
        """What the results say, by the experiments' names."""
