"""Solve a problem by one of the methods, and say what came out."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal

from anabranch.engineering.robust.blockwise import auto, compact
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.exchange import exchange
from anabranch.engineering.robust.lp import OutOfTime
from anabranch.engineering.robust.problem import Best, Problem, Proof, Report
from anabranch.engineering.robust.separation import Loads
from anabranch.engineering.robust.splits import Splits

Method = Literal["auto", "compact", "exchange"]
GAP = 1e-6
"""The relative gap between the bounds at which the search ends."""

_METHODS: dict[str, Callable[[Best, float], None]] = {"auto": auto, "compact": compact, "exchange": exchange}


@dataclass(frozen=True, eq=False)
class RobustRouting:
    """Splits with their certificate."""

    problem: Problem
    method: Method
    splits: Splits
    loads: Loads
    """The loads of every link, recomputed from the splits alone."""
    proof: Proof
    """Why no routing over the paths to choose from can be better than its bound."""
    wanted_gap: float
    interrupted: bool = False
    out_of_time: bool = False

    @property
    def worst_case_load(self) -> float:
        """The greatest load of a link under any matrix of the model."""
        return float(self.loads.load.max())

    @property
    def lower_bound(self) -> float:
        """No routing over the paths to choose from has a smaller worst-case load."""
        return min(self.proof.bound, self.worst_case_load)

    @property
    def gap(self) -> float:
        """The gap between load and bound, relative to the worst-case load."""
        return (self.worst_case_load - self.lower_bound) / self.worst_case_load if self.worst_case_load > 0 else 0.0

    @property
    def closed(self) -> bool:
        """Whether the gap is as small as was wanted."""
        return self.gap <= self.wanted_gap

    @property
    def worst_link(self) -> tuple[str, str]:
        """The ends of the link with the worst-case load."""
        return self.problem.network.link_name(int(self.loads.links[self.loads.worst]))


def silent(lower: float, upper: float, what: str) -> None:
    """Report nothing."""


def solve(problem: Problem, method: Method = "auto", gap: float = GAP) -> RobustRouting:
    """The routing of least worst-case load, to within a relative gap.

    Raises:
        RobustError: the problem has no answer, or the method does not take it.
        KeyboardInterrupt: Ctrl-C, before it was found.
    """
    found = best_found(problem, method, gap)
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def best_found(
    problem: Problem, method: Method = "auto", gap: float = GAP, report: Report = silent, limit_s: float = inf
) -> RobustRouting:
    """As :func:`solve`, or the best routing that is found in ``limit_s`` or until Ctrl-C; it says which (``interrupted``).

    Raises:
        RobustError: the problem has no answer, or the method does not take it.
    """
    if not 0 <= gap < 1:
        raise RobustError(f"a gap of {gap:g}: must be at least 0 and less than 1, such as 1e-6")
    problem.check()
    best = Best(problem, report, limit_s)
    interrupted = out_of_time = False
    try:
        _METHODS[method](best, gap)
    except KeyboardInterrupt:
        interrupted = True
    except OutOfTime:
        out_of_time = True
    return RobustRouting(problem, method, best.splits, best.loads, best.proof, gap, interrupted, out_of_time)
