"""The fabric, its four kinds of traffic, and the rows of the study: transports with the policies that choose their paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import fmean
from typing import Any

MSS, HEADER = 4086, 64
"""Bytes of payload and header of a full packet, as in the consortium's simulator."""
PACKET = MSS + HEADER
SUBFLOWS, SUBFLOW_OPTION = 4, 20
"""Of a connection of Multipath TCP, and the bytes that each segment has of its option (RFC 8684)."""
RATE_BPS, DELAY_S = 100e9, 1e-6
QUEUE_PACKETS, MARK_FROM, MARK_TO = 29, 6, 24
"""A queue holds one bandwidth-delay product of the longest path. Marks begin at a fifth of it, and reach all packets at four fifths."""
HOST_QUEUE = {"discipline": "trimming", "limit": f"{1000 * PACKET} B", "mark_from": 1.0, "mark_to": 1.0}
"""Of the line that leaves a host: it holds whole windows without marks, and ACKs do not wait behind data, much as with Linux's ``fq``."""
LEAST_RTO = "5ms"
"""Linux has 200 ms, which data centers reduce (``rto_min`` of ``ip route``); tails of 200 ms would hide all else."""
SLOW_SHARE = 0.25
"""Of its rate, at which each link of the slow spine runs."""


@dataclass(frozen=True)
class FabricRow:
    """A transport, and the policy that chooses the paths of its packets."""

    transport: str
    entropy: str
    settings: Mapping[str, Any]
    """Of its stack, beside those that all rows share."""
    selector: str = "hash"
    """Of the switches. Where they do not hash entropy values, ``entropy`` names their selector, and the sender has no policy. Nor has a sender of subflows."""

    @property
    def name(self) -> str:
        """The name of its stack."""
        return f"{self.transport}-over-{self.entropy}"

    def stack(self, slowest_bps: float) -> dict[str, Any]:
        """Its entry in ``[stacks]``, if the slowest switch has links of this rate.

        The timeout of messages counts six queues of it. By default it is the longest queue, here that of a host.
        """
        protocol = self.settings.get("protocol", {"name": "tcp"})
        own = SUBFLOW_OPTION if protocol["name"] == "mptcp" else 0
        shared: dict[str, Any] = {"mss": f"{MSS - own} B", "header": f"{HEADER + own} B"}
        if self.selector == "hash" and protocol["name"] != "mptcp":
            shared["entropy"] = self.entropy
        if protocol["name"] != "uet":
            return {**self.settings, **shared, "min_rto": LEAST_RTO, "rto_granularity": LEAST_RTO}
        timeout_s = 15e-6 + 6 * QUEUE_PACKETS * PACKET * 8 / slowest_bps
        return {**self.settings, **shared, "protocol": {**protocol, "timeout": f"{1e9 * timeout_s:.0f} ns"}}


def _rows() -> tuple[FabricRow, ...]:
    def presets(name: str, *entropies: str, **settings: Any) -> list[FabricRow]:
        return [FabricRow(name, entropy, {"preset": name, **settings}) for entropy in entropies]

    def messages(control: str, *entropies: str) -> list[FabricRow]:
        protocol = {"name": "uet", "control": control}
        return presets(f"uet-{control}", *entropies, protocol=protocol)

    def at_switches(rows: list[FabricRow]) -> list[FabricRow]:
        return [replace(row, selector=row.entropy) for row in rows]

    return (
        *presets("linux-cubic", "flow", "oblivious", hz=1000),
        *presets("linux-dctcp", "flow", "plb", "oblivious", "reps", "mixed", hz=1000),
        *(
            FabricRow("dctcp-ack-each", entropy, {"preset": "linux-dctcp", "hz": 1000, "ack": "immediate"})
            for entropy in ("reps", "mixed")
        ),
        *at_switches(presets("linux-dctcp", "adaptive", "drill", hz=1000)),
        *presets("mprc", "oblivious", "reps"),
        *at_switches(presets("mprc", "adaptive", "drill")),
        *(
            FabricRow(f"newreno-{detection}", "oblivious", {"congestion": "newreno", "detection": detection})
            for detection in ("path-count", "rack-tlp")
        ),
        *presets("mptcp-lia", "subflows", protocol={"name": "mptcp", "subflows": SUBFLOWS}),
        *messages("nscc", "oblivious", "bitmap", "reps", "mixed"),
        *at_switches(messages("nscc", "adaptive", "drill")),
        *messages("rccc", "mixed"),
        *messages("both", "mixed"),
    )


