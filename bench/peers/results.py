"""Results of a run of a peer simulator."""

from dataclasses import dataclass

from bench.peers.child import ChildRun


@dataclass(frozen=True)
class PeerRun:
    """One run of the reference dumbbell, and what it cost."""

    packet_hops: int
    """Packets (data or ACK) crossing one link, summed over all links."""
    delivered_packets: tuple[int, ...]
    """Data packets that arrived in order, per flow."""
    goodput_bps: tuple[float, ...]
    """Payload bits per second that arrived in order, per flow, over the whole run."""
    drops: int
    """Packets dropped by the bottleneck queue."""
    cpu_seconds: float
    """User and system time of the simulator's process."""
    peak_rss_bytes: int
    """Highest resident memory of the simulator's process."""

    @classmethod
    def of(cls, run: ChildRun) -> "PeerRun":
        """Reads the output of a dumbbell program, and its cost."""
        return cls(
            packet_hops=run.values["packet_hops"],
            delivered_packets=tuple(run.values["delivered_packets"]),
            goodput_bps=tuple(run.values["goodput_bps"]),
            drops=run.values["drops"],
            cpu_seconds=run.cpu_seconds,
            peak_rss_bytes=run.peak_rss_bytes,
        )

    @property
    def packet_hops_per_cpu_second(self) -> float:
        """The measure of speed the peers are compared by."""
        return self.packet_hops / self.cpu_seconds


@dataclass(frozen=True)
class SingleFlowRun:
    """One run of the validation network; all counts are for the time after the warm-up."""

    goodput_bps: tuple[float, ...]
    """Payload bits per second acknowledged in order, per flow."""
    sent: int
    """Data packets sent by all flows, retransmissions included."""
    retransmits: int
    """Data packets sent again, by all flows."""
    timeouts: int
    """Retransmission timeouts of all flows."""
    queue_drops: int
    """Packets dropped by the bottleneck queue."""
    random_losses: int
    """Packets lost at random after the bottleneck."""
    flood_seconds: float
    """How long, from the start of the run, the senders sent faster than packet conservation allows."""
    below_threshold: float
    """Share of the flows' time, from the start of the run, with a window clearly below the slow-start threshold."""
    cpu_seconds: float
    """User and system time of the simulator's process."""
    peak_rss_bytes: int
    """Highest resident memory of the simulator's process."""
