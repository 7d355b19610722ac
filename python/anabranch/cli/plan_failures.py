"""Lines about a plan after failures: the greatest load, the least throughput, the pairs that failures cut, and those without a backup path."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch.cli.lost_traffic import lost_lines
from anabranch.cli.output import load_text, mbps

if TYPE_CHECKING:
    from anabranch.engineering.plan.model import Plan

_SHOWN = 10


def failure_lines(plan: "Plan") -> Iterator[str]:
    """The worst failures by load and by throughput, and what they cut."""
    if not plan.after:
        return
    network, sending = plan.problem.network, plan.sending
    loaded = max(plan.after, key=lambda one: one.failure.load)
    slow = min(plan.after, key=lambda one: one.throughput_bps[sending].sum())
    yield f"after failure load at most {load_text(loaded.failure.load)}, after {loaded.failure.failure.name}"
    left = mbps(float(slow.throughput_bps[sending].sum()))
    yield f"              throughput at least {left}, after {slow.failure.failure.name}"
    yield from lost_lines(network, plan.worst_case_load, [one.failure for one in plan.after])
    cut = {pair for one in plan.after for pair in one.failure.lost_pairs}
    if plan.backups is None and any(plan.single[pair] for pair in cut):
        yield "                 a pair on a single path needs a backup: --backup disjoint"


def backup_lines(plan: "Plan") -> Iterator[str]:
    """How many pairs on single paths have a backup path, and the names of those that have none."""
    from anabranch.engineering.plan.backups import NONE

    if plan.backups is None:
        return
    single = plan.single & plan.sending
    without = (single & (plan.backups == NONE)).nonzero()[0].tolist()
    yield f"backup paths  {int(single.sum()) - len(without)} of {int(single.sum())} pairs on single paths have one"
    if without:
        names = ", ".join(plan.problem.network.pair_name(pair) for pair in without[:_SHOWN])
        more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
        yield f"              none      {names}{more}"
