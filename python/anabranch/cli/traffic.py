"""The options for traffic models, the same for ``robust`` and ``plan``."""

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import UsageError
from anabranch.cli.options import TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anabranch.engineering.robust import Network, TrafficModel


@Parameter(name="*", group=TRAFFIC)
@dataclass(frozen=True)
class Traffic:
    """Bounds on nodes and pairs, or matrices."""

    hose: Annotated[
        str | None, Parameter(help="Greatest rate that each node sends and receives: one for all, or a file.")
    ] = None
    pipe: Annotated[
        str | None,
        Parameter(help='Greatest rate that each pair sends: one for all, a file, "demands", or gravity=TOTAL.'),
    ] = None
    matrix: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="A traffic matrix (as --pipe) of an explicit set; FILE#1..288 or 'DIR/*.xml' are several. May be repeated.",
        ),
    ] = None

    def model(self, network: "Network", box: str | None = None) -> "TrafficModel":
        """The traffic model; ``box`` is ``LEAST..MOST``, factors around the one matrix.

        Raises:
            UsageError: names the options that are missing or do not go together, or the value that cannot be.
            RobustError: names the option whose file cannot be read, or is none of this network.
        """
        from anabranch.engineering import robust
        from anabranch.engineering.robust.files import hose_rates, pair_rates

        within = None
        if self.hose is not None or self.pipe is not None:
            if self.matrix and box is None:
                raise UsageError("--matrix is the whole traffic model; it does not go with --hose or --pipe")
            sent = received = upper = None
            if self.hose is not None:
                with named("--hose", self.hose):
                    sent, received = hose_rates(self.hose, network)
            if self.pipe is not None:
                with named("--pipe", self.pipe):
                    upper = pair_rates(self.pipe, network)
            within = robust.bounds(network, sent, received, upper)
        given = []
        for source in named_matrices(self.matrix or []):
            with named("--matrix", source):
                given.append(pair_rates(source, network))
        if box is not None:
            if len(given) != 1:
                raise UsageError(f"--box {box}: goes with one --matrix; there are {len(given)}")
            return robust.box(network, given[0], *_factors(box), within=within)
        if given:
            return robust.matrices(network, given)
        if within is None:
            raise UsageError("no traffic model: give --hose, --pipe, both, or --matrix")
        return within

    def refuse_as_output(self, option: str, output: Path) -> None:
        """Refuse an output that is one of these files.

        Raises:
            UsageError: names both options.
        """
        for source, values in (("--hose", [self.hose]), ("--pipe", [self.pipe]), ("--matrix", self.matrix or [])):
            for value in values:
                if value is not None and output.exists() and Path(value).exists() and output.samefile(value):
                    raise UsageError(f"{option} {output}: is the file of {source}; give another one")


def named_matrices(given: list[str]) -> list[str]:
    """The matrices of an option, one each: ``FILE#1..288`` and ``DIR/*.xml`` are several.

    Raises:
        RobustError: names the value that is none.
    """
    from anabranch.engineering.robust.files import several

    names: list[str] = []
    for source in given:
        with named("--matrix", source):
            names += several(source)
    return names


@contextmanager
def named(option: str, value: str) -> "Iterator[None]":
    """Begin the messages of errors with the option and its value."""
    from anabranch.engineering.robust import RobustError

    try:
        yield
    except RobustError as error:
        message = str(error)
        raise RobustError(
            f"{option} {message}" if message.startswith(value) else f"{option} {value}: {message}"
        ) from None


def _factors(box: str) -> tuple[float, float]:
    least, _, most = box.partition("..")
    with suppress(ValueError):
        factors = float(least), float(most)
        if 0 <= factors[0] <= factors[1] < float("inf"):
            return factors
    raise UsageError(f"--box {box}: must be two factors, the lower one first, such as 0.5..2")
