"""Run the study "Spraying, then and now", and write the tables and the verdict of docs/models/spraying-then-and-now.md, and a table of docs/guide/tasks.md.

Each sentence of the verdict has a condition. If one does not hold, the page stays as it is, and the sentence must be written anew.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from anabranch import version
from anabranch.studies.fabrics import FabricAnswer, FabricCell, study
from anabranch.studies.fabrics.answer import HEAD, Value
from bench.page import write_part
from bench.table import Table

DOCS = Path(__file__).parents[1] / "docs"
PAGE, TASKS = DOCS / "models" / "spraying-then-and-now.md", DOCS / "guide" / "tasks.md"
COMMAND = "python -m bench.fabrics"
SEEDS = 10
ECMP, PLB, DCTCP, DCTCP_REPS, DCTCP_MIXED = (
    f"linux-dctcp-over-{entropy}" for entropy in ("flow", "plb", "oblivious", "reps", "mixed")
)
EACH_REPS, EACH_MIXED = (f"dctcp-ack-each-over-{entropy}" for entropy in ("reps", "mixed"))
MPRC, MPRC_REPS, PATHS, RACK = (
    *("mprc-over-oblivious", "mprc-over-reps", "newreno-path-count-over-oblivious", "newreno-rack-tlp-over-oblivious"),
)
SPLIT = "mptcp-lia-over-subflows"
OBLIVIOUS, BITMAP, REPS, MIXED, RCCC, BOTH = (
    *("uet-nscc-over-oblivious", "uet-nscc-over-bitmap", "uet-nscc-over-reps", "uet-nscc-over-mixed"),
    *("uet-rccc-over-mixed", "uet-both-over-mixed"),
)
ADAPTIVE, DRILL, DCTCP_ADAPTIVE, DCTCP_DRILL, MPRC_ADAPTIVE, MPRC_DRILL = (
    f"{transport}-over-{selector}"
    for transport in ("uet-nscc", "linux-dctcp", "mprc")
    for selector in ("adaptive", "drill")
)


def parts(answer: FabricAnswer) -> dict[str, str]:
    """The text of each part by its key.

    Raises:
        ValueError: a sentence of the verdict does not hold.
    """
    tables = {kind: Table(HEAD, answer.table(kind).rows).markdown() for kind in answer.cells}
    verdict = [*_of_today(answer), *_of_the_seeds(answer)]
    if wrong := [text for text, holds in verdict if not holds]:
        raise ValueError("these sentences do not hold; write others:\n" + "\n".join(wrong))
    return {"verdict": "\n".join(f"- {text}" for text, _ in verdict), **tables}


def brief(answer: FabricAnswer) -> str:
    """Some rows, each with the last completion as a multiple of the least time, for the guide."""
    rows = [
        [row.transport, row.entropy, *(_short(_times(answer.cells[kind][row.name])) for kind in answer.cells)]
        for row in answer.rows
        if row.name in (ECMP, PLB, DCTCP, MPRC, SPLIT, OBLIVIOUS, MIXED, ADAPTIVE, RCCC)
    ]
    return Table(("transport", "entropy", *answer.cells), rows).markdown()


def _of_today(answer: FabricAnswer) -> list[tuple[str, bool]]:
    """Sentences on what is deployed, and whether they hold."""
    even, incast, ring, slow = (answer.cells[kind] for kind in ("permutation", "incast", "all-reduce", "slow-spine"))
    made = (OBLIVIOUS, BITMAP, REPS, MIXED, RCCC, BOTH)
    worst = {name: max(_times(cells[name]) for cells in (incast, ring)) for name in made}
    tcp = [name for name in even if not name.startswith("uet-")]
    spans = [_times(even[name]) for name in made]
    return [
        (
            "**Spray, if all links are alike.** The last flow of the permutation ends after "
            f"{_us(even[PLB])} with DCTCP and PLB, and after {_us(even[DCTCP])} with DCTCP sprayed. "
            f"With one path for each flow, it is {_us(even[ECMP])}.",
            _ahead(even[DCTCP], even[PLB]) and _ahead(even[DCTCP], even[ECMP]),
        ),
        (
            "**Transports made for spraying are within a few per cent of the least time.** NSCC, RCCC and both take "
            f"{min(spans):.2f} to {max(spans):.2f} times as long under the permutation, and at most {max(worst.values()):.2f} under incast and all-reduce. "
            f"The best TCP takes {min(_times(even[name]) for name in tcp):.2f}, {min(_times(incast[name]) for name in tcp):.2f} "
            f"and {min(_times(ring[name]) for name in tcp):.2f}.",
            max(*worst.values(), *spans) < 1.15,
        ),
        (
            "**The selector matters once a spine is slow.** NSCC takes "
            f"{_times(slow[OBLIVIOUS]):.2f} times the least with oblivious, {_times(slow[REPS]):.2f} with REPS, {_times(slow[BITMAP]):.2f} with bitmap and "
            f"{_times(slow[MIXED]):.2f} with mixed. RCCC takes {_times(slow[RCCC]):.2f} with mixed, and both {_times(slow[BOTH]):.2f}. DCTCP with PLB takes "
            f"{_times(slow[PLB]):.2f}: some flows find other paths late.",
            _ahead(slow[MIXED], slow[REPS]) and _ahead(slow[REPS], slow[OBLIVIOUS]) and _ahead(slow[RCCC], slow[PLB]),
        ),
        (
            "**Policies that learn need an ACK for each packet.** With a slow spine, Linux's DCTCP takes "
            f"{_us(slow[DCTCP])} over oblivious, {_us(slow[DCTCP_REPS])} over REPS and {_us(slow[DCTCP_MIXED])} over mixed. Linux delays ACKs after reordering, and "
            f"an ACK returns one value. If the receiver acknowledges each segment at once, it is {_us(slow[EACH_REPS])} and {_us(slow[EACH_MIXED])}.",
            _ahead(slow[DCTCP], slow[DCTCP_REPS])
            and _ahead(slow[DCTCP], slow[DCTCP_MIXED])
            and _ahead(slow[EACH_REPS], slow[DCTCP_REPS])
            and _ahead(slow[EACH_MIXED], slow[DCTCP]),
        ),
        (
            "**Switches that read their own queues do at least as well as senders that learn.** With a slow spine, NSCC takes "
            f"{_us(slow[ADAPTIVE])} with adaptive and {_us(slow[DRILL])} with DRILL, and {_us(slow[MIXED])} over mixed. TCP gains most: DCTCP takes "
            f"{_us(slow[DCTCP_ADAPTIVE])} and {_us(slow[DCTCP_DRILL])}, MPRC {_us(slow[MPRC_ADAPTIVE])} and {_us(slow[MPRC_DRILL])}.",
            not any(_ahead(slow[MIXED], slow[name]) for name in (ADAPTIVE, DRILL))
            and all(_ahead(slow[name], slow[DCTCP]) for name in (DCTCP_ADAPTIVE, DCTCP_DRILL))
            and all(_ahead(slow[name], slow[MPRC]) for name in (MPRC_ADAPTIVE, MPRC_DRILL)),
        ),
    ]


def _of_the_seeds(answer: FabricAnswer) -> list[tuple[str, bool]]:
    """Sentences on FastRTO and on thresholds by paths, and whether they hold."""
    even, incast, ring, slow = (answer.cells[kind] for kind in ("permutation", "incast", "all-reduce", "slow-spine"))
    return [
        (
            "**FastRTO is better than RACK where paths are alike.** With NewReno's window, the last flow of the permutation ends after "
            f"{_us(even[MPRC])} with FastRTO (MPRC), and after {_us(even[RACK])} with RACK. FastRTO sends {even[MPRC].spurious.mean:,.0f} packets in vain, "
            f"RACK {even[RACK].spurious.mean:,.0f}. The price is memory: a receiver holds up to {_kb(even[MPRC])}, with RACK {_kb(even[RACK])}.",
            _ahead(even[MPRC], even[RACK]) and even[MPRC].spurious.mean < even[RACK].spurious.mean,
        ),
        (
            "**It is no better with incast, or with a slow spine.** There, MPRC takes "
            f"{_us(incast[MPRC])} and {_us(slow[MPRC])}, RACK {_us(incast[RACK])} and {_us(slow[RACK])}: the intervals overlap. With the slow spine, both "
            f"send about as much in vain ({slow[MPRC].spurious.mean:,.0f} and {slow[RACK].spurious.mean:,.0f} packets).",
            _level(incast[MPRC], incast[RACK]) and _level(slow[MPRC], slow[RACK]),
        ),
        (
            "**Thresholds by paths keep up until packets are lost.** Under the permutation they take "
            f"{_us(even[PATHS])}, level with FastRTO, but send {even[PATHS].spurious.mean:,.0f} packets in vain. Under incast they take "
            f"{_us(incast[PATHS])} and have {incast[PATHS].timeouts.mean:.0f} timeouts a run, with FastRTO {incast[MPRC].timeouts.mean:.0f}.",
            _level(even[PATHS], even[MPRC]) and _ahead(incast[MPRC], incast[PATHS]),
        ),
        (
            "**MPRC loses to transports made for spraying, everywhere.** It takes "
            f"{_times(even[MPRC]):.2f}, {_times(incast[MPRC]):.2f}, {_times(ring[MPRC]):.2f} and {_times(slow[MPRC]):.2f} times the least under the four kinds of "
            f"traffic; NSCC over mixed takes {_times(even[MIXED]):.2f}, {_times(incast[MIXED]):.2f}, {_times(ring[MIXED]):.2f} and {_times(slow[MIXED]):.2f}. FastRTO decides when a "
            "packet is lost, not which path the next one takes. MPRC learns of full queues by losses alone.",
            all(_ahead(cells[MIXED], cells[MPRC]) for cells in (even, incast, ring, slow)),
        ),
        (
            "**REPS changes little for MPRC.** With the slow spine its last completion takes "
            f"{_us(slow[MPRC])} over oblivious and {_us(slow[MPRC_REPS])} over REPS. Without marks, REPS only prefers paths whose ACKs come back soon.",
            _level(slow[MPRC_REPS], slow[MPRC]),
        ),
        (
            "**Splitting above TCP has a long tail.** Four subflows of Multipath TCP, coupled by LIA, take "
            f"{_us(even[SPLIT], 'median_us')} in the median of the permutation, MPRC {_us(even[MPRC], 'median_us')}. But the last flow takes {_us(even[SPLIT])}: "
            f"subflows meet on a spine, and {even[SPLIT].timeouts.mean:.1f} timeouts a run decide it. Under incast there are {incast[SPLIT].timeouts.mean:.0f}, as each sender begins with four "
            f"windows, and it takes {_us(incast[SPLIT])}. With the slow spine, most flows gain: their other subflows carry the data. The median is {_us(slow[SPLIT], 'median_us')}, "
            f"with MPRC {_us(slow[MPRC], 'median_us')}.",
            _ahead(even[MPRC], even[SPLIT])
            and _ahead(incast[MPRC], incast[SPLIT])
            and _ahead(slow[SPLIT], slow[MPRC], "median_us"),
        ),
    ]


def _value(cell: FabricCell, name: str = "last_us") -> Value:
    value = getattr(cell, name)
    if not isinstance(value, Value) or value.interval is None:
        raise ValueError(f"{name} is unknown: {cell.unfinished} messages did not finish with {cell.seeds} seeds")
    return value


def _mean(cell: FabricCell) -> float:
    return _value(cell).mean


def _times(cell: FabricCell) -> float:
    return _value(cell, "times_least").mean


def _short(times: float) -> str:
    """With the digits of the page's tables."""
    return f"{times:.{2 if times < 10 else 1}f}"


