"""The parts of a paper's study: experiments, and findings from their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.scenario import Scenario
    from anabranch.studies.papers.published import Published

Verdict = Literal["holds", "holds partly", "does not hold", "undecided"]


@dataclass(frozen=True)
class Experiment:
    """A scenario, whose variants all run with all seeds. Its name is that of the run directory."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Number:
    """A number that we found. If a published number has the same ``id``, ``what``, ``unit`` and ``where`` are that number's."""

    id: str
    value: float | None
    half_width: float | None = None
    """Half of the 95 % confidence interval over seeds; ``None`` for one seed, and for numbers without random draws."""
    what: str = ""
    unit: str = ""
    where: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with our verdict."""

    id: str
    where: str
    says: str
    rule: str
    """When the claim holds, and when it holds partly."""
    verdict: Verdict
    evidence: str
    """Our numbers."""
    reason: str = ""
    """Why the claim does not hold in full."""


@dataclass(frozen=True)
class Picture:
    """A figure like the paper's."""

    id: str
    where: str
    caption: str
    chart: Any
    """An Altair chart."""


@dataclass(frozen=True)
class Figure:
    """A row of a paper's table of figures."""

    id: str
    where: str
    caption: str
    """May have named values in braces, as in :meth:`str.format`."""
    draw: Callable[..., Any]
    """Draws an Altair chart from what the study found."""
    values: Callable[..., Mapping[str, object]] | None = None
    """Computes the caption's values."""


def drawn(figures: Sequence[Figure], *found: Any) -> list[Picture]:
    """The pictures of a table of figures, whose functions all get ``found``."""
    pictures = []
    for figure in figures:
        values = figure.values(*found) if figure.values else {}
        pictures.append(Picture(figure.id, figure.where, figure.caption.format(**values), figure.draw(*found)))
    return pictures


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
    """The findings of a study."""

    claims: Sequence[Claim]
    numbers: Sequence[Number]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    cpu_s: float = 0.0
    """CPU time of the study with this build of the engine, in seconds: of this call and of earlier ones whose runs it uses."""


@dataclass(frozen=True)
class Lab:
    """The inputs of a study, and the directory of its results."""

    name: str
    quick: bool
    folder: Path
    """The paper's data: scenarios, published numbers."""
    directory: Path
    """The directory of the results."""
    published: Mapping[str, Published] = field(default_factory=dict)
    seeds: int | None = None
    """The user's number of seeds, which replaces that of the scenarios."""

    def scenario(
        self, file: str, *, full: Mapping[str, str] | None = None, quick: Mapping[str, str] | None = None
    ) -> Scenario:
        """A scenario of the paper's folder, with the settings of the full or the quick version (as in ``--set KEY=VALUE``).

        Raises :class:`anabranch.scenario.ScenarioError` with the problems of the scenario.
        """
        from anabranch.scenario import Scenario

        settings = dict((quick if self.quick else full) or {})
        if self.seeds is not None:
            settings["run.seeds"] = str(self.seeds)
        return Scenario.load(self.folder / "scenarios" / file, settings)

    def kept(self, name: str, inputs: Any, compute: Callable[[], Any]) -> Any:
        """The result of ``compute``, as JSON has it. It is computed once for each name and inputs, and kept in the directory."""
        from anabranch.studies.papers.lab import kept

        return kept(self.directory, name, inputs, compute)


class Study(Protocol):
    """A module about a paper."""

    def experiments(self, lab: Lab) -> list[Experiment]:
        """The experiments to run."""

    def findings(self, lab: Lab, results: Mapping[str, Result]) -> Findings:
        """The findings from the results, which are given by the experiments' names."""
