"""``anabranch run``."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from anabranch.cli.engines import EngineName, MaxLateness, simulations
from anabranch.cli.exit_status import DONE, FAILED, INTERRUPTED, UsageError
from anabranch.cli.options import OUTPUT, SCENARIO, WORK, Jobs, Json, ScenarioFile, Settings, Whole, at_least
from anabranch.cli.output import json_text, say, tell
from anabranch.cli.report import say_what_lacks
from anabranch.cli.scenarios import load, warn
from anabranch.foundation import examples
from anabranch.foundation.input_files import shown, stem
from anabranch.foundation.text_table import count, print_table, quantity

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.runs.pages import RunView
    from anabranch.scenario import Scenario


@Parameter(name="*", group=SCENARIO)
@dataclass(frozen=True)
class Variation:
    """Changes to the scenario for this command: engine, seeds and settings."""

    engine: Annotated[
        EngineName,
        Parameter(help="Simulate every packet, predict the long run by formulas, or run Linux's own TCP in real time."),
    ] = "packet"
    seed: Annotated[Whole | None, Parameter(help="One seed instead of the scenario's.")] = None
    seeds: Annotated[str | None, Parameter(help="Several seeds: 1..20, or 1,5,7.")] = None
    settings: Settings = None

    def chosen_seeds(self) -> list[int] | None:
        """The seeds instead of the scenario's.

        Raises:
            UsageError: names the option, its value, and what would be right.
        """
        if self.seed is not None and self.seeds is not None:
            raise UsageError("give either --seed or --seeds")
        if self.seed is not None:
            if not 0 <= self.seed < 2**63:
                raise UsageError(f"--seed {self.seed}: must be a whole number from 0 to {2**63 - 1}")
            return [self.seed]
        return None if self.seeds is None else _seeds(self.seeds)


@Parameter(name="*", group=WORK)
@dataclass(frozen=True)
class Work:
    """The division of the work over threads."""

    jobs: Jobs = None
    threads: Annotated[
        Whole | None,
        Parameter(
            help="Threads for a large run: by default 1, and all idle cores for a prediction. The results are the same."
        ),
    ] = None
    max_lateness: MaxLateness = None


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """The outputs of the results."""

    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"],
            help="Run directory (default runs/NAME, or the first unused one of runs/NAME-2, runs/NAME-3, ...).",
        ),
    ] = None
    report: Annotated[bool, Parameter(help="Write report.html into the run directory.")] = True
    json: Json = False
    watch: Annotated[
        bool,
        Parameter(
            help="Draw goodput over time and the finished runs in the terminal while the runs go on.", negative=""
        ),
    ] = False


def run(
    scenario: ScenarioFile,
    /,
    *,
    variation: Variation = Variation(),
    work: Work = Work(),
    output: Output = Output(),
) -> int:
    """Run a scenario: all variants of its matrix with all seeds, into a run directory with a report.

    It executes the Python controls that the scenario names: run scenarios of others only after you have read these files.

    With --json the tables go to standard output, and files are written only if --out says where. Variants that the engine refuses are left
    out: the command says why, and its status is 1.
    """
    at_least(1, jobs=work.jobs, threads=work.threads)
    if output.watch and not sys.stderr.isatty():
        raise UsageError("--watch needs a terminal on standard error: leave it out")
    if variation.engine == "kernel" and work.jobs not in (None, 1):
        raise UsageError(f"--jobs {work.jobs}: --engine kernel runs in real time, one run after another; leave it out")
    make = simulations([variation.engine], work.max_lateness)[variation.engine]
    # On import, numpy starts threads for linear algebra, which doubles the time of the import. A run has no linear algebra.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    chosen = variation.chosen_seeds()
    loaded = load(scenario, variation.settings)
    warn(loaded)
    if variation.engine == "predict":
        _say_what_is_not_predicted(loaded)
    if len(loaded.keys) > 1:
        say(f"{loaded.size} x {count(len(chosen or loaded.seeds), 'seed')}")
    from anabranch.runs import default_directory, execute

    directory = output.out
    if directory is None and not output.json:
        directory = default_directory(
            Path("runs") / stem(examples.resolved(scenario)), loaded, chosen, variation.engine
        )
    page = directory / "report.html" if output.report and directory is not None else None
    if page is not None:
        from anabranch.pages.report import write
    result = execute(
        loaded,
        engine=variation.engine,
        seeds=chosen,
        directory=directory,
        jobs=work.jobs,
        threads=work.threads,
        command=["anabranch", *map(shown, sys.argv[1:])],
        report=None if page is None else write,
        make=make,
        watch=_view() if output.watch else None,
        leave_out=True,
    )
    _say_of_engine(result)
    if result.kept_runs:
        say(f"{count(result.kept_runs, 'run')} of {result.manifest['planned_runs']} had been finished before.")
    wanted = work.threads or 1
    most = max((one["threads"] for one in result.manifest["runs"]), default=wanted)
    if most < wanted:
        say(f"On {most} of {wanted} threads: a small run takes one, and so does one whose routing measures links.")
    _say_of_threads(result.thread_gains)
    if output.json:
        print(json_text(result.documents()))
    else:
        _print_tables(result)
    if directory is not None and result.directory == directory:
        say(f"Run directory: {directory}")
        _say_what_is_replaced(result, directory)
        if page is not None and page.exists():
            say(f"Report:        {page}")
            say_what_lacks()
    _say_what_is_left_out(result)
    if result.interrupted:
        _say_what_is_kept(result, directory)
        return INTERRUPTED
    return FAILED if result.refused else DONE


_SHOWN_LINKS = 3
_SHOWN_SUMS = 5


def _view() -> "Callable[[int], RunView]":
    from anabranch.pages.live_view import LiveView

    return LiveView


def _say_what_is_not_predicted(scenario: "Scenario") -> None:
    """Say which recordings a scenario asks for that a prediction does not have."""
    runs = [case.variant.run for case in scenario.cases]
    if any(run.delays for run in runs):
        say(
            "run.delays: the predict engine has no packets, so the columns of delays, jitter and RTT samples are empty."
        )
    if any(run.sample is not None for run in runs):
        say("run.sample: the predict engine has no time, so there are no time series.")


def _say_of_engine(result: "Result") -> None:
    """Print the lateness of the kernel engine's packets, and warn of predictions that are not valid."""
    for run in result.manifest["runs"]:
        if not run.get("converged", True):
            say(f"Run {run['run']}: the equations are not solved; do not trust its prediction.")
        elif not run.get("unique", True):
            say(
                f"Run {run['run']}: the equations have more than one solution; the packet engine says which one is reached."
            )
        for one in run.get("sums", [])[:_SHOWN_SUMS]:
            say(f"Run {run['run']}: {_sum_in_words(one)}.")
        if (more := len(run.get("sums", [])) - _SHOWN_SUMS) > 0:
            say(f"Run {run['run']}: manifest.json has {more} more sums of flows.")
        if links := run.get("in_phase"):
            shown = ", ".join(links[:_SHOWN_LINKS]) + (" and others" if len(links) > _SHOWN_LINKS else "")
            say(
                f"Run {run['run']}: fewer than ten flows of one RTT share the drop-tail queue of {shown}. Phases decide which of them lose, "
                "and single runs of the packet engine differ: give their hosts other delays."
            )
        if late := run.get("lateness"):
            mean, most, all_ = (quantity(late[name], "s") for name in ("mean_s", "p99_s", "max_s"))
            say(
                f"Run {run['run']}: packets left {mean} late in the mean, 99 % within {most}, all within {all_} ({run['scheduling']})."
            )


