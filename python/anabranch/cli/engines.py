"""The engines as ``run`` and ``compare`` offer them."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import UsageError
from anabranch.foundation import units

if TYPE_CHECKING:
    from anabranch.engines.packet import CompiledRun, Simulation

_DEFAULT_MAX_LATENESS = "2ms"
EngineName = Literal["packet", "predict", "kernel"]
MaxLateness = Annotated[
    str | None,
    Parameter(
        help="kernel: refuse a run if 1 % of the packets leave the network later than this after they are due "
        f"(default: {_DEFAULT_MAX_LATENESS})."
    ),
]


def simulations(
    engines: Sequence[EngineName], max_lateness: str | None = None
) -> "dict[EngineName, Callable[[CompiledRun], Simulation] | None]":
    """Each engine's function that makes a run, if an option needs one. Without privileges, the kernel engine starts this program again with them.

    Raises:
        UsageError: the lateness is no duration, or no engine has one.
    """
    makers: dict[EngineName, Callable[[CompiledRun], Simulation] | None] = dict.fromkeys(engines)
    if "kernel" not in engines:
        if max_lateness is not None:
            raise UsageError(f"--max-lateness {max_lateness}: only --engine kernel is ever late; leave it out")
        return makers
    try:
        bound_s = units.duration(max_lateness or _DEFAULT_MAX_LATENESS) / units.PICOSECONDS_PER_SECOND
    except units.UnitError as error:
        raise UsageError(f"--max-lateness {max_lateness}: {error}") from None
    _get_privileges()
    from anabranch.engines.kernel.simulation import KernelSimulation

    return makers | {"kernel": partial(KernelSimulation, max_lateness_s=bound_s)}


def _get_privileges() -> None:
    """Start this program again in a user namespace, where it has the privileges that it needs, if it has none."""
    from anabranch.engines.kernel.linux_network import support

    if os.geteuid() != 0 and support.missing() is not None:
        support.enter_user_namespace([sys.executable, "-m", "anabranch", *sys.argv[1:]])
