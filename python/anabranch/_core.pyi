"""The Rust core: the packet engine and the registries of algorithms."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

__version__: str

def algorithms() -> str:
    """The registries ``congestion``, ``slow_start``, ``detection`` and ``ack`` as a JSON text: name, summary, parameters of each."""

def drill(script: str, stack: str) -> str:
    """Run a script in packetdrill's language; its report, or the problem that keeps it from running, as a JSON text.

    :class:`ValueError` if there is no such stack (``linux``, ``rfc``).
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

    def take_capture(self, link: int) -> bytes:
        """The next piece of the pcapng file of a link's packets; empty if the run does not capture the link."""

_Array = npt.NDArray[Any]

def candidate_paths(
    nodes: int,
    link_sources: _Array,
    link_targets: _Array,
    link_weights: _Array,
    pair_sources: _Array,
    pair_targets: _Array,
    select: str,
    count: int,
    most: int,
) -> tuple[_Array, _Array, _Array]:
    """Candidate paths of pairs by whole-numbered link weights (``u64``; all other arrays are ``u32``).

    ``select`` is ``shortest`` (the ``count`` shortest loopless ones), ``with-ties`` (and all as short as the last of
    them, at most ``most`` and one more) or ``disjoint`` (at most ``count``). The pair of each path, where its links begin
    in the list of links (one more entry than paths), and that list.
    """

def cheapest_paths(
    nodes: int,
    link_sources: _Array,
    link_targets: _Array,
    pair_sources: _Array,
    pair_targets: _Array,
    prices: _Array,
) -> tuple[_Array, tuple[_Array, _Array, _Array]]:
    """The least price of a path of each pair, and such paths, as :func:`candidate_paths` gives them.

    ``prices`` holds for each pair one price a link, pair after pair; infinite where there is no way.
    """

def worst_matrices(
    rows: _Array, columns: _Array, start: _Array, row: _Array, column: _Array, upper: _Array, weight: _Array
) -> tuple[_Array, _Array, _Array, _Array, _Array]:
    """For each of several weightings the traffic matrix of greatest weighted sum.

    Row and column sums are bounded by ``rows`` and ``columns``, entries by ``upper`` (all may be infinite). The entries of
    weighting ``k`` are those from ``start[k]`` to ``start[k + 1]`` of ``row``, ``column``, ``upper`` and ``weight``.
    The sums, the values of the dual variables (equal but for rounding), the amounts of all entries, the dual
    variables of the rows' bounds (weighting after weighting), and of the columns'.
    """
