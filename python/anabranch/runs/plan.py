"""Plans of runs: a scenario, its seeds, and the directory for its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.results.files import COMPLETE
from anabranch.results.matrix_columns import key_table
from anabranch.runs.directory import purpose, unused
from anabranch.runs.errors import RunError
from anabranch.runs.kept import KeptRuns
from anabranch.runs.run import PendingRun
from anabranch.scenario import Scenario


@dataclass(frozen=True)
class RunPlan:
    """A scenario that is to be run into a directory, with these seeds or its own."""

    scenario: Scenario
    directory: Path
    seeds: Sequence[int] | None = None
    engine: str = "packet"
    jitter: float = 0.0
    """The share by which each link's delay varies from seed to seed (:mod:`anabranch.compile.jitter`)."""

    @property
    def purpose(self) -> str:
        """A text that is the same for the same runs."""
        return _purpose(self.scenario, self.seeds, self.engine, self.jitter)

    def runs(self, kept: KeptRuns) -> list[PendingRun]:
        """One for each variant and seed."""
        keys = self.keys()
        seeds = _seeds(self.scenario, self.seeds)
        cases = enumerate(self.scenario.cases)
        pairs = [(self.scenario, case, keys.slice(row, 1), seed) for row, case in cases for seed in seeds]
        return [PendingRun(number, *pair, kept, self.engine, self.jitter) for number, pair in enumerate(pairs)]

    def is_made(self, manifest: Mapping[str, Any]) -> bool:
        """Whether a manifest is that of a complete result of these runs: with the same files beside the scenario, and by this build."""
        if manifest["scenario_hash"] != self.scenario.hash():  # titles and labels may differ, where the runs do not
            return False
        made = [(run.get("run_hash"), run["status"]) for run in manifest["runs"]]
        try:
            return made == [(run.compiled()[1], COMPLETE) for run in self.runs(KeptRuns(self.directory))]
        except ValueError:  # a variant that has no compiled form: whoever runs it says why
            return False

    def keys(self) -> pl.DataFrame:
        """The values of the matrix, one row for each variant."""
        return key_table([case.values for case in self.scenario.cases])


def default_directory(wanted: Path, scenario: Scenario, seeds: Sequence[int] | None, engine: str = "packet") -> Path:
    """The default directory of runs: ``NAME``, ``NAME-2``, ..., the first that does not exist or has unfinished work of the same runs."""
    return unused(wanted, _purpose(scenario, seeds, engine))


def _purpose(scenario: Scenario, seeds: Sequence[int] | None, engine: str, jitter: float = 0.0) -> str:
    return purpose(scenario.hash(), list(_seeds(scenario, seeds)), engine, *([jitter] if jitter else []))


def _seeds(scenario: Scenario, seeds: Sequence[int] | None) -> Sequence[int]:
    chosen = scenario.seeds if seeds is None else [index(seed) for seed in seeds]
    if not chosen or len(set(chosen)) != len(chosen) or not all(0 <= seed < 2**63 for seed in chosen):
        raise RunError(f"seeds = {chosen}: must be different whole numbers from 0, at least one, such as [1, 2, 3]")
    return chosen
