"""The command line. Data on standard output, progress and messages on standard error.

Exit status: 0 done, 1 refused or failed with a message, 2 wrong usage (and scripts that cannot run), 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from anabranch import units, version
from anabranch.text_table import TextTable, plain, print_table, quantity

if TYPE_CHECKING:
    from anabranch.results import Result
    from anabranch.scenario import Scenario
    from anabranch.topologies import Topology

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

app = App(
    name="anabranch",
    help="Finds, predicts and proves the best way to carry TCP over a network.",
    version=version,
    result_action="return_value",
)
topology_app = App(name="topology", help="Topologies by name or from a file: list, show, plot.")
app.command(topology_app)
app.command(
    "anabranch.robust.command:robust",
    name="robust",
    help="Split traffic so that its worst case loads no link too much.",
)
app.command(
    "anabranch.plan.command:plan",
    name="plan",
    help="Give TCP single paths wherever the worst-case load allows.",
)
app.command(
    "anabranch.papers.command:paper",
    name="paper",
    help="Reproduce a paper: its figures, its numbers beside ours, verdicts.",
)


def _share(_: Any, tokens: Sequence[Any]) -> float:
    return units.share(tokens[0].value)


Share = Annotated[float, Parameter(converter=_share)]
"""A number, or a percentage such as 1%."""
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document.")]
ScenarioFile = Annotated[Path, Parameter(help="A scenario file (TOML).")]
TopologyName = Annotated[str, Parameter(help="A TopoHub name, a built-in, or a file.")]
Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", negative="", help="Another value at a key: --set run.duration=5s. May be repeated."),
]


class UsageError(ValueError):
    """A command line that cannot be meant; exit status 2."""


@app.command
def run(
    scenario: ScenarioFile,
    /,
    *,
    engine: Annotated[Literal["packet"], Parameter(help="The engine.")] = "packet",
    seed: Annotated[int | None, Parameter(help="One seed instead of the scenario's.")] = None,
    seeds: Annotated[str | None, Parameter(help="Several seeds: 1..20, or 1,5,7.")] = None,
    set_: Settings = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Run directory (default runs/NAME).")] = None,
    jobs: Annotated[
        int | None, Parameter(name=["--jobs", "-j"], help="Runs at a time (default one for each core).")
    ] = None,
    threads: Annotated[int, Parameter(help="Threads for one run, if it is large; the results are the same.")] = 1,
    report: Annotated[bool, Parameter(help="Write report.html into the run directory.")] = True,
    json: Json = False,
) -> int:
    """Run a scenario: all variants of its matrix with all seeds, into a run directory with a report.

    With --json the tables go to standard output, and files are written only if --out says where.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs {jobs}: must be at least 1")
    if threads < 1:
        raise UsageError(f"--threads {threads}: must be at least 1")
    chosen = _seeds(seed, seeds)
    loaded = _load(scenario, set_)
    _warn(loaded)
    if len(loaded.keys) > 1:
        _say(f"{loaded.size} x {_count(len(chosen or loaded.seeds), 'seed')}")
    from anabranch.report import prepare
    from anabranch.runs import default_directory, execute

    directory = (
        out if out is not None else None if json else default_directory(Path("runs") / scenario.stem, loaded, chosen)
    )
    if report and directory is not None:
        prepare()
    # A path may have bytes that no text has; the manifest is text.
    command = ["anabranch", *(os.fsencode(word).decode(errors="backslashreplace") for word in sys.argv[1:])]
    page = directory / "report.html" if report and directory is not None else None
    result = execute(
        loaded,
        engine=engine,
        seeds=chosen,
        directory=directory,
        jobs=jobs,
        threads=threads,
        command=command,
        report=page is not None,
    )
    if result.kept_runs:
        _say(f"{_count(result.kept_runs, 'run')} of {len(result.manifest['runs'])} had been finished before.")
    most = max((one["threads"] for one in result.manifest["runs"]), default=threads)
    if most < threads:
        _say(f"On {most} of {threads} threads: a small run takes one, and so does one whose routing measures links.")
    if json:
        _print_json(result.documents())
    else:
        _print_summary(result)
    complete = sum(one["status"] == "complete" for one in result.manifest["runs"])
    if directory is not None and result.directory == directory:
        _say(f"Run directory: {directory}")
        if page is not None and page.exists():
            _say(f"Report:        {page}")
    if result.interrupted:
        _say(
            f"Interrupted: {complete} of {_count(result.manifest['planned_runs'], 'run')} complete; the tables hold what there was until then."
        )
        if complete and directory is not None:
            _say(f"Complete runs are kept in {directory}: the same command goes on from there.")
        if directory not in (None, result.directory):
            _say(f"{directory} keeps its former result, which is complete.")
        return INTERRUPTED
    return DONE


