"""The Rust core: the packet engine and the registries of algorithms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

__version__: str

def algorithms() -> str:
    """The registries ``congestion``, ``slow_start``, ``detection`` and ``ack`` as a JSON text: name, summary, parameters of each."""

def drill(script: str, stack: str) -> str:
    """Run a script in packetdrill's language; its report, or the problem that keeps it from running, as a JSON text.

    :class:`ValueError` if there is no such stack (``linux``, ``rfc``).
    """

def prediction_models() -> str:
    """The prediction functions as a JSON text: ``flow`` (what all take first), ``models`` (arguments, validity), ``laws``."""

def predict(name: str, arguments: Sequence[npt.NDArray[Any]], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Rates in bit/s of a model from the arrays of its arguments, which broadcast to ``shape``.

    :class:`ValueError` names an argument and its first value out of bounds.
    """

def round_trip(
    arguments: Sequence[npt.NDArray[Any]], shape: tuple[int, ...]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Round-trip times in seconds and losses, from delay and loss forward, delay and loss back.

    :class:`ValueError` names an argument and its first value out of bounds.
    """

class Simulation:
    """One run of the packet engine, from a compiled run (JSON of ``RunSpec``)."""

    def __init__(self, spec: str) -> None:
        """Compile the run; :class:`ValueError` says what it refuses."""

    def advance(self, events: int) -> bool:
        """Process at most so many events, without the interpreter lock; ``False`` once the run has ended."""

    @property
    def now_s(self) -> float:
        """Virtual time reached, seconds."""

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""

    def flows(self) -> Mapping[str, npt.NDArray[Any]]:
        """One row a flow, as of now: the columns of the ``flows`` table; NaN where unknown."""

    def states(self) -> Mapping[str, Any]:
        """One row for each flow and state of its congestion control, if that reports states: flow, state, share of time."""

    def links(self) -> Mapping[str, npt.NDArray[Any]]:
        """One row a directed link, as of now: the columns of the ``links`` table."""

    def take_flow_series(self) -> Mapping[str, npt.NDArray[Any]]:
        """The flow samples taken since the last call."""

    def take_link_series(self) -> Mapping[str, npt.NDArray[Any]]:
        """The link samples taken since the last call."""

    def take_link_state(self) -> Mapping[str, npt.NDArray[Any]]:
        """What routings that measure links have learnt of them since the last call; NaN where unknown."""

    def routes(self) -> Mapping[str, Any]:
        """The routes of the pairs in use, of routings that measure links, and their changes; ``nodes`` is a list of lists."""

    @property
    def packets_without_route(self) -> int:
        """Packets that no route led on."""

    @property
    def packets_expired(self) -> int:
        """Packets whose time to live was over."""

    def take_capture(self, link: int) -> bytes:
        """The next piece of the pcapng file of a link's packets; empty if the run does not capture the link."""
