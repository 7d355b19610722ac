"""Multipath TCP of Linux: the keys that it follows, and the addresses from which a host begins further subflows."""

import os
import socket
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from typing import Any

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace

OPTION = 24
"""Bytes of the option that Linux adds to a segment: a data sequence number of 64 bits and a data acknowledgement of 32, padded."""
_PROTOCOL = 262
"""IPPROTO_MPTCP, which the C library of Python may not know."""
_COUPLED = ("lia", "olia", "balia")
_ADDED_SUBFLOWS = 8
"""Most subflows that Linux's path manager adds to the first (MPTCP_PM_ADDR_MAX)."""
_SCHEDULER = "blest"
_NEXT_NETWORK = 1 << 24


def is_multipath(stack: Mapping[str, Any]) -> bool:
    """Whether a compiled stack is of Multipath TCP."""
    return "protocol" in stack and stack["protocol"]["name"] == "mptcp"


def check(stack: Mapping[str, Any], refuse: Callable[[str, str], ValueError]) -> None:
    """Check a compiled stack of Multipath TCP.

    Raises:
        ValueError: ``refuse`` of the key that Linux cannot follow, and what it can do instead.
    """
    protocol, control = stack["protocol"], stack["congestion"].get("name")
    if control in _COUPLED:
        raise refuse(
            "congestion",
            f'it couples no subflows, so it has no "{control}"; use a control that it runs on each subflow, as preset = "linux-mptcp" does',
        )
    if protocol["scheduler"] != _SCHEDULER:
        raise refuse(
            "protocol.scheduler",
            f'its scheduler follows "{_SCHEDULER}", not "{protocol["scheduler"]}"; use "{_SCHEDULER}"',
        )
    if protocol["subflows"] > 1 + _ADDED_SUBFLOWS:
        raise refuse("protocol.subflows", f"at most {1 + _ADDED_SUBFLOWS}, here {protocol['subflows']}")
    if stack["pacing"]:
        raise refuse("pacing", "it paces subflows only if their congestion control does; leave pacing out")


def prepare(namespace: NetworkNamespace, device: str, address: str, subflows: int) -> None:
    """Let a host have connections of Multipath TCP, and begin up to this number of subflows for each, from an address each.

    Raises:
        NetworkError: this Linux has no Multipath TCP, or an old one.
    """
    if (reason := namespace.run(missing)) is not None:
        raise NetworkError(f'protocol = "mptcp": {reason}; use "tcp"')
    further = [str(IPv4Address(address) + index * _NEXT_NETWORK) for index in range(1, subflows)]
    commands = [f"mptcp limits set subflows {_ADDED_SUBFLOWS} add_addr_accepted 0"]
    for one in further:
        commands += [f"address add {one}/32 dev {device}", f"mptcp endpoint add {one} dev {device} subflow"]
    namespace.configure("\n".join(commands))


def missing() -> str | None:
    """What this Linux lacks for Multipath TCP; None if nothing."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _PROTOCOL) as one:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
    except OSError as error:
        release, reason = os.uname().release, error.strerror
        return f"this Linux ({release}) has no Multipath TCP with TCP_MAXSEG, as Linux has from 6.17 on with CONFIG_MPTCP ({reason})"
    return None