@app.command
def check(scenario: ScenarioFile, /, *, set_: Settings = None, json: Json = False) -> int:
    """Check a scenario: every problem at once, with file, line, field, value, and what would be right.

    Also warns of what can run but may not be meant.
    """
    from anabranch.scenario import ScenarioError

    try:
        loaded = _load(scenario, set_)
    except ScenarioError as error:
        if json:
            _print_json({"problems": error.as_records()})
            return FAILED
        raise
    from anabranch.runs import refusals

    refused = refusals(loaded)
    if json:
        problems = [{"file": str(scenario), "message": message} for message in refused]
        _print_json({"problems": problems, "warnings": loaded.warnings.as_records()})
        return FAILED if refused else DONE
    _warn(loaded)
    if refused:
        _say("\n".join(f"{scenario}: {message}" for message in refused))
    else:
        print(f"{scenario}: {loaded.size} x {_count(len(loaded.seeds), 'seed')}, no problems")
    return FAILED if refused else DONE


@app.command
def report(
    runs: Annotated[list[Path], Parameter(help="Run directories.", negative="")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The HTML file.")] = Path("report.html"),
) -> int:
    """Write one self-contained HTML report of one or several run directories."""
    print(_write_report(runs, output))
    return DONE


@app.command
def drill(
    scripts: Annotated[list[Path], Parameter(help="Scripts (.pkt).", negative="")],
    /,
    *,
    stack: Annotated[Literal["linux", "rfc"], Parameter(help="The stack, unless a script names one.")] = "linux",
    json: Json = False,
) -> int:
    """Run scripts in packetdrill's language against the simulated sender and receiver.

    Exit status: 0 all passed, 1 one failed, 2 one is refused or not of the language and none failed.
    """
    from anabranch import drill as drills

    outcomes = [drills.run(script, stack) for script in scripts]
    if json:
        _print_json({"scripts": [outcome.document() for outcome in outcomes]})
    else:
        for outcome in outcomes:
            print("\n".join(drills.describe(outcome)))
        if len(outcomes) > 1:
            print(drills.summary(outcomes))
    verdicts = {outcome.verdict for outcome in outcomes}
    return FAILED if "failed" in verdicts else DONE if verdicts == {"passed"} else USAGE


@app.command
def predict(
    *,
    rtt: Annotated[str, Parameter(help="Round-trip time, such as 50ms.")],
    loss: Annotated[Share, Parameter(help="Ratio of packets lost, at least 0 and less than 1: 0.01 or 1%.")],
    mss: Annotated[int, Parameter(help="Payload of a full segment, bytes.")] = 1460,
    packets_per_ack: Annotated[float, Parameter(help="Packets that an ACK stands for; delayed ACKs: 2.")] = 1,
    timeout: Annotated[str | None, Parameter(help="First timeout (default the RTT, at least 200ms).")] = None,
    max_window: Annotated[float, Parameter(help="The receiver's window, segments.")] = inf,
    json: Json = False,
) -> int:
    """Predict the rate of one TCP flow from round-trip time and loss, by all models, with their ranges of validity."""
    from anabranch.predict import table

    try:
        found = table.predictions(
            table.seconds("--rtt", rtt),
            loss,
            mss_bytes=mss,
            packets_per_ack=packets_per_ack,
            timeout_s=None if timeout is None else table.seconds("--timeout", timeout),
            max_window=max_window,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if json:
        _print_json({"predictions": [one.record() for one in found]})
        return DONE
    rows = [
        (one.model, "no limit" if one.rate_bps == inf else quantity(one.rate_bps, "bit/s"), *one.cells())
        for one in found
    ]
    print_table(TextTable(("model", "rate", "segments", "least loss", "greatest", "holds"), rows, text_columns=1))
    for one in found:
        if one.note:
            _say(f"{one.model}: a loss of {loss:g} is {one.note}")
    return DONE


@app.command
def routes(
    topology: TopologyName,
    /,
    *,
    metric: Annotated[
        str,
        Parameter(
            help="hop-count, delay, loss, ospf, cost, widest, tcpbp or tcpbp-exact; or isotone ones: hop-count,delay."
        ),
    ] = "tcpbp-exact",
    from_: Annotated[
        list[str] | None, Parameter(name="--from", negative="", help="Only from this node. May be repeated.")
    ] = None,
    to: Annotated[list[str] | None, Parameter(negative="", help="Only to this node. May be repeated.")] = None,
    compare: Annotated[
        bool, Parameter(negative="", help="All metrics side by side: differences, misses, hop-by-hop forwarding.")
    ] = False,
    against: Annotated[
        list[str] | None, Parameter(negative="", help="With --compare: these metrics instead of all. May be repeated.")
    ] = None,
    once: Annotated[
        bool, Parameter(negative="", help="With --compare: every two nodes in one direction only.")
    ] = False,
    rows: Annotated[int, Parameter(help="With --compare: at most so many rows of pairs that differ.")] = 20,
    shortest: Annotated[int | None, Parameter(help="The K shortest loopless paths of each pair.")] = None,
    disjoint: Annotated[
        int | None, Parameter(help="At most so many paths that share no link but access links.")
    ] = None,
    node_disjoint: Annotated[int | None, Parameter(help="At most so many that share no node in between.")] = None,
    within: Annotated[
        Share | None, Parameter(help="All paths that cost at most 1 + this times the least: 0.05 or 5%.")
    ] = None,
    pareto: Annotated[
        bool, Parameter(negative="", help="All that no other beats in delay, loss and capacity.")
    ] = False,
    certify: Annotated[bool, Parameter(negative="", help="Prove that no path by tcpbp-exact is better.")] = False,
    loss: Annotated[Share | None, Parameter(help="Loss ratio of links without their own.")] = None,
    random_loss: Annotated[
        str | None, Parameter(help="Loss ratios drawn for links without their own: 1e-5..1e-2.")
    ] = None,
    seed: Annotated[int, Parameter(help="Of --random-loss.")] = 1,
    loss_floor: Annotated[Share, Parameter(help="Count no link's loss as less than this.")] = 0.0,
    capacity: Annotated[str | None, Parameter(help="Capacity of links without their own, such as 10Gbps.")] = None,
    directed: Annotated[bool | None, Parameter(help="Whether links of a CSV or SNDlib file are directed.")] = None,
    hop_by_hop: Annotated[
        bool,
        Parameter(negative="", help="For --export: every router by its own route, not whole paths from the source."),
    ] = False,
    export: Annotated[
        str | None,
        Parameter(
            help="Write them for real routers: ip-route, srv6, frr, frr-segment-routing, openflow13, openflow15, segment-routing, json, scenario."
        ),
    ] = None,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Directory of --export (default TOPOLOGY-FORMAT).")
    ] = None,
    source_port: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="With an OpenFlow export: flows from this TCP port by another metric, 5001=delay. May be repeated.",
        ),
    ] = None,
    picture: Annotated[Path | None, Parameter(help="Draw the routes on the map into this SVG file.")] = None,
    json: Json = False,
) -> int:
    """Find routes by a metric, or compare metrics; by default by delay x sqrt(loss), that is, for the most TCP throughput.

    A pair without a way has a row that says so.
    """
    from anabranch.routes import command

    if rows < 0:
        raise UsageError(f"--rows {rows}: must be at least 0")
    question = command.Question(
        metric,
        from_,
        to,
        compare=compare,
        against=against,
        once=once,
        certify=certify,
        hop_by_hop=hop_by_hop,
        shortest=shortest,
        disjoint=disjoint,
        node_disjoint=node_disjoint,
        within=within,
        pareto=pareto,
    )
    answer = command.answer(
        question, command.network(_topology(topology, directed), loss, random_loss, seed, capacity, loss_floor)
    )
    if picture is not None:
        from anabranch.output_files import write_text

        write_text(picture, answer.drawing())
    if export is not None:
        directory = out if out is not None else Path(f"{Path(topology).stem}-{export}")
        written = answer.export(export, directory, source_port)
        _say(f"Wrote {_count(len(written), 'file')} into {directory}")
    elif out is not None or source_port is not None:
        raise UsageError("--out and --source-port go with --export")
    if json:
        _print_json(answer.document())
        return DONE
    if export is not None:
        return DONE
    for table in answer.tables(rows):
        print_table(table)
    if picture is not None:
        _say(f"Picture: {picture}")
    return DONE


