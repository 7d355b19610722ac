"""``anabranch sweep``."""

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from anabranch.cli.engines import simulations
from anabranch.cli.exit_status import DONE, FAILED, INTERRUPTED, UsageError
from anabranch.cli.options import OUTPUT, WORK, Jobs, Json, Whole, at_least
from anabranch.cli.output import json_text, say, tell
from anabranch.foundation import examples
from anabranch.foundation.input_files import shown, stem
from anabranch.foundation.text_table import TextTable, count, percent, print_table, quantity

if TYPE_CHECKING:
    from anabranch.studies.sweep import Sweep, SweepResult
    from anabranch.studies.sweep.estimate import Estimate

MOST_ROWS = 30
"""Rows of the table in the terminal. ``--json`` has all."""
MOST_ERRORS = 3


@Parameter(name="*", group=WORK)
@dataclass(frozen=True)
class Seeds:
    """The rule that adds seeds."""

    until: Annotated[
        str | None,
        Parameter(
            help='Add seeds while half the 95 % interval of the mean goodput is more than this share of it: "ci < 2 %".'
        ),
    ] = None
    max_seeds: Annotated[
        Whole | None, Parameter(help="Seeds of each treatment and condition at most, with --until (default 100).")
    ] = None


@Parameter(name="*", group=WORK)
@dataclass(frozen=True)
class Work:
    """Who does the work."""

    jobs: Jobs = None
    cluster: Annotated[str | None, Parameter(help="Run on the workers of a dask scheduler: tcp://HOST:PORT.")] = None
    dry_run: Annotated[
        bool,
        Parameter(
            negative="",
            help="Print the number of runs, and their time, memory and disk as estimated from pilot runs; keep no result.",
        ),
    ] = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """The outputs of the results."""

    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Directory (default runs/NAME).")] = None
    json: Json = False


def sweep(
    plan: Annotated[Path, Parameter(help="A plan (TOML), or example:random-loss; - is standard input.")],
    /,
    *,
    seeds: Seeds = Seeds(),
    work: Work = Work(),
    output: Output = Output(),
) -> int:
    """Run a plan: a scenario over many values, with every seed, on all cores or many machines; if it was interrupted, the same command continues it.

    The results are Parquet files, which can be read at any moment. A run that fails becomes a row with its error. Python controls that the
    scenario names are executed.
    """
    at_least(1, jobs=work.jobs)
    if work.jobs is not None and work.cluster is not None:
        raise UsageError(
            "--jobs and --cluster: a cluster's workers decide how many runs go on at a time; leave one out"
        )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in run
    from anabranch.studies.sweep import Sweep, SweepError
    from anabranch.studies.sweep.until import Until

    try:
        rule = Until.read(seeds.until, seeds.max_seeds)
    except SweepError as error:
        raise UsageError(f"--{error}") from None
    loaded = Sweep.load(plan)
    if "kernel" in loaded.engines:
        simulations(["kernel"])  # for its privileges
    directory = output.out or Path("runs") / stem(examples.resolved(plan, examples.SWEEPS))
    for key in loaded.not_kept:
        say(f"note: {key} has no effect: a sweep keeps neither samples nor captures. `anabranch run` does.")
    say(loaded.size)
    if work.dry_run:
        from anabranch.studies.sweep.estimate import estimate

        if rule is not None:
            say("note: the estimate is without the seeds that --until adds.")
        found = estimate(loaded, directory, work.jobs)
        print(json_text(asdict(found)) if output.json else "\n".join(_lines(found, work.cluster)))
        return DONE
    _say_of_other_plan(loaded, directory)
    result = loaded.execute(
        directory,
        jobs=work.jobs,
        cluster=work.cluster,
        until=seeds.until,
        max_seeds=seeds.max_seeds,
        show_progress=True,
        command=["anabranch", *map(shown, sys.argv[1:])],
    )
    if output.json:
        print(json_text(result.to_json()))
    else:
        _print_summary(result)
    if result.note:
        say(result.note)
    say(f"Results: {directory} ({count(result.runs(), 'run')})")
    failures = result.failures
    for row in failures.head(MOST_ERRORS).to_dicts():
        say(f"Run {row['run']} {row['status']}: {row['error']}")
    if failures.height:
        say(f"{count(failures.height, 'run')} without a result; the column error says why.")
    if result.interrupted:
        kept = "finished runs are kept" if result.runs() else "no run has finished"
        say(f"Interrupted: {kept}, and the same command continues from there.")
        return INTERRUPTED
    return FAILED if failures.height else DONE


