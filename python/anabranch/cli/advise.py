"""``anabranch advise``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, INTERRUPTED, UsageError
from anabranch.cli.exporting import Exporting
from anabranch.cli.options import OUTPUT, SEARCH, TOPOLOGY, TRAFFIC, Json, Share, Whole, at_least, rate_bps, seconds
from anabranch.cli.output import json_text, say, tell
from anabranch.foundation import examples
from anabranch.foundation.output_files import require_directory
from anabranch.foundation.text_table import count, print_table

if TYPE_CHECKING:
    from anabranch.studies.advise.answer import Advice
    from anabranch.studies.advise.question import Question
    from anabranch.studies.advise.race import Standing


@Parameter(name="*", group=TRAFFIC)
@dataclass(frozen=True)
class Asked:
    """The traffic, and what counts."""

    pair: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="Source and destination of bulk flows, with a comma: --pair Seattle,Atlanta. May be repeated.",
        ),
    ] = None
    demands: Annotated[Path | None, Parameter(help="Instead of --pair: a file with the rate of each pair.")] = None
    flows: Annotated[Whole, Parameter(help="Flows of each pair.")] = 1
    size: Annotated[
        str | None, Parameter(help="With --objective completion: bytes that each flow transfers, such as 1MB.")
    ] = None
    objective: Annotated[
        Literal["goodput", "worst-flow", "completion"],
        Parameter(help="The total goodput, the least goodput of a flow, or the mean completion time."),
    ] = "goodput"


@Parameter(name="*", group=TOPOLOGY)
@dataclass(frozen=True)
class Completion:
    """Attributes that the topology lacks."""

    capacity: Annotated[str | None, Parameter(help="Capacity of links without their own, such as 10Gbps.")] = None
    loss: Annotated[Share | None, Parameter(help="Loss ratio of every link: 0.001 or 0.1%.")] = None


@Parameter(name="*", group=SEARCH)
@dataclass(frozen=True)
class Searching:
    """What may be chosen, and for how long it is searched."""

    only: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="What you can change: linux, no-bbr, one-path, no-spraying, routes, hosts. May be repeated; all then hold.",
        ),
    ] = None
    stack: Annotated[
        list[str] | None, Parameter(negative="", help="Choose among these stacks (presets) alone. May be repeated.")
    ] = None
    time: Annotated[str, Parameter(help="Time of the search, such as 30s.")] = "60s"


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """Files, and the form of the answer."""

    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"],
            help="Write a scenario of the answer, its routes, a page with Pareto fronts, and settings and programs for Linux into this directory.",
        ),
    ] = None
    json: Json = False


def advise(
    network: Annotated[
        str, Parameter(help="A TopoHub name, a built-in, a topology file, or a scenario (its topology and traffic).")
    ],
    /,
    *,
    asked: Asked = Asked(),
    completion: Completion = Completion(),
    searching: Searching = Searching(),
    exporting: Exporting = Exporting(),
    output: Output = Output(),
) -> int:
    """Find the routes, the forwarding and the TCP stack that carry the traffic of a network best.

    Predicts all combinations, simulates those that may be best, and decides by longer runs with more seeds. Ctrl-C answers by what it knows and
    ends with status 130.
    """
    from threading import Event

    from anabranch.foundation.interrupts import Interruptible
    from anabranch.foundation.progress import StatusLine
    from anabranch.studies.advise import RESTRICTIONS
    from anabranch.studies.advise import advise as find

    at_least(1, flows=asked.flows)
    time_s = seconds("--time", searching.time)
    for name in searching.only or ():
        if name not in RESTRICTIONS:
            raise UsageError(f"--only {name}: must be one of {', '.join(RESTRICTIONS)}")
    if output.out is not None:
        require_directory(output.out)
    if exporting.into is None and exporting.export is not None and output.out is not None:
        exporting = replace(exporting, into=output.out / exporting.export)
    question = _question(network, asked, completion)
    exporting.require(Path(question.name).stem)
    stop = Event()
    with Interruptible(stop), StatusLine() as line:
        advice = find(
            question, only=searching.only or (), stacks=searching.stack, time_s=time_s, stop=stop, say=line.say
        )
    if output.json:
        print(json_text(document(advice)))
    else:
        _tell(advice)
    if output.out is not None:
        from anabranch.studies.advise.files import PAGE, SCENARIO, in_linux, write

        written = write(advice, output.out)
        if output.out / PAGE not in written:
            say(f"{PAGE} is left out: vl-convert is not installed (pip install 'anabranch[figures]')")
        if not in_linux(advice.best.stack):
            say(f"Linux has no {advice.best.stack}: there are no settings for it")
        say(
            f"Wrote {count(len(written), 'file')} into {output.out}; `anabranch run {output.out / SCENARIO}` runs the answer beside the baseline"
        )
    if exporting.export is not None:
        from anabranch.studies.advise.files import exported

        routes, warnings = exported(advice)
        exporting.write(routes, warnings=warnings if exporting.export not in ("json", "scenario") else ())
    return INTERRUPTED if advice.interrupted else DONE


def _question(network: str, asked: Asked, completion: Completion) -> "Question":
    from anabranch.scenario import Scenario
    from anabranch.studies.advise import Question

    if (asked.size is not None) != (asked.objective == "completion"):
        raise UsageError("--size and --objective completion go together: a flow without a size has no completion")
    if network.endswith(".toml") or network.startswith(examples.PREFIX):
        if asked.pair or asked.demands or asked.size:
            raise UsageError(
                f"--pair, --demands and --size go with a topology; {network} is a scenario, which has its own traffic"
            )
        return Question.of_scenario(Scenario.load(network), asked.objective)
    if (asked.pair is None) == (asked.demands is None):
        raise UsageError("give either --pair FROM,TO or --demands FILE: which traffic to carry")
    pairs = []
    for text in asked.pair or ():
        source, comma, target = text.partition(",")
        if not comma or not source or not target:
            raise UsageError(f"--pair {text}: must be two nodes with a comma, such as Seattle,Atlanta")
        pairs.append((source.strip(), target.strip()))
    if completion.capacity is not None:
        rate_bps("--capacity", completion.capacity)
    return Question.of_network(
        network,
        pairs=pairs,
        demands=asked.demands,
        flows=asked.flows,
        size=asked.size,
        capacity=completion.capacity,
        loss=completion.loss,
        objective=asked.objective,
    )


def document(advice: "Advice") -> dict[str, Any]:
    """The answer for JSON."""
    return {
        "network": advice.question.name,
        "objective": advice.question.objective,
        "candidates": advice.candidates,
        "runs": advice.runs,
        "virtual_s": advice.virtual_s,
        "decided": advice.decided,
        "timed_out": advice.timed_out,
        "interrupted": advice.interrupted,
        "baseline": None if advice.baseline is None else _one(advice, advice.baseline),
        "answers": [
            {
                "restriction": line.restriction or None,
                "best": _one(advice, line.best),
                "as_good": [_one(advice, other) for other in line.alike],
                "undecided": [_one(advice, other) for other in line.undecided],
            }
            for line in advice.lines
        ],
        "not_simulated": [{"stack": one.stack, "routing": one.routing.name} for one, _ in advice.untried],
    }


def _one(advice: "Advice", standing: "Standing") -> dict[str, Any]:
    from anabranch.studies.advise.trials import PRICES

    is_time = advice.question.objective == "completion"
    interval = advice.interval(standing)
    return {
        "stack": standing.candidate.stack,
        "routing": standing.candidate.routing.name,
        "written": dict(standing.candidate.routing.written),
        "completion_s" if is_time else "goodput_bps": 1 / standing.value if is_time else standing.value,
        "interval": None
        if interval is None
        else sorted(1 / bound for bound in interval)
        if is_time
        else list(interval),
        "seeds": len(standing.trials),
        "seconds": standing.seconds,
        "times_baseline": advice.times(standing),
    } | {name: standing.price(name) for name in PRICES}


def _tell(advice: "Advice") -> None:
    from anabranch.studies.advise import telling

    tell(telling.recommendation(advice))
    tell(" ".join(telling.others(advice.lines[0])))
    tell()
    print_table(telling.table(advice))
