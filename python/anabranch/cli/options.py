"""Groups of options on the help pages, and options that several commands share."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from anabranch.cli.exit_status import UsageError
from anabranch.foundation import units

# As they come on a help page, between the arguments and the output.
TOPOLOGY = Group("Topology", sort_key=1)
TRAFFIC = Group("Traffic", sort_key=2)
PATHS = Group("Paths", sort_key=3)
FAILURES = Group("Failures", sort_key=4)
SEARCH = Group("Search", sort_key=5)
COMPARISON = Group("Comparison", sort_key=6)
EXPORT = Group("Export", sort_key=7)
SCENARIO = Group("Scenario", sort_key=8)
WORK = Group("Work", sort_key=9)
OUTPUT = Group("Output", sort_key=10)


def _share(_: type, tokens: Sequence[Token]) -> float:
    return units.share(tokens[0].value)


def _whole(_: type, tokens: Sequence[Token]) -> int:
    # cyclopts would take 1.6 for 2.
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", tokens[0].value) is None:
        raise ValueError("must be a whole number")
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=_whole)]
Share = Annotated[float, Parameter(converter=_share)]
"""A number, or a percentage such as 1%."""
ScenarioFile = Annotated[
    Path, Parameter(help="A scenario file (TOML), or example:NAME (anabranch init lists them); - is standard input.")
]
Settings = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        negative="",
        group=SCENARIO,
        help="Replace the value of a key: --set run.duration=5s. May be repeated.",
    ),
]


def _topologies(context: Any) -> list[str]:
    """Names that need no file, and files that begin as the word to complete does; directories end with a slash."""
    from anabranch.network.topologies import names

    word = Path(context.incomplete)
    folder, beginning = (word, "") if context.incomplete.endswith("/") else (word.parent, word.name)
    files = (path for path in sorted(folder.glob("*")) if path.name.startswith(beginning))
    return [*names(), *(f"{path}/" if path.is_dir() else str(path) for path in files)]


TopologyName = Annotated[str, Parameter(completer=_topologies, help="A TopoHub name, a built-in, or a file.")]
Directed = Annotated[bool | None, Parameter(group=TOPOLOGY, help="Whether links of a CSV or SNDlib file are directed.")]
Part = Annotated[
    Literal["largest"] | None,
    Parameter(group=TOPOLOGY, help="Keep the largest connected part of the topology alone."),
]
Capacity = Annotated[str | None, Parameter(group=TOPOLOGY, help="Capacity of links without their own, such as 10Gbps.")]
Jobs = Annotated[
    Whole | None,
    Parameter(name=["--jobs", "-j"], group=WORK, help="Runs at a time (default one for each core)."),
]
Json = Annotated[bool, Parameter(name="--json", negative="", group=OUTPUT, help="Print one JSON document.")]


def at_least(least: int, **options: int | None) -> None:
    """Check options that are numbers.

    Raises:
        UsageError: names the option, its value and the least.
    """
    for name, value in options.items():
        if value is not None and value < least:
            raise UsageError(f"--{name} {value}: must be at least {least}")


def between(option: str, written: object, value: int, least: int, most: int) -> None:
    """Check an option that is, or contains, a number.

    Raises:
        UsageError: names the option, what is written, and the range.
    """
    if not least <= value <= most:
        raise UsageError(f"{option} {written}: must be from {least} to {most:,}")


def require_svg(option: str, output: Path) -> None:
    """Check the name of a drawing: a file of SVG that has another suffix opens nowhere.

    Raises:
        UsageError: names the option, its value, and what would be right.
    """
    if output.suffix.lower() != ".svg":
        raise UsageError(f"{option} {output}: must end in .svg, the format of the drawing")


def rate_bps(option: str, text: str) -> int:
    """The bit/s of an option such as ``10Mbps``.

    Raises:
        UsageError: names the option, its value, and what would be right.
    """
    try:
        rate = units.rate(text)
    except units.UnitError as error:
        raise UsageError(f"{option} {text}: {error}") from None
    if rate <= 0:
        raise UsageError(f"{option} {text}: must be more than 0")
    return rate


def seconds(option: str, text: str) -> float:
    """The seconds of an option such as ``50ms``.

    Raises:
        UsageError: names the option, its value, and what would be right.
    """
    try:
        return units.duration(text) / units.PICOSECONDS_PER_SECOND
    except units.UnitError as error:
        raise UsageError(f"{option} {text}: {error}") from None