def _say_of_other_plan(sweep: "Sweep", directory: Path) -> None:
    """Say where the results of another plan go, such as one of the same name in another folder."""
    from anabranch.studies.sweep.store import PLAN, read_plan

    if not (directory / PLAN).exists():
        return
    former = read_plan(directory)
    if former["plan"] != sweep.source and former["fingerprint"] != sweep.fingerprint:
        say(
            f"note: {directory} has results of the plan {former['plan']}. Those that this plan does not need wait in "
            f"{directory}/.anabranch/kept for that plan; --out gives another directory."
        )


def _print_summary(result: "SweepResult") -> None:
    from anabranch.results.matrix_columns import plain_names, text
    from anabranch.results.summary import UNFINISHED, figure, finished
    from anabranch.studies.sweep.run_directory import with_unit

    summary = result.summary
    tell(result.document["title"])
    if summary.is_empty():
        tell("No run has a result yet.")
        return
    given = [key for key in result.varied if key in result.document["conditions"]]
    keys = [*given, *(key for key in result.varied if key not in given)]
    # The treatments of a condition stand below one another, for they are what is compared.
    if given:
        first = summary.select(given).unique(maintain_order=True)
        summary = first.join(summary, on=given, nulls_equal=True, maintain_order="left_right")
    shown_units = result.document["units"]
    has_sizes = summary["unfinished"].count() > 0

    def row(one: dict[str, Any]) -> tuple[str, ...]:
        values = (text(with_unit(one[key], shown_units.get(key, ""))) for key in keys)
        rates = (quantity(one[name], "bit/s") for name in ("goodput_bps", "goodput_interval_bps"))
        done = "-" if one["unfinished"] is None else finished(one["finished"] + one["unfinished"], one["unfinished"])
        times = figure(one, "fct_mean", "_s", lambda value: quantity(value, "s")), quantity(one["fct_interval_s"], "s")
        return (
            *(str(value) for value in values),
            str(one["runs"]),
            *rates,
            percent(one["retransmit_ratio"]),
            *((*times, done) if has_sizes else ()),
        )

    more = summary.height - MOST_ROWS
    rest = (
        f"... and {count(more, 'row')} more, which --json has; `anabranch report {result.directory}` ranks treatments."
    )
    notes = [rest] if more > 0 else []
    if has_sizes and summary["unfinished"].sum():
        notes.append(UNFINISHED)
    completion = ("completion", "± 95 %", "finished") if has_sizes else ()
    head = (*plain_names(keys), "runs", "goodput", "± 95 %", "retransmits", *completion)
    print_table(TextTable(head, [row(one) for one in summary.head(MOST_ROWS).to_dicts()], len(keys), notes))


def _lines(found: "Estimate", cluster: str | None) -> list[str]:
    if found.finished == found.runs:
        return [f"runs    {found.runs}, all of them finished: nothing is left to run"]
    where = "on one core; a cluster has more" if cluster else f"on {found.processes} at a time, a core each"
    seconds = found.seconds * found.processes if cluster else found.seconds
    failed = f" ({found.failed} failed)" if found.failed else ""
    unknown = [f"Time without the runs of {engine}: no pilot run of it had a result." for engine in found.unknown]
    return [
        f"runs    {found.runs}, {found.finished} of them finished",
        f"time    about {_time(seconds)} {where}",
        f"memory  about {quantity(found.worker_bytes, 'B')} for each run at a time, and {quantity(found.own_bytes, 'B')} beside them",
        f"disk    about {quantity(found.disk_bytes, 'B')}, or less: many rows compress better than few",
        f"Estimated from {count(found.pilots, 'pilot run')}{failed}, at points spread over the plan, which took {_time(found.least_s)} to "
        f"{_time(found.most_s)} each. Nothing of them is kept.",
        *unknown,
    ]


def _time(seconds: float) -> str:
    if seconds < 120:
        return quantity(seconds, "s") if seconds < 1 else f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
