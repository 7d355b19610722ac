"""``anabranch robust`` with rules for splits (``--max-paths``, ``--weights-in``) and a second objective (``--then``)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import UsageError
from anabranch.cli.options import PATHS, SEARCH, Share, Whole, between
from anabranch.cli.output import load_text, tell

if TYPE_CHECKING:
    from anabranch.engineering.robust.refining import Refined, Second
    from anabranch.engineering.robust.rules import Rules

_NAMES = {"splits": "split pairs", "delay": "mean delay", "spread": "mean spread"}


@Parameter(name="*", group=PATHS)
@dataclass(frozen=True)
class Ruling:
    """Rules for splits, and a second objective."""

    stretch: Annotated[
        float | None,
        Parameter(help="Only paths that are at most this many times as long, by --by, as the pair's shortest: 1.5."),
    ] = None
    max_paths: Annotated[Whole | None, Parameter(help="Use at most this many of the candidate paths of each pair.")] = (
        None
    )
    weights_in: Annotated[
        Whole | None, Parameter(help="Shares are whole multiples of one over this, as routers have them: 8.")
    ] = None
    then: Annotated[
        Literal["splits", "delay", "spread"] | None,
        Parameter(
            group=SEARCH,
            help="At the least load, also minimise the pairs that split, the mean delay, or the mean spread of the delays of a pair's paths.",
        ),
    ] = None
    slack: Annotated[
        Share, Parameter(group=SEARCH, help="With --then: how far the load may be above the least: 0.01 or 1%.")
    ] = 0.0

    def require_possible(self) -> None:
        """Refuse numbers out of their range.

        Raises:
            UsageError: names the option, its value and the range.
        """
        from anabranch.engineering.robust.candidates import MOST_PATHS
        from anabranch.engineering.robust.rules import MOST_PARTS

        if self.stretch is not None and not 1 <= self.stretch < float("inf"):
            raise UsageError(f"--stretch {self.stretch:g}: must be at least 1, such as 1.5")
        for option, number, most in (
            ("--max-paths", self.max_paths, MOST_PATHS),
            ("--weights-in", self.weights_in, MOST_PARTS),
        ):
            if number is not None:
                between(option, str(number), number, 1, most)
        if not 0 <= self.slack <= 1:
            raise UsageError(f"--slack {100 * self.slack:g}%: must be from 0% to 100%")
        if self.slack and self.then is None:
            raise UsageError("--slack goes with --then")

    @property
    def refines(self) -> bool:
        """Whether there is more to do than to find the least load over candidates."""
        return (self.max_paths, self.weights_in, self.then) != (None, None, None)

    def rules(self) -> "Rules":
        """The rules for splits."""
        from anabranch.engineering.robust.rules import Rules

        return Rules(self.max_paths, self.weights_in)


def record(found: "Refined") -> dict[str, Any]:
    """The entries of the document that only refined routings have."""
    second = found.second
    return {
        "rules": {"max_paths": found.rules.max_paths, "weights_in": found.rules.weights_in},
        "lower_bound": found.load_bound,
        "gap": found.load_gap,
        "load_without_rules": found.unrestricted.worst_case_load,
        "load_by_rounding": found.rounded_load,
        "second_objective": None
        if second is None
        else {
            "minimised": second.objective,
            "unit": "pairs" if second.objective == "splits" else "s",
            "allowed_load": found.allowed_load,
            "before": second.before,
            "value": second.value,
            "lower_bound": second.bound,
        },
    }


def print_loads(found: "Refined") -> None:
    """The load, and the loads beside it."""
    tell(f"worst-case load  {load_text(found.routing.worst_case_load)}")
    if found.rounded_load is not None:
        tell(f"                 {load_text(found.unrestricted.worst_case_load)} without --max-paths and --weights-in")
        tell(f"                 {load_text(found.rounded_load)} by rounding to them")
    tell(f"lower bound      {load_text(found.load_bound)}   gap {found.load_gap:.2g}")


def print_second(second: "Second") -> None:
    """The second objective: before, after, and its bound."""
    tell(
        f"{_NAMES[second.objective]:15}  {_text(second, second.value)}   {_text(second, second.before)} before, "
        f"lower bound {_text(second, second.bound)}"
    )


def _text(second: "Second", value: float) -> str:
    return f"{value:.0f}" if second.objective == "splits" else f"{1e3 * value:.6g} ms"
