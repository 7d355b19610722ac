"""The engines by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event

from anabranch.engines import packet


@dataclass(frozen=True)
class Engine:
    """How an engine runs."""

    simulation: Callable[[packet.CompiledRun, int, Event], packet.Simulation]
    """A run, the greatest number of its threads, and what asks it to stop. :class:`ValueError` says what the engine refuses."""
    before_packets: str = "computing routes"
    """How the progress describes a run before its first packet-hop."""
    takes_idle_cores: bool = False
    """Whether more threads make no run slower."""
    in_real_time: bool = False
    """Whether one run at a time has the machine."""


def _kernel(spec: packet.CompiledRun, _threads: int, _stop: Event) -> packet.Simulation:
    from anabranch.engines.kernel.simulation import KernelSimulation

    return KernelSimulation(spec)


def _predict(spec: packet.CompiledRun, threads: int, _stop: Event) -> packet.Simulation:
    from anabranch.engines.predict import PredictedRun

    return PredictedRun(spec, threads)


ENGINES: Mapping[str, Engine] = {
    "packet": Engine(packet.new_simulation),
    "predict": Engine(_predict, before_packets="predicting", takes_idle_cores=True),
    "kernel": Engine(_kernel, in_real_time=True),
}
