"""A namespace with a device for each host that sends or receives."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from anabranch.engines.kernel import multipath
from anabranch.engines.kernel.linux_network.devices import open_device
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.kernel.settings import LinuxStack, StackError

DEVICE = "network"
_FIRST_ADDRESS = IPv4Address("10.0.0.1")
_COMMON = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    # Senders have ports from 49152, as in captures.
    "net.ipv4.ip_local_port_range": "1024 32767",
}
_WITHOUT = {
    "net.ipv6.conf.all.disable_ipv6": ("1", "with IPv6"),
    "net.ipv4.tcp_rto_min_us": ("200000", "from 6.11 on"),
    "net.ipv4.tcp_rto_max_ms": ("120000", "from 6.15 on"),
}
"""Sysctls that some versions of Linux lack: the value that these obey, and which versions have the sysctl."""


@dataclass(frozen=True)
class Host:
    """A host of the run."""

    node: int
    namespace: NetworkNamespace
    device: int
    """Descriptor of its TUN device."""


@dataclass(frozen=True)
class Settings:
    """The settings of a host."""

    sysctls: Mapping[str, str]
    route: Mapping[str, str]
    """Metrics of its route, for ``ip route``."""
    is_multipath: bool
    """Whether it has connections of Multipath TCP."""


def address(node: int) -> str:
    """The address of a node's host."""
    return str(_FIRST_ADDRESS + node)


def make_hosts(
    spec: Mapping[str, Any], stacks: Mapping[int, LinuxStack], subflows: Mapping[int, int], keep: ExitStack
) -> list[Host]:
    """The hosts of a compiled run, with the settings of the stacks that they use; they end with ``keep``.

    ``subflows`` is the greatest number of subflows of a flow, by the node that sends it.

    Raises:
        StackError: two stacks need different settings of one host.
        NetworkError: Linux refuses a namespace, a device or a setting.
    """
    mtu = _mtu(spec, stacks)
    return [_host(node, own, mtu, subflows.get(node, 1), keep) for node, own in host_settings(spec, stacks).items()]


def host_settings(spec: Mapping[str, Any], stacks: Mapping[int, LinuxStack]) -> dict[int, Settings]:
    """The settings of each host of a compiled run, by its node.

    Raises:
        StackError: two stacks need different settings of one host.
    """
    used: dict[int, list[LinuxStack]] = {}
    for group in spec["traffic"]:
        own = [stacks[group["transport"]["tcp"]["stack"]]] if "tcp" in group["transport"] else []
        for node in {node for pair in group["pairs"] for node in pair}:
            used.setdefault(node, []).extend(own)
    settings = {}
    for node, own in sorted(used.items()):
        sysctls, route = (_together(spec["nodes"][node], own, what) for what in ("sysctls", "route"))
        settings[node] = Settings(needed(_COMMON | sysctls), route, any(stack.is_multipath for stack in own))
    return settings


def _mtu(spec: Mapping[str, Any], stacks: Mapping[int, LinuxStack]) -> int:
    datagrams: list[int] = [
        group["transport"]["udp"]["packet"] for group in spec["traffic"] if "udp" in group["transport"]
    ]
    return max([stack.mtu for stack in stacks.values()] + datagrams)


def _host(node: int, settings: Settings, mtu: int, subflows: int, keep: ExitStack) -> Host:
    namespace = keep.enter_context(NetworkNamespace())
    for key, value in settings.sysctls.items():
        namespace.set_sysctl(key, value)
    namespace.configure("link set lo up")
    device = open_device(namespace, DEVICE, address=address(node), mtu=mtu)
    keep.callback(os.close, device)
    if settings.route:
        metrics = " ".join(f"{key} {value}" for key, value in settings.route.items())
        namespace.configure(f"route replace default dev {DEVICE} src {address(node)} {metrics}")
    if settings.is_multipath:
        multipath.prepare(namespace, DEVICE, address(node), subflows)
    return Host(node, namespace, device)


def _is_there(sysctl: str) -> bool:
    return (Path("/proc/sys") / sysctl.replace(".", "/")).exists()


def needed(sysctls: Mapping[str, str], is_there: Callable[[str], bool] = _is_there) -> dict[str, str]:
    """The sysctls to set. A sysctl that this Linux lacks is left out if this Linux behaves as its value demands.

    Raises:
        StackError: this Linux lacks one, and has another value.
    """
    absent = {key: _WITHOUT[key] for key in sysctls if key in _WITHOUT and not is_there(key)}
    for key, (value, since) in absent.items():
        if sysctls[key] != value:
            raise StackError(
                f"this Linux ({os.uname().release}) has no sysctl {key}, which Linux has {since}: it takes {value} only, not {sysctls[key]}"
            )
    return {key: value for key, value in sysctls.items() if key not in absent}


def _together(host: str, stacks: Sequence[LinuxStack], what: str) -> dict[str, str]:
    """The settings of a host that has these stacks."""
    settings: list[Mapping[str, str]] = [getattr(stack, what) for stack in stacks]
    for stack, own in zip(stacks, settings, strict=True):
        for key in {**settings[0], **own}:
            first, value = (one.get(key, "its default") for one in (settings[0], own))
            if value != first:
                raise StackError(
                    f"stacks '{stacks[0].name}' and '{stack.name}' are both at host '{host}', which has one value of {key}, but they "
                    f"need {first} and {value}: give them different hosts, or run them in different variants"
                )
    return dict(settings[0]) if settings else {}
