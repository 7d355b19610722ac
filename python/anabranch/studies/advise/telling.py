"""An answer in words: the recommendation, its equals, and a table of the best under each restriction."""

from anabranch.foundation.text_table import TextTable, count, percent, quantity
from anabranch.studies.advise.answer import Advice, Line
from anabranch.studies.advise.race import Standing

_SHOWN = 5
_HEADS = {"goodput": "goodput", "worst-flow": "worst flow", "completion": "completion"}
NOT_MODELLED = (
    "Not modelled: other traffic than the question's, the processors of hosts, and middleboxes. Rates are those of the simulated network; "
    "`anabranch compare` runs the answer by real Linux."
)


def recommendation(advice: Advice) -> str:
    """What to do, its value with the interval, and how many times the baseline has it."""
    best = advice.lines[0].best
    return f"Use {best.candidate.name}: {value(advice, best)}{_margin(advice, best)}{_times(advice, best)}."


def others(line: Line) -> list[str]:
    """Sentences on what is as good as the best, and on what stays undecided."""
    said = []
    for what, standings in (
        ("As good within 2 %", line.alike),
        (f"Undecided after {count(len(line.best.trials), 'seed')}", line.undecided),
    ):
        if standings:
            more = f", and {len(standings) - _SHOWN} more" if len(standings) > _SHOWN else ""
            said.append(f"{what}: {', '.join(one.candidate.name for one in standings[:_SHOWN])}{more}.")
    return said or ["No other comes near it."]


def table(advice: Advice) -> TextTable:
    """The best under each restriction beside the baseline; the notes say how the search ended and what it leaves open."""
    head = (
        "under a restriction",
        "stack",
        "routing",
        _HEADS[advice.question.objective],
        "times",
        "seeds",
        "spurious",
        "reassembly",
        "longest stall",
        "fairness",
    )
    rows = [_row(advice, line.restriction or "best of all", line.best) for line in advice.lines]
    if advice.baseline is not None:
        rows.append(_row(advice, "today: OSPF, linux-cubic", advice.baseline))
    notes = [
        f"{count(advice.runs, 'run')} of {advice.candidates} combinations, {advice.virtual_s:.0f} s of virtual time; {_end(advice)}."
    ]
    if advice.untried:
        names = ", ".join(one.name for one, _ in advice.untried[:3])
        notes.append(
            f"Not simulated, and by their predictions not excluded: {count(len(advice.untried), 'combination')}, such as {names}."
        )
    return TextTable(head, rows, 3, [*notes, NOT_MODELLED])


def value(advice: Advice, standing: Standing) -> str:
    """The mean of the objective with its unit."""
    if advice.question.objective == "completion":
        return quantity(1 / standing.value, "s")
    return quantity(standing.value, "bit/s")


def _end(advice: Advice) -> str:
    if advice.decided:
        return "the order is decided"
    if advice.interrupted:
        return "the search was interrupted"
    return (
        "the time was over: --time 5min decides more"
        if advice.timed_out
        else "some stay undecided after the most seeds"
    )


def _row(advice: Advice, name: str, standing: Standing) -> tuple[str, ...]:
    times = advice.times(standing)
    return (
        name,
        standing.candidate.stack,
        standing.candidate.routing.name,
        value(advice, standing),
        "-" if times is None else f"{times:.3g}",
        str(len(standing.trials)),
        percent(standing.price("spurious")),
        quantity(standing.price("reassembly_bytes"), "B"),
        quantity(standing.price("stall_s"), "s"),
        f"{standing.price('jain'):.2f}",
    )


def _margin(advice: Advice, standing: Standing) -> str:
    interval = advice.interval(standing)
    if interval is None:
        return " (one seed)"
    if advice.question.objective == "completion":
        low, high = sorted(quantity(1 / bound, "s") for bound in interval)
    else:
        low, high = (quantity(max(0.0, bound), "bit/s") for bound in interval)
    return f" ({low} to {high}, 90 % over {count(len(standing.trials), 'seed')})"


def _times(advice: Advice, standing: Standing) -> str:
    times = advice.times(standing)
    if times is None or advice.baseline is None or standing is advice.baseline:
        return ""
    return f", {times:.3g} times what linux-cubic has on OSPF's path ({value(advice, advice.baseline)})"
