"""The packet engine: drives one ``Simulation`` of the Rust core, and passes its recordings to a recorder while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from anabranch.foundation.json_text import json_text

if TYPE_CHECKING:
    from anabranch.foundation.array_types import Columns

CompiledRun = Mapping[str, Any]
"""What :func:`anabranch.compile.run.compile_run` makes of a variant and a seed."""
EVENTS_AT_ONCE = 200_000
"""Events between two looks at the clock, the recordings and the stop signal: some 10 to 50 ms."""


class RunAgain(ValueError):
    """The results of a run cannot be used; another attempt may give some."""


class Simulation(Protocol):
    """The part of ``anabranch._core.Simulation`` that this module uses."""

    def advance(self, events: int) -> bool:
        """Process at most this number of events; ``False`` once the run has ended."""

    @property
    def now_s(self) -> float:
        """Virtual time reached, seconds."""

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""

    def flows(self) -> Columns:
        """One row a flow."""

    def states(self) -> Mapping[str, Any]:
        """One row for each flow and state of its congestion control, if that reports states."""

    def links(self) -> Columns:
        """One row a directed link."""

    def take_flow_series(self) -> Columns:
        """The flow samples since the last call."""

    def take_link_series(self) -> Columns:
        """The link samples since the last call."""

    def take_link_state(self) -> Columns:
        """The measurements of links since the last call, of routings that measure links."""

    def routes(self) -> Mapping[str, Any]:
        """The routes of the pairs in use, of routings that measure links, and their changes."""

    @property
    def packets_without_route(self) -> int:
        """Packets that no route led on."""

    @property
    def packets_expired(self) -> int:
        """Packets that went hop by hop in a circle until their time to live was over."""

    @property
    def threads(self) -> int:
        """Threads that the run is on."""

    def take_capture(self, link: int) -> bytes:
        """The packets captured on a link since the last call."""


@runtime_checkable
class ReportsFacts(Protocol):
    """A simulation that the manifest says more of."""

    def facts(self) -> Mapping[str, Any]:
        """Facts for the manifest's record of the run, once it has ended."""


class Recorder(Protocol):
    """Receives the recordings of a run while it goes on."""

    def flow_series(self, columns: Columns) -> None:
        """Samples of the flows."""

    def link_series(self, columns: Columns) -> None:
        """Samples of the links."""

    def link_state(self, columns: Columns) -> None:
        """Link states after a sample."""

    def capture(self, link: int, piece: bytes) -> None:
        """A piece of a capture file."""

    def progress(self, now_s: float, packet_hops: int) -> None:
        """How far the run is."""


@dataclass(frozen=True)
class RunOutcome:
    """A run that has ended, or was stopped."""

    complete: bool
    now_s: float
    packet_hops: int
    flows: Columns
    states: Mapping[str, Any]
    links: Columns
    routes: Mapping[str, Any]
    packets_without_route: int
    packets_expired: int
    threads: int
    facts: Mapping[str, Any]
    thread_gain: float | None = None
    """CPU seconds of work of all threads in a second, without waits; ``None`` for one thread, or where the engine does not say it."""


def new_simulation(spec: CompiledRun, threads: int = 1, stop: Event | None = None) -> Simulation:
    """A simulation of the Rust core on at most ``threads`` threads.

    ``stop`` ends a step of a run soon, also while congestion controls of the scenario are slow or endless.

    Raises:
        ValueError: names what the engine refuses.
    """
    from anabranch import _core

    return cast(Simulation, _core.Simulation(json_text(spec), threads, stop))


def simulate(
    spec: CompiledRun, recorder: Recorder, stop: Event, make: Callable[[CompiledRun], Simulation] = new_simulation
) -> RunOutcome:
    """Run to the end or until ``stop``. A ``KeyboardInterrupt`` in a step sets ``stop``, and the results are those so far.

    Raises:
        ValueError: names what the engine refuses.
    """
    simulation = make(spec)
    measures = any(routing["link_state"] for routing in spec["routings"])
    running = True
    while running and not stop.is_set():
        try:
            running = simulation.advance(EVENTS_AT_ONCE)
        except KeyboardInterrupt:
            stop.set()
        if spec["sample"] is not None:
            recorder.flow_series(simulation.take_flow_series())
            recorder.link_series(simulation.take_link_series())
        if measures:
            recorder.link_state(simulation.take_link_state())
        for link in spec["captures"]:
            recorder.capture(link, simulation.take_capture(link))
        recorder.progress(simulation.now_s, simulation.packet_hops)
    return RunOutcome(
        complete=not running,
        now_s=simulation.now_s,
        packet_hops=simulation.packet_hops,
        flows=simulation.flows(),
        states=simulation.states(),
        links=simulation.links(),
        routes=simulation.routes(),
        packets_without_route=simulation.packets_without_route,
        packets_expired=simulation.packets_expired,
        threads=simulation.threads,
        facts=simulation.facts() if isinstance(simulation, ReportsFacts) else {},
        thread_gain=getattr(simulation, "thread_gain", None),
    )
