"""Classes of flows with routes of their own: by TCP source port, or by differentiated services code point (RFC 2474)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.forwarding import checked
from anabranch.engineering.routes.model import Routes

Ports = int | str | tuple[int, int]
"""A TCP port, or a range of them with both ends: ``(5000, 5099)`` or ``"5000-5099"``."""
Dscp = int | str
"""A code point from 1 to 63."""

LAST_TCP_PORT = 65_535
LAST_DSCP = 63


@dataclass(frozen=True)
class TrafficClass:
    """The flows of a class, and their routes."""

    name: str
    """For messages."""
    first: int
    last: int
    """The ports, or the code point twice."""
    routes: Routes


def classes(
    what: str, given: Mapping[Ports, Routes], parse: Callable[[Ports], tuple[int, int]], routes: Routes
) -> Iterable[TrafficClass]:
    """The classes of an export with the default ``routes``.

    Raises:
        ExportError: a class is none, has a port or code point of another one, or its routes are on another topology.
    """
    taken: list[tuple[int, int]] = []
    for key, own in given.items():
        name = f"{what} {key}"
        first, last = parse(key)
        for begin, end in taken:
            if first <= end and begin <= last:
                overlap = begin if begin == end else f"{begin}-{end}"
                raise ExportError(f"{name}: overlaps with {overlap}; each has one routing")
        taken.append((first, last))
        if own.topology != routes.topology:
            raise ExportError(f"{name}: its routes are on another topology than the others")
        yield TrafficClass(name, first, last, checked(own))


def by_port(given: Mapping[Ports, Routes], routes: Routes) -> Iterable[TrafficClass]:
    """The classes by TCP source port.

    Raises:
        ExportError: as :func:`classes`.
    """
    return classes("TCP source port", given, port_range, routes)


def by_dscp(given: Mapping[Dscp, Routes], routes: Routes) -> Iterable[TrafficClass]:
    """The classes by code point.

    Raises:
        ExportError: as :func:`classes`.
    """
    return classes("DSCP", given, dscp_of, routes)  # type: ignore[arg-type] # a code point is one of the kinds of a port


def port_range(ports: Ports) -> tuple[int, int]:
    """The first and the last TCP port of ``5001`` or ``5000-5099``.

    Raises:
        ExportError: they are none.
    """
    wrong = f'TCP source port {ports!r}: must be a port from 1 to {LAST_TCP_PORT}, or a range such as "5000-5099"'
    try:
        if isinstance(ports, str):
            begin, _, end = ports.partition("-")
            first, last = int(begin), int(end or begin)
        else:
            first, last = ports if isinstance(ports, tuple) else (ports, ports)
    except ValueError:
        raise ExportError(wrong) from None
    if not 1 <= first <= last <= LAST_TCP_PORT:
        raise ExportError(wrong)
    return first, last


def dscp_of(code: Ports) -> tuple[int, int]:
    """A code point, twice: as a range of one.

    Raises:
        ExportError: it is none, or 0, which all other packets have.
    """
    text = str(code)
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:4]) <= LAST_DSCP):
        raise ExportError(
            f"DSCP {code!r}: must be a number from 1 to {LAST_DSCP}, such as 46 for EF; 0 is that of all other packets"
        )
    return int(text), int(text)
