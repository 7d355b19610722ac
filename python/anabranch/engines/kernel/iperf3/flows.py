"""The flows that iperf3 sends: a client and a server for each, and what iperf3 cannot do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.engines.kernel.hosts import Host, address
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.kernel.settings import LinuxStack
from anabranch.foundation.array_types import Columns
from anabranch.foundation.units import PICOSECONDS_PER_SECOND

FIRST_PORT = 5201
"""Port of the server of flow 0. The port of flow n is n higher, as in ``flow_table.rs`` of the Rust core."""
MOST_FLOWS = 1000
"""The most flows of a run: each has two processes."""
LEAST_INTERVAL_S, LONGEST_INTERVAL_S = 0.1, 1.0
"""Bounds of the interval between reports: iperf3 has no shorter one, and a warm-up should not end within a long one."""
_FIRST_SENDER_PORT = 49_152
_DATAGRAM_HEADERS = 28
_LONGEST_S = 86_400
"""The longest test of iperf3. The end of the run ends it."""


class Iperf3Error(ValueError):
    """A traffic group needs something that iperf3 cannot do."""


@dataclass(frozen=True)
class Iperf3Flow:
    """One client with its server."""

    number: int
    start_s: float
    """Time of the client's start."""
    payload: int
    """Bytes of a full segment or of a datagram."""
    client: NetworkNamespace
    server: NetworkNamespace
    client_command: Sequence[str]
    server_command: Sequence[str]

    @property
    def port(self) -> int:
        """Port of its server."""
        return FIRST_PORT + self.number


def iperf3_flows(
    run: Mapping[str, Any], planned: Columns, hosts: Sequence[Host], stacks: Mapping[int, LinuxStack]
) -> Iterator[Iperf3Flow]:
    """The flows of a compiled run whose traffic group has ``sender = "iperf3"``.

    Raises:
        Iperf3Error: names the traffic group, the key, and what iperf3 can do.
    """
    namespaces = {host.node: host.namespace for host in hosts}
    sample_s = None if run["sample"] is None else run["sample"] / PICOSECONDS_PER_SECOND
    interval_s = LEAST_INTERVAL_S if sample_s is None else min(LONGEST_INTERVAL_S, sample_s)
    groups = {index: group for index, group in enumerate(run["traffic"]) if group.get("sender") == "iperf3"}
    for group in groups.values():
        _check(group, sample_s)
        _check_protocol(group, stacks)
    for number, index in enumerate(planned["traffic"]):
        if index not in groups:
            continue
        group = groups[index]
        if number >= MOST_FLOWS:
            raise Iperf3Error(
                f"traffic '{group['name']}', sender: only the first {MOST_FLOWS} flows of a run can be iperf3's, and this is flow {number}"
            )
        options, payload = _client_options(group, stacks)
        target = address(int(planned["dst"][number]))
        common = ["--port", str(FIRST_PORT + number), "--json", "--version4", "--interval", f"{interval_s:g}"]
        client = ["iperf3", "--client", target, "--cport", str(_FIRST_SENDER_PORT + number), *common, *options]
        yield Iperf3Flow(
            number=number,
            start_s=float(planned["start_s"][number]),
            payload=payload,
            client=namespaces[int(planned["src"][number])],
            server=namespaces[int(planned["dst"][number])],
            client_command=[*client, "--time", str(_LONGEST_S)],
            server_command=["iperf3", "--server", "--one-off", *common],
        )


def _check(group: Mapping[str, Any], sample_s: float | None) -> None:
    def refuse(key: str, reason: str) -> Iperf3Error:
        return Iperf3Error(f"traffic '{group['name']}', {key}: iperf3 {reason}, or leave out sender")

    application = group["application"]
    if application["kind"] not in ("bulk", "constant"):
        raise refuse(application["kind"], "sends bulk or constant data: choose one of these")
    if application.get("bytes") is not None:
        raise refuse("size", "ends when its data is in the socket, before it has arrived: choose bulk")
    if group["stop"] is not None:
        raise refuse("stop", "sends until the run ends: leave out stop")
    if sample_s is not None and sample_s < LEAST_INTERVAL_S:
        raise refuse("sample", f"reports every {LEAST_INTERVAL_S:g} s at most: choose a longer run.sample")


def _check_protocol(group: Mapping[str, Any], stacks: Mapping[int, LinuxStack]) -> None:
    tcp = group["transport"].get("tcp")
    if tcp is not None and (stack := stacks[tcp["stack"]]).is_multipath:
        raise Iperf3Error(
            f"traffic '{group['name']}', stack '{stack.name}': iperf3 sends by plain TCP: choose another stack, or leave out sender"
        )


def _client_options(group: Mapping[str, Any], stacks: Mapping[int, LinuxStack]) -> tuple[list[str], int]:
    """The client's options, and the payload of its segments or datagrams in bytes."""
    application, transport = group["application"], group["transport"]
    is_constant = application["kind"] == "constant"
    if "udp" in transport:
        packet = transport["udp"]["packet"]
        payload = packet - _DATAGRAM_HEADERS
        # The scenario's rate counts headers, iperf3's does not.
        rate = round(application["rate"] * payload / packet)
        return ["--udp", "--length", str(payload), "--bitrate", str(rate)], payload
    stack = stacks[transport["tcp"]["stack"]]
    options = ["--congestion", stack.congestion, "--set-mss", str(stack.maximum_segment)]
    if stack.paced:
        options += ["--fq-rate", "1T"]
    if is_constant:
        options += ["--length", str(stack.payload), "--bitrate", str(application["rate"])]
    return options, stack.payload