@app.command
def schema() -> int:
    """Print the JSON Schema of scenarios; begin a scenario with "#:schema FILE" to have an editor use it."""
    from anabranch.scenario import Scenario

    _print_json(Scenario.json_schema())
    return DONE


@app.command
def doctor(*, json: Json = False) -> int:
    """Say what works on this machine, and how to get the rest."""
    from dataclasses import asdict

    from anabranch.doctor import checks

    found = checks()
    if json:
        _print_json({"checks": [asdict(one) for one in found]})
    else:
        for one in found:
            mark = "ok     " if one.ok else "MISSING" if one.needed else "absent "
            print(f"{mark}  {one.name}: {one.detail}" + (f"; get it: {one.remedy}" if one.remedy else ""))
    return FAILED if any(one.needed and not one.ok for one in found) else DONE


@topology_app.command(name="list")
def list_topologies(pattern: str = "", /, *, json: Json = False) -> int:
    """List the names that can stand in a scenario's "from", those that contain PATTERN."""
    from anabranch import topologies

    names = [name for name in topologies.names() if pattern.lower() in name.lower()]
    if json:
        _print_json({"topologies": names})
    else:
        print("\n".join(names))
    return DONE if names else FAILED


@topology_app.command(name="show")
def show_topology(
    topology: TopologyName,
    /,
    *,
    directed: Annotated[bool | None, Parameter(help="Whether links of a CSV or SNDlib file are directed.")] = None,
    json: Json = False,
) -> int:
    """Show the nodes and links of a topology."""
    loaded = _topology(topology, directed)
    from dataclasses import asdict

    if json:
        tables = {"nodes": [asdict(node) for node in loaded.nodes], "links": [asdict(link) for link in loaded.links]}
        _print_json({"name": loaded.name} | tables)
        return DONE
    print(f"{loaded.name}: {_count(len(loaded.nodes), 'node')}, {_count(len(loaded.links), 'directed link')}")
    rows = [
        (
            link.source,
            link.target,
            *(quantity(*pair) for pair in _quantities(link)),
            plain(link.loss),
            plain(link.cost),
        )
        for link in loaded.links
    ]
    head = ("source", "target", "capacity", "delay", "length", "loss", "cost")
    print_table(TextTable(head, rows, text_columns=2))
    return DONE


