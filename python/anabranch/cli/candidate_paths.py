"""``--paths``, ``--by`` and ``--ties``: among which paths ``robust`` and ``plan`` choose."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from anabranch.cli.exit_status import UsageError
from anabranch.cli.options import between

if TYPE_CHECKING:
    from anabranch.engineering.robust import Network
    from anabranch.engineering.robust.candidates import By, Candidates, Ties


def require_range(paths: str) -> None:
    """Refuse a number of paths out of its range.

    Raises:
        UsageError: names the value and the range.
    """
    from anabranch.engineering.robust.candidates import MOST_PATHS

    number = paths.removeprefix("disjoint=")
    if number.isdecimal():
        between("--paths", paths, int(number), 1, MOST_PATHS)


def require_used(paths: str, by: bool, ties: bool) -> None:
    """Refuse ``--by`` and ``--ties``, if given, where they would change nothing.

    Raises:
        UsageError: names the option.
    """
    by_number, disjoint = paths.isdecimal(), paths.startswith("disjoint=")
    if ties and not by_number:
        raise UsageError(f"--ties goes with a number of --paths, not with {paths}")
    if by and not (by_number or disjoint):
        raise UsageError(f"--by goes with a number of --paths or disjoint=N, not with {paths}")


def candidate_paths(
    network: "Network",
    paths: str,
    by: "By | str",
    ties: "Ties",
    possible: str = "a number, disjoint=N, or a file of paths",
) -> "Candidates":
    """A number of shortest paths of each pair, disjoint ones, or those of a file; ``by`` may be a metric of predicted throughput.

    Raises:
        RobustError: the value is none of these, or gives a pair no path.
        ValueError: names what is wrong with a metric of predicted throughput.
    """
    from anabranch.engineering import robust
    from anabranch.engineering.robust.files import path_lists

    number = paths.removeprefix("disjoint=")
    if by not in ("hop-count", "delay") and number.isdecimal():
        from anabranch.compile.stacks import preset_law
        from anabranch.engineering.plan.candidates import by_throughput

        return by_throughput(network, by, int(number), preset_law, disjoint=not paths.isdecimal())
    by = cast("By", by)
    if paths.isdecimal():
        return robust.shortest(network, int(paths), by, ties)
    if number.isdecimal():
        return robust.disjoint(network, int(number), by)
    if not Path(paths).exists():
        raise robust.RobustError(f"--paths {paths}: must be {possible}")
    try:
        return robust.given(network, path_lists(Path(paths)))
    except robust.RobustError as error:
        raise robust.RobustError(f"--paths {paths}: {error}") from None