def _us(cell: FabricCell, name: str = "last_us") -> str:
    value = _value(cell, name)
    return f"{value.mean:,.0f} ± {value.interval:,.0f} us"


def _kb(cell: FabricCell) -> str:
    return f"{cell.held_bytes / 1000:,.0f} kB"


def _ahead(one: FabricCell, other: FabricCell, name: str = "last_us") -> bool:
    """Whether the whole interval of the one lies below that of the other."""
    return _value(one, name).below(_value(other, name))


def _level(one: FabricCell, other: FabricCell) -> bool:
    return not _ahead(one, other) and not _ahead(other, one)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and write; the exit status is 1 if a run was stopped, and then the page is left as it is."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("runs/fabrics"), help="directory of the runs (default: %(default)s)"
    )
    parser.add_argument("-j", "--jobs", type=int, help="runs at a time (default: one for each core)")
    options = parser.parse_args(arguments)
    answer = study(seeds=SEEDS, directory=options.out, jobs=options.jobs)
    if answer.interrupted:
        print(f"{PAGE.name} is left as it is: {answer.complete} of {answer.planned} runs are complete", file=sys.stderr)
        return 1
    source = f"Anabranch {version()}, {datetime.now(UTC).date().isoformat()}, {SEEDS} seeds, {answer.planned} runs, `{COMMAND}`"
    for key, text in {**parts(answer), "source": source}.items():
        write_part(PAGE, key, text)
    write_part(TASKS, "fabrics", brief(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
