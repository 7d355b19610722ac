"""Collective operations as messages that wait for others: all-reduce by three algorithms, and all-to-all with a window.

The algorithms are those of Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005). Hosts are
numbered in their order, from 0.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Message(NamedTuple):
    """A message between two hosts."""

    source: int
    target: int
    size: int
    """Payload bytes."""
    after: list[int]
    """Earlier messages that come to its source, or that its source sends: it starts when they are over."""


class AllReduce(NamedTuple):
    """How hosts reduce their data to one result that all of them have."""

    messages: Callable[[int, int], Iterator[Message]]
    """Of this number of hosts that have this number of bytes each."""
    count: Callable[[int], int]
    """The number of these messages."""
    needs_power_of_two: bool
    parts: Callable[[int], int]
    """Into how many parts the data of a host is cut."""


def _ring(hosts: int, size: int) -> Iterator[Message]:
    """Section 5: a reduce-scatter and an allgather in a ring. A part goes to the next host as soon as it has come."""
    for step in range(2 * (hosts - 1)):
        for host in range(hosts):
            part = (host - step) % hosts
            before = [(step - 1) * hosts + (host - 1) % hosts] if step else []
            yield Message(host, (host + 1) % hosts, _size(part, part + 1, hosts, size), before)


def _doubling(hosts: int, size: int) -> Iterator[Message]:
    """Recursive doubling: in each step hosts exchange all data with a host at twice the distance."""
    for step in range(hosts.bit_length() - 1):
        for host in range(hosts):
            came = [earlier * hosts + (host ^ 1 << earlier) for earlier in range(step)]
            yield Message(host, host ^ 1 << step, size, came)


def _halving(hosts: int, size: int) -> Iterator[Message]:
    """Rabenseifner's algorithm: a reduce-scatter that doubles the distance and halves the data, and the way back."""
    steps = hosts.bit_length() - 1
    kept = [(0, hosts)] * hosts
    distances = [1 << step for step in range(steps)]
    for step, distance in enumerate([*distances, *reversed(distances)]):
        sent = []
        for host in range(hosts):
            low, high = kept[host]
            middle = (low + high) // 2
            halves = (low, middle), (middle, high)
            upper = bool(host & distance)
            sent.append(halves[not upper] if step < steps else kept[host])
            if step < steps:
                kept[host] = halves[upper]
        for host in range(hosts):
            low, high = sent[host]
            came = [
                earlier * hosts + (host ^ other)
                for earlier, other in enumerate([*distances, *reversed(distances)][:step])
            ]
            yield Message(host, host ^ distance, _size(low, high, hosts, size), came)
        if step >= steps:
            kept = [_joined(kept[host], kept[host ^ distance]) for host in range(hosts)]


def _joined(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), max(one[1], other[1])


def _size(first: int, end: int, parts: int, size: int) -> int:
    """The bytes of these parts, where the data is cut into parts that differ by a byte at most."""
    return end * size // parts - first * size // parts


ALL_REDUCE = {
    "all-reduce-ring": AllReduce(_ring, lambda hosts: 2 * hosts * (hosts - 1), False, lambda hosts: hosts),
    "all-reduce-butterfly": AllReduce(_doubling, lambda hosts: hosts * (hosts.bit_length() - 1), True, lambda _: 1),
    "all-reduce-halving": AllReduce(
        _halving, lambda hosts: 2 * hosts * (hosts.bit_length() - 1), True, lambda hosts: hosts
    ),
}
"""By the pattern of a traffic group."""


def check(pattern: str, hosts: Sequence[str], size: int) -> None:
    """:class:`ValueError` unless these hosts can reduce this number of bytes."""
    algorithm = ALL_REDUCE[pattern]
    twice = (
        next((host for place, host in enumerate(hosts) if host in hosts[:place]), None)
        if len(set(hosts)) < len(hosts)
        else None
    )
    if twice is not None:
        raise ValueError(f'pattern = "{pattern}" takes each node once; "from" names {twice} twice')
    if len(hosts) < 2:
        raise ValueError(f'pattern = "{pattern}" needs two nodes at least; "from" has {len(hosts)}')
    if algorithm.needs_power_of_two and len(hosts) & (len(hosts) - 1):
        least = 1 << (len(hosts).bit_length() - 1)
        raise ValueError(
            f'pattern = "{pattern}" needs a power of two of nodes, such as {least}; "from" has {len(hosts)}. all-reduce-ring takes any number'
        )
    if size < algorithm.parts(len(hosts)):
        raise ValueError(f"size = {size} bytes is cut into {len(hosts)} parts: give at least {len(hosts)} bytes")


def in_windows(pairs: Sequence[tuple[int, int]], size: int, window: int) -> Iterator[Message]:
    """A message for each pair. A source has ``window`` of them under way: the next starts when the message that many places before is acknowledged.

    A source begins with the targets behind it in the order of the sources, so that not all send to one host.
    """
    of_source: dict[int, list[int]] = {}
    for source, target in pairs:
        of_source.setdefault(source, []).append(target)
    number = 0
    for place, (source, targets) in enumerate(of_source.items()):
        begin = place % len(targets)
        for index, target in enumerate([*targets[begin:], *targets[:begin]]):
            yield Message(source, target, size, [number - window] if index >= window else [])
            number += 1
