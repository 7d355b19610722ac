"""``anabranch compare``."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

from cyclopts import Parameter

from anabranch.cli.engines import EngineName, MaxLateness, simulations
from anabranch.cli.exit_status import DONE, FAILED, INTERRUPTED, UsageError
from anabranch.cli.options import COMPARISON, OUTPUT, WORK, Jobs, Json, ScenarioFile, Settings, Share, at_least
from anabranch.cli.output import json_text, say, tell
from anabranch.cli.report import say_what_lacks
from anabranch.cli.scenarios import load, warn
from anabranch.foundation import examples
from anabranch.foundation.input_files import shown, stem
from anabranch.foundation.text_table import count, percent, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anabranch.engines.packet import CompiledRun, Simulation
    from anabranch.results.result import Result
    from anabranch.scenario import Scenario

LEAST_RUNS = 5
"""Runs with jitter of each variant."""
_JITTER = 0.02
"""The share by which link delays vary, if the option is absent."""


@Parameter(name="*", group=COMPARISON)
@dataclass(frozen=True)
class Compared:
    """The engines to compare, and how close their results must be."""

    engines: Annotated[str, Parameter(help="Engines; the others are compared with the first.")] = "packet,kernel"
    within: Annotated[
        Share | None, Parameter(help="Exit with status 1 if a ratio is farther from 1 than this: 0.05 or 5%.")
    ] = None

    jitter: Annotated[
        Share | None,
        Parameter(
            help="Beside predict: vary the packet engine's link delays by this share, and its starts, in at least five runs (default 2%); 0 runs the scenario as it is."
        ),
    ] = None

    def jitter_of(self, engines: "Sequence[EngineName]") -> float:
        """The jitter of the packet engine, as a share of each delay.

        Raises:
            UsageError: names the option, its value, and what would be right.
        """
        is_used = {"packet", "predict"} <= set(engines)
        if self.jitter is None:
            return _JITTER if is_used else 0.0
        if not 0 <= self.jitter <= 0.5:
            raise UsageError(f"--jitter {100 * self.jitter:g}%: must be between 0% and 50%")
        if not is_used and self.jitter > 0:
            raise UsageError(
                f"--jitter {100 * self.jitter:g}%: only the packet engine beside predict varies; leave it out"
            )
        return self.jitter

    def chosen(self) -> list[EngineName]:
        """The engines.

        Raises:
            UsageError: names the option, its value, and what would be right.
        """
        possible = get_args(EngineName)
        names = [name.strip() for name in self.engines.split(",")]
        if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(possible):
            raise UsageError(f"--engines {self.engines}: must be two or more different ones of {', '.join(possible)}")
        return [cast("EngineName", name) for name in names]


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """The outputs of the results."""

    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Directory (default runs/NAME-engines).")] = None
    json: Json = False


def compare(
    scenario: ScenarioFile,
    /,
    *,
    compared: Compared = Compared(),
    settings: Settings = None,
    jobs: Jobs = None,
    max_lateness: Annotated[MaxLateness, Parameter(group=WORK)] = None,
    output: Output = Output(),
) -> int:
    """Run a scenario by several engines, and compare them flow by flow and link by link.

    Each engine has a run directory inside the output directory. One that is complete is not run again.

    Variants that kernel or predict refuses are left out before another engine runs them: the command says why, and its status is 1.
    """
    at_least(1, jobs=jobs)
    engines = compared.chosen()
    if compared.within is not None and not compared.within >= 0:  # nor is it NaN
        raise UsageError(f"--within {100 * compared.within:g}%: must be at least 0%, such as 5%")
    varied = compared.jitter_of(engines)
    makers = simulations(engines, max_lateness)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in run
    loaded = load(scenario, settings)
    warn(loaded)
    left = loaded
    if "kernel" in engines:
        by_case = [(case, _refused_by_kernel(loaded.with_cases([case]))) for case in loaded.cases]
        left = loaded.with_cases(case for case, refused in by_case if not refused)
        lines = [line for _, refused in by_case for line in refused]
        if not left.cases:
            say("\n".join(lines))
            return FAILED
        for line in lines:
            say(f"Left out: {line}")
    directory = output.out or Path("runs") / f"{stem(examples.resolved(scenario))}-engines"
    seeds = _seeds_of_jitter(loaded.seeds) if varied else loaded.seeds
    results = {}
    # Predictions say which variants to leave out, so they come first.
    for engine in sorted(engines, key=lambda engine: engine != "predict"):
        jitter = varied if engine == "packet" else 0.0
        folder = directory / (f"packet-jitter-{100 * jitter:g}" if jitter else engine)
        if folder.is_symlink():
            raise UsageError(
                f"--out {directory}: {folder.name} in it is a symbolic link, which is not followed; give another directory"
            )
        results[engine] = _result(left, engine, seeds, folder, jobs, makers[engine], jitter)
        if results[engine].interrupted:
            say(f"Interrupted while {engine} ran: complete runs are kept in {folder}.")
            return INTERRUPTED
        left = _without_refused(left, results[engine])
    ended = _compare(engines, [results[engine] for engine in engines], output, directory, compared.within)
    if missing := len(loaded.cases) - len(left.cases):
        say(f"{count(missing, 'variant')} of {len(loaded.cases)} left out, as said above.")
        return FAILED
    return ended


def _refused_by_kernel(scenario: "Scenario") -> list[str]:
    """The refusals of the kernel engine, which would else come after the runs of another engine."""
    from anabranch.engines.kernel.simulation import require_possible
    from anabranch.engines.refusal import refusals

    return refusals(scenario, require_possible).describe()


def _without_refused(scenario: "Scenario", result: "Result") -> "Scenario":
    """The scenario without the variants that an engine has refused; says why."""
    from anabranch.engines.refusal import described

    for one in result.refused:
        say(f"Left out: {described(one['variant'], one['why'])}")
    refused = [one["variant"] for one in result.refused]
    return scenario.with_cases(case for case in scenario.cases if case.values not in refused)


def _seeds_of_jitter(seeds: "Sequence[int]") -> "Sequence[int]":
    """The scenario's seeds, or more if they are too few to measure how much runs differ."""
    return seeds if len(seeds) >= LEAST_RUNS else range(seeds[0], seeds[0] + LEAST_RUNS)