ROWS = _rows()
"""The first is the base: Linux's CUBIC with one path for each flow, which equal-cost multipath chooses."""


@dataclass(frozen=True)
class Fabric:
    """A leaf-spine and its traffic."""

    leaves: int = 4
    spines: int = 8
    hosts: int = 8
    """Of each leaf."""
    permutation_bytes: int = 2_000_000
    incast_bytes: int = 1_000_000
    """Of each sender."""
    incast_senders: int = 16
    ring_bytes: int = 4_000_000
    """That each host has for the all-reduce."""

    def scenarios(self, rows: Sequence[FabricRow] = ROWS, selector: str = "hash") -> dict[str, dict[str, Any]]:
        """A scenario for each kind of traffic, with a variant for each row that has this selector at the switches."""
        rows = [row for row in rows if row.selector == selector]
        permutation = {"pattern": "permutation", "to": "hosts", "size": f"{self.permutation_bytes} B"}
        incast = {"pattern": "incast", "to": "l1h1", "count": self.incast_senders, "size": f"{self.incast_bytes} B"}
        ring = {"pattern": "all-reduce-ring", "size": f"{self.ring_bytes} B"}
        slow = [
            {"link": [f"l{leaf}", "s1"], "capacity": f"{SLOW_SHARE * RATE_BPS / 1e9:g} Gbps"}
            for leaf in range(1, self.leaves + 1)
        ]

        def scenario(title: str, traffic: dict[str, Any], slow: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
            return self._scenario(title, traffic, rows, selector, slow)

        return {
            "permutation": scenario(f"Permutation of {self.permutation_bytes / 1e6:g} MB", permutation),
            "incast": scenario(f"Incast of {self.incast_senders} times {self.incast_bytes / 1e6:g} MB", incast),
            "all-reduce": scenario(f"All-reduce of {self.ring_bytes / 1e6:g} MB in a ring", ring),
            "slow-spine": scenario("The permutation with a slow spine", permutation, slow),
        }

    def least_s(self, kind: str, idle_s: Sequence[float]) -> float:
        """The least time of all traffic of a kind, if its messages alone take ``idle_s``.

        The messages of an incast share one line. In a ring, each part of the data goes twice around, but for two steps; the mean over the parts is a
        lower bound.
        """
        if kind == "all-reduce":
            return 2 * (self.leaves * self.hosts - 1) * fmean(idle_s)
        if kind == "incast":
            wire_bytes = self.incast_bytes + ceil(self.incast_bytes / MSS) * HEADER
            return min(idle_s) + (self.incast_senders - 1) * wire_bytes * 8 / RATE_BPS
        return max(idle_s)

    def _scenario(
        self,
        title: str,
        traffic: dict[str, Any],
        rows: Sequence[FabricRow],
        selector: str,
        slow: Sequence[dict[str, Any]],
    ) -> dict[str, Any]:
        rate = f"{RATE_BPS / 1e9:g} Gbps"
        size = {"leaves": self.leaves, "spines": self.spines, "hosts": self.hosts}
        links = {"rate": rate, "uplink": rate, "delay": f"{1e6 * DELAY_S:g} us"}
        queue = {
            "discipline": "trimming",
            "limit": f"{QUEUE_PACKETS * PACKET} B",
            "mark_from": MARK_FROM / QUEUE_PACKETS,
            "mark_to": MARK_TO / QUEUE_PACKETS,
        }
        own = [
            {"link": [f"l{leaf}h{host}", f"l{leaf}"], "one_way": True, "queue": HOST_QUEUE}
            for leaf in range(1, self.leaves + 1)
            for host in range(1, self.hosts + 1)
        ]
        topology = {"generate": {"kind": "leaf-spine", **size, **links}, "queue": queue, "override": [*own, *slow]}
        return {
            "title": title,
            "topology": topology,
            "routing": {"spray": {"metric": "hop-count", "select": selector, "per": "packet"}},
            "stacks": {row.name: row.stack(RATE_BPS * (SLOW_SHARE if slow else 1)) for row in rows},
            "traffic": [{"from": "hosts", **traffic, "stack": [row.name for row in rows]}],
            "run": {"duration": "2s", "warm_up": "0s"},
        }