@topology_app.command(name="plot")
def plot_topology(
    topology: TopologyName,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="An SVG file (default standard output).")
    ] = None,
    directed: Annotated[bool | None, Parameter(help="Whether links of a CSV or SNDlib file are directed.")] = None,
) -> int:
    """Draw a topology as SVG."""
    loaded = _topology(topology, directed)
    from anabranch.topologies import plot

    drawing = plot.svg(loaded)
    if output is None:
        print(drawing, end="")
    else:
        from anabranch.output_files import write_text

        write_text(output, drawing)
        print(output)
    return DONE


def main() -> None:
    """Run the command line and leave with its exit status; a request to terminate is taken as Ctrl-C.

    An interrupted process leaves without waiting for the threads of a solver.
    """
    import signal

    interrupted = False

    def interrupt(number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        code = status()
    except Exception:
        if not interrupted:
            raise
        code = INTERRUPTED  # a library fails in its own way if it is interrupted while it is imported
    if not interrupted:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def status(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    from cyclopts import CycloptsError

    try:
        result = app(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else DONE
    except (CycloptsError, UsageError) as error:
        _say(f"{error}\nanabranch --help shows the commands, anabranch COMMAND --help their options.")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nothing is left to say to it
        return DONE
    except (ValueError, OSError) as error:
        _say(str(error))
        return FAILED


def _load(path: Path, settings: list[str] | None) -> "Scenario":
    from anabranch.scenario import Scenario

    values = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {setting}: must be KEY=VALUE, such as run.duration=5s")
        values[key] = value
    return Scenario.load(path, values)


def _warn(scenario: "Scenario") -> None:
    for line in scenario.warnings.describe():
        _say(f"warning: {line}")


def _seeds(seed: int | None, seeds: str | None) -> list[int] | None:
    if seed is not None and seeds is not None:
        raise UsageError("give either --seed or --seeds")
    if seed is not None:
        seeds = str(seed)
    if seeds is None:
        return None
    chosen: list[int] = []
    try:
        for part in seeds.split(","):
            first, dots, last = part.partition("..")
            chosen += range(int(first), int(last) + 1) if dots else [int(first)]
    except ValueError:
        raise UsageError(f"--seeds {seeds}: must be a range such as 1..20 or numbers such as 1,5,7") from None
    if not chosen or len(set(chosen)) != len(chosen) or not all(0 <= value < 2**63 for value in chosen):
        raise UsageError(f"--seeds {seeds}: must be different whole numbers from 0, such as 1..20")
    return chosen


def _topology(name: str, directed: bool | None) -> "Topology":
    from anabranch.topologies.warned import load_warned

    return load_warned(name, directed)


def _write_report(directories: list[Path], output: Path) -> Path:
    from anabranch import report

    return report.write(directories, output)


def _print_summary(result: "Result") -> None:
    from anabranch.run_tables import tables

    print(result.manifest["title"])
    for table in tables(result.runs) if result.manifest["runs"] else []:
        print_table(table)


def _quantities(link: Any) -> list[tuple[float | None, str]]:
    return [(link.capacity_bps, "bit/s"), (link.delay_s, "s"), (link.length_m, "m")]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_json(document: Any) -> None:
    import json

    print(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str))


def _say(message: str) -> None:
    print(message, file=sys.stderr)