def _result(
    scenario: "Scenario",
    engine: EngineName,
    seeds: "Sequence[int]",
    directory: Path,
    jobs: int | None,
    make: "Callable[[CompiledRun], Simulation] | None",
    jitter: float,
) -> "Result":
    """The engine's result: the complete one of the directory, if it is of this scenario, or a new one."""
    from anabranch.engines.registry import ENGINES
    from anabranch.results.files import MANIFEST
    from anabranch.results.result import Result
    from anabranch.runs import RunPlan, execute

    if (directory / MANIFEST).exists():
        former = Result.load(directory)
        if RunPlan(scenario, directory, seeds, engine, jitter).is_made(former.manifest):
            say(f"{engine}: {directory} is complete; remove it to run it again.")
            return former
    say(f"{engine}: {count(len(scenario.cases), 'variant')} x {count(len(seeds), 'seed')}")
    return execute(
        scenario,
        engine=engine,
        seeds=seeds,
        directory=directory,
        jobs=None if ENGINES[engine].in_real_time else jobs,
        jitter=jitter,
        command=["anabranch", *map(shown, sys.argv[1:])],
        make=make,
        leave_out=engine == "predict",
    )


def _compare(
    engines: "Sequence[EngineName]", results: "Sequence[Result]", output: Output, directory: Path, within: float | None
) -> int:
    """Print and write the comparisons with the first engine; the exit status."""
    from anabranch.cli.engine_comparison import compare as compare_engines
    from anabranch.cli.engine_comparison import document, tables, write
    from anabranch.foundation.extras import command, missing
    from anabranch.pages.report import write as write_report

    page = write_report([result.directory for result in results], directory / "report.html", named=False)
    say(f"Written: {page}")
    say_what_lacks()
    runs = [result.runs for result in results]
    greatest = {}
    documents = []
    from_nothing = 0
    for engine, other in zip(engines[1:], runs[1:], strict=True):
        comparison = compare_engines((engines[0], engine), runs[0], other)
        files = write(comparison, directory)
        greatest[engine] = comparison.greatest
        if comparison.from_nothing:
            from_nothing += comparison.from_nothing
            say(
                f"{count(comparison.from_nothing, 'row')} of the tables: {engine} has a value above 0 where {engines[0]} has 0."
            )
        if output.json:
            documents.append(document(comparison))
        else:
            for table in tables(comparison):
                print_table(table)
            tell(
                f"{engine} / {engines[0]}: {count(comparison.deviations.len(), 'ratio')}, median deviation {percent(comparison.median)}, "
                f"greatest {percent(comparison.greatest)}"
            )
            if comparison.inside is not None:
                held, flows = comparison.inside
                tell(
                    f"{held} of {count(flows, 'goodput')} of single runs within the predicted intervals, which should contain 90 %"
                )
        for file in files:
            say(f"Written: {file}")
    if absent := missing("figures"):
        say(f"Without {' and '.join(absent)} there is no picture of the comparison: {command('figures')}")
    if output.json:
        print(json_text(documents))
    if nothing := [engine for engine, most in greatest.items() if most is None]:
        say(f"No flow or link has a ratio of {' or '.join(nothing)} to {engines[0]}: nothing was compared.")
        return FAILED
    worst = max(most for most in greatest.values() if most is not None)
    if within is not None and worst > within:
        say(f"A ratio is {percent(worst)} from 1, more than --within {percent(within)}.")
        return FAILED
    return FAILED if within is not None and from_nothing else DONE
