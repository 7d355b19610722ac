"""The engines as ``run`` and ``compare`` offer them."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from anabranch import units
from anabranch.cli.exit_status import UsageError

if TYPE_CHECKING:
    from anabranch.engines.packet import Simulation

DEFAULT_MAX_LATENESS = "2ms"
EngineName = Literal["packet", "predict", "kernel"]
MaxLateness = Annotated[
    str,
    Parameter(help="kernel: refuse a run if 1 % of the packets leave the network later than this after they are due."),
]


def simulation(engine: EngineName, max_lateness: str) -> "Callable[[str], Simulation] | None":
    """How the engine makes a run, if an option says so; without privileges, the kernel engine starts this program again with them.

    Raises:
        UsageError: the lateness is no duration.
    """
    if engine != "kernel":
        return None
    try:
        bound_s = units.duration(max_lateness) / units.PICOSECONDS_PER_SECOND
    except units.UnitError as error:
        raise UsageError(f"--max-lateness {max_lateness}: {error}") from None
    _get_privileges()
    from anabranch.engines.kernel.simulation import KernelSimulation

    return partial(KernelSimulation, max_lateness_s=bound_s)


def _get_privileges() -> None:
    """Start this program again in a user namespace, where it has the privileges that it needs, if it has none."""
    from anabranch.linux_network import support

    if os.geteuid() != 0 and support.missing() is not None:
        support.enter_user_namespace([sys.executable, "-m", "anabranch", *sys.argv[1:]])
