"""The settings that make Linux behave as a stack says: sysctls, routes, socket options. An error names each part that Linux cannot do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.engines.kernel import multipath
from anabranch.engines.kernel.linux_network.system_calls import ticks_per_second
from anabranch.foundation.units import PICOSECONDS_PER_MILLISECOND, PICOSECONDS_PER_SECOND
from anabranch.scenario.algorithms import REGISTRIES

_HEADERS = 40
"""Bytes of the headers of IPv4 and TCP without options."""
_TIMESTAMPS = 12
"""Bytes that the option of timestamps takes in every segment (RFC 7323)."""
_LINUX_NAMES: Mapping[str, str] = {
    "bbr": "bbr",
    **{name: name for name in ("vegas", "westwood", "bic", "highspeed", "scalable", "htcp", "illinois", "dctcp")},
    **{
        name: name.removeprefix("linux-")
        for name in (algorithm["name"] for algorithm in REGISTRIES["congestion"])
        if name.startswith("linux-")
    },
}
"""Linux's congestion controls by the names of ours."""
_ALTERNATIVES = {"reno": "linux-reno", "newreno": "linux-reno", "cubic": "linux-cubic"}
_FOLLOWED = {"detection": ("threshold", "probe")}
"""Parameters of algorithms that become settings of Linux."""
_PRESET: Mapping[str, Mapping[str, Any]] = {
    "detection": {"rtt_by_sequence": True},
    "ack": {"compression": 11 * PICOSECONDS_PER_MILLISECOND // 10},
}
"""Parameters that the presets of Linux set, with the values that Linux has anyway."""
_DEFAULT_HZ = 250
"""HZ of a stack that does not set it, even if this Linux has another one."""
_SEGMENT = range(88, 32_768)
"""Bytes that Linux takes for TCP_MAXSEG (``TCP_MIN_MSS``, ``MAX_TCP_WINDOW``)."""
_ACCURATE = {"accecn": "2", "ace": "0"}
"""tcp_ecn_option for each form of AccECN: on every packet, and on none."""
_ACCURATE_SYSCTL = Path("/proc/sys/net/ipv4/tcp_ecn_option")
_NEVER = 1_000_000
"""A DupThresh that no flow reaches."""
_MAX_REORDERING = 300
"""Linux's default of tcp_max_reordering, which bounds tcp_reordering."""


class StackError(ValueError):
    """A part of a stack that Linux cannot do."""


@dataclass(frozen=True)
class LinuxStack:
    """A stack in Linux's terms."""

    name: str
    """Name in the scenario."""
    congestion: str
    """Name of Linux's congestion control."""
    maximum_segment: int
    """TCP_MAXSEG: bytes of a segment with its options."""
    payload: int
    """Bytes of a full segment's payload."""
    paced: bool
    is_multipath: bool
    sysctls: Mapping[str, str]
    """Sysctls of both hosts of a flow."""
    route: Mapping[str, str]
    """Metrics of both hosts' routes, for ``ip route``."""

    @property
    def mtu(self) -> int:
        """Bytes of the largest packet."""
        return self.maximum_segment + _HEADERS

    def record(self) -> dict[str, Any]:
        """The manifest's entry for this stack."""
        options = {"TCP_CONGESTION": self.congestion, "TCP_MAXSEG": self.maximum_segment}
        if self.paced:
            options["SO_MAX_PACING_RATE"] = 2**64 - 2
        return {
            "stack": self.name,
            "protocol": "mptcp" if self.is_multipath else "tcp",
            "socket": options,
            "sysctls": dict(self.sysctls),
            "route": dict(self.route),
            "segment_payload_bytes": self.payload,
        }


def linux_stack(stack: Mapping[str, Any], control: Callable[[Mapping[str, Any]], str]) -> LinuxStack:
    """A compiled stack in Linux's terms; ``control`` names the control of an eBPF program in Linux.

    Raises:
        StackError: names the key that Linux cannot follow, and what it can do instead.
    """

    def refuse(key: str, reason: str) -> StackError:
        return StackError(f"stack '{stack['name']}', {key}: the kernel engine runs Linux's TCP: {reason}")

    if has_subflows := multipath.is_multipath(stack):
        multipath.check(stack, refuse)
    elif "protocol" in stack:
        raise refuse("protocol", f'it has no "{stack["protocol"]["name"]}"; use "tcp" or "mptcp"')
    if stack["follows"] != "linux":
        raise refuse("follows", 'use a preset of Linux (linux-reno, linux-cubic, linux-bbr ...), or follows = "linux"')
    congestion = _congestion(stack["congestion"], control, refuse)
    for kind in ("congestion", "detection", "ack"):
        for key in _not_followed(kind, stack[kind]):
            raise refuse(f"{kind}.{key}", f"it has its own {key}; leave this one out")
    if stack["hz"] not in (_DEFAULT_HZ, hz := ticks_per_second()):
        raise refuse("hz", f"this Linux has {hz}; give this value, or leave hz out")
    timestamps = stack["spurious"] == "eifel" or stack["header"] >= _HEADERS + _TIMESTAMPS
    maximum_segment = stack["mss"] + stack["header"] - _HEADERS
    if maximum_segment not in _SEGMENT:
        least, most = _SEGMENT[0], _SEGMENT[-1]
        raise refuse(
            "mss", f"mss and header together exceed {_HEADERS} by {least} to {most} bytes, here by {maximum_segment}"
        )
    if stack["slow_start"]["name"] != "classic":
        raise refuse("slow_start", 'only "classic" (linux-cubic has its own HyStart)')
    if stack["ecn_echo"] == "exact" and congestion != "dctcp":
        raise refuse("ecn_echo", 'an exact echo is part of its "dctcp"')
    if stack["l4s"]:
        raise refuse("l4s", "only its tcp_prague sends ECT(1), which is not a part of Linux; leave l4s out")
    if (is_accurate := stack["ecn"] and stack["ecn_echo"] in _ACCURATE) and not _ACCURATE_SYSCTL.exists():
        raise refuse("ecn_echo", 'AccECN came with Linux 6.18; use "classic"')
    for key, right in (("limited_transmit", True), ("handshake", True), ("initial_rto", PICOSECONDS_PER_SECOND)):
        if stack[key] != right:
            raise refuse(key, "it has limited transmit, a handshake, and a first timeout of 1 s")
    if stack["rto_granularity"] != stack["min_rto"]:
        raise refuse("rto_granularity", "the timeout exceeds SRTT by at least min_rto; give both the same value")
    whole_ms = {key: _milliseconds(stack[key]) for key in ("min_rto", "max_rto")}
    for key, value in whole_ms.items():
        if value is None:
            raise refuse(key, "times are whole milliseconds")
    if not 1000 <= (whole_ms["max_rto"] or 0) <= 120_000:
        raise refuse("max_rto", "between 1 s and 120 s")
    buffer = 2 * stack["receive_window"]
    sysctls = {
        "net.ipv4.tcp_sack": _flag(stack["sack"]),
        "net.ipv4.tcp_dsack": _flag(stack["spurious"] != "none"),
        "net.ipv4.tcp_timestamps": _flag(timestamps),
        "net.ipv4.tcp_frto": "2" if stack["f_rto"] else "0",
        "net.ipv4.tcp_ecn": "3" if is_accurate else _flag(stack["ecn"]),
        **({"net.ipv4.tcp_ecn_option": _ACCURATE[stack["ecn_echo"]]} if is_accurate else {}),
        "net.ipv4.tcp_slow_start_after_idle": _flag(stack["restart_after_idle"]),
        # Not the route's rto_min: that would override what a congestion control asks for (TCP_BPF_RTO_MIN).
        "net.ipv4.tcp_rto_min_us": str(1000 * (whole_ms["min_rto"] or 0)),
        "net.ipv4.tcp_rto_max_ms": str(whole_ms["max_rto"]),
        "net.ipv4.tcp_rmem": f"4096 {min(buffer, 131_072)} {buffer}",
        "net.ipv4.tcp_wmem": f"4096 16384 {max(buffer, 16_384)}",
        "net.ipv4.tcp_no_metrics_save": "1",
    }
    route = {"initcwnd": str(stack["initial_window"])}
    if stack["ack"]["name"] == "immediate":
        route["quickack"] = "1"
    elif stack["ack"]["name"] != "quick-ack":
        raise refuse("ack", 'it acknowledges by "quick-ack", or "immediate"')
    return LinuxStack(
        name=stack["name"],
        congestion=congestion,
        maximum_segment=maximum_segment,
        payload=maximum_segment - (_TIMESTAMPS if timestamps else 0) - (multipath.OPTION if has_subflows else 0),
        paced=stack["pacing"],
        is_multipath=has_subflows,
        sysctls=sysctls | _detection(stack, refuse),
        route=route,
    )


def _not_followed(kind: str, algorithm: Mapping[str, Any]) -> Iterator[str]:
    """The parameters of an algorithm that differ from their defaults and become no setting of Linux."""
    if "program" in algorithm:
        return
    (parameters,) = (one["parameters"] for one in REGISTRIES[kind] if one["name"] == algorithm["name"])
    for parameter in parameters:
        key = parameter["name"]
        is_own = algorithm[key] not in (parameter["default"], _PRESET.get(kind, {}).get(key))
        if is_own and key not in _FOLLOWED.get(kind, ()):
            yield key


def _congestion(
    congestion: Mapping[str, Any],
    control: Callable[[Mapping[str, Any]], str],
    refuse: Callable[[str, str], StackError],
) -> str:
    if "program" in congestion:
        return control(congestion)
    if "python" in congestion:
        raise refuse("congestion", "it takes no control in Python; write an eBPF program")
    name = congestion["name"]
    if name not in _LINUX_NAMES:
        instead = _ALTERNATIVES.get(name)
        raise refuse("congestion", f'it has no "{name}"' + (f'; use "{instead}"' if instead else ""))
    return _LINUX_NAMES[name]


def _detection(stack: Mapping[str, Any], refuse: Callable[[str, str], StackError]) -> dict[str, str]:
    """The sysctls of loss detection."""
    detection = stack["detection"]
    name = detection["name"]
    if name == "rack-tlp":
        probes = "3" if detection["probe"] else "0"
        return {
            "net.ipv4.tcp_recovery": "1",
            "net.ipv4.tcp_early_retrans": probes,
            **_reordering(detection["threshold"]),
        }
    if stack["sack"]:
        raise refuse("detection", f'with SACK it detects losses by "rack-tlp", not "{name}"; set sack = false')
    counted = {"net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_early_retrans": "0"}
    if name == "dup-ack":
        return counted | _reordering(detection["threshold"])
    if name == "fast-rto" and "program" in stack["congestion"]:
        return counted | _reordering(_NEVER)
    raise refuse("detection", f'it has no "{name}"')


def _reordering(threshold: int) -> dict[str, str]:
    """Duplicate ACKs that are a loss. Linux refuses more than its maximum, which therefore comes first."""
    return {
        "net.ipv4.tcp_max_reordering": str(max(threshold, _MAX_REORDERING)),
        "net.ipv4.tcp_reordering": str(threshold),
    }


def _flag(value: bool) -> str:
    return "1" if value else "0"


def _milliseconds(picoseconds: int) -> int | None:
    whole, rest = divmod(picoseconds, PICOSECONDS_PER_MILLISECOND)
    return None if rest else whole