def _say_of_threads(gains: Sequence[float]) -> None:
    """Say that threads did not pay: all of a run did no more work than one does that has a core to itself."""
    slow = [gain for gain in gains if gain <= 1]
    if slow:
        say(
            f"The threads of {len(slow)} of {count(len(gains), 'run')} together did the work of {min(slow):.2f} cores, no more than one thread can. "
            "The machine is busy, or the threads wait for each other; leave --threads out."
        )


def _sum_in_words(one: Mapping[str, Any]) -> str:
    """A sum of predicted flows, with its interval and what hashes make of it."""
    of = "all flows" if one["traffic"] is None else f"{one['traffic']}"
    if one["src"] is not None:
        of += f" from {one['src']} to {one['dst']}"
    goodput, low, high = (quantity(one[name], "bit/s") for name in ("goodput_bps", "low_bps", "high_bps"))
    text = f"{of}, the sum of {one['flows']} flows: {goodput}, in 90 % of runs {low} to {high}"
    if "hash_mean_bps" in one:
        mean, low, high = (quantity(one[name], "bit/s") for name in ("hash_mean_bps", "hash_p5_bps", "hash_p95_bps"))
        text += f"; over the hashes {mean} in the mean, 90 % of them {low} to {high}"
    return text


def _say_what_is_left_out(result: "Result") -> None:
    from anabranch.engines.refusal import described

    for one in result.refused:
        say(f"Left out: {described(one['variant'], one['why'])}")


def _say_what_is_replaced(result: "Result", directory: Path) -> None:
    """Say that other results stood in the directory, and which of its files may still be theirs."""
    if result.replaced is None:
        return
    words = result.replaced.get("command")
    command = " ".join(map(str, words)) if words and isinstance(words, list) else "from Python"
    others = sorted(
        {path.name for path in directory.iterdir()}
        - {Path(name).parts[0] for name in result.manifest["files"]}
        - {"manifest.json"}
    )
    beside = f"; not replaced: {', '.join(others)}" if others else ""
    say(f"Replaced:      the results of other runs ({command}){beside}")


def _say_what_is_kept(result: "Result", directory: Path | None) -> None:
    complete = sum(one["status"] == "complete" for one in result.manifest["runs"])
    planned = count(result.manifest["planned_runs"], "run")
    say(f"Interrupted: {complete} of {planned} complete; the tables hold the results so far.")
    if complete and directory is not None:
        say(f"Complete runs are kept in {directory}: the same command continues from there.")
    if directory not in (None, result.directory):
        say(f"{directory} keeps its former result, which is complete.")


def _print_tables(result: "Result") -> None:
    from anabranch.results.summary import tables

    tell(result.manifest["title"])
    for table in tables(result.runs) if result.manifest["runs"] else []:
        print_table(table)


def _seeds(text: str) -> list[int]:
    from anabranch.scenario.variant import MOST_SEEDS

    ranges = []
    try:
        for part in text.split(","):
            first, dots, last = part.partition("..")
            ranges.append(range(int(first), int(last if dots else first) + 1))
    except ValueError:
        raise UsageError(f"--seeds {text}: must be a range such as 1..20 or numbers such as 1,5,7") from None
    are_seeds = all(0 <= part.start < part.stop <= 2**63 for part in ranges)
    # Counted before they are listed, as 1..9999999999 does not fit into memory.
    if are_seeds and sum(part.stop - part.start for part in ranges) > MOST_SEEDS:
        raise UsageError(f"--seeds {text}: must be at most {MOST_SEEDS} seeds, such as 1..20")
    chosen = [*chain.from_iterable(ranges)] if are_seeds else []
    if not chosen or len(set(chosen)) != len(chosen):
        raise UsageError(f"--seeds {text}: must be different whole numbers from 0, such as 1..20")
    return chosen
