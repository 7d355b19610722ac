"""The results of a compiled run: the outcome of the first usable attempt, the names in its tables, and its facts."""

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any, TypeVar

from anabranch.engines import packet
from anabranch.foundation.units import PICOSECONDS_PER_SECOND

MOST_ATTEMPTS = 3
"""Attempts at a run whose results cannot be used, such as one in real time while the machine was busy."""

_Recorder = TypeVar("_Recorder", bound=packet.Recorder)


def attempted(
    spec: Mapping[str, Any],
    begin: Callable[[], _Recorder],
    discard: Callable[[_Recorder], None],
    stop: Event,
    make: Callable[[packet.CompiledRun], packet.Simulation],
) -> tuple[_Recorder, packet.RunOutcome, int]:
    """The recorder and the outcome of the first attempt that can be used, and its number from 1.

    ``begin`` makes a recorder for an attempt, and ``discard`` removes what one has recorded that cannot be used.

    Raises:
        anabranch.engines.packet.RunAgain: none of :data:`MOST_ATTEMPTS` could be used.
        ValueError: the engine refuses the run.
    """
    for attempt in range(1, MOST_ATTEMPTS + 1):
        recorder = begin()
        try:
            return recorder, packet.simulate(spec, recorder, stop, make), attempt
        except packet.RunAgain:
            discard(recorder)
            if attempt == MOST_ATTEMPTS or stop.is_set():
                raise
    raise AssertionError("the last attempt returns or raises")


def names_of(spec: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """The names of a compiled run by the column of the tables that has their indexes."""
    return {
        "traffic": [entry["name"] for entry in spec["traffic"]],
        "src": spec["nodes"],
        "dst": spec["nodes"],
        "stack": [stack["name"] for stack in spec["stacks"]],
        "routing": [routing["name"] for routing in spec["routings"]],
    }


def facts_of(spec: Mapping[str, Any], outcome: packet.RunOutcome) -> dict[str, Any]:
    """Facts about a run besides its tables."""
    return {
        "warm_up_s": spec["warm_up"] / PICOSECONDS_PER_SECOND,
        "simulated_s": outcome.now_s,
        "packet_hops": outcome.packet_hops,
        "packets_without_route": outcome.packets_without_route,
        "packets_expired": outcome.packets_expired,
    }
