"""A run of a guest: links, paths and bulk flows, and the text that describes them to its program (read by case.c)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench.peers.linux.disciplines import Discipline

Select = Literal["first", "round-robin", "random"]


@dataclass(frozen=True)
class Link:
    """One direction of a link."""

    rate_bps: int
    delay_s: float
    queue_packets: int
    """Packets in the queue, the one in transmission counted; more are dropped."""
    lost: Sequence[int] = ()
    """Numbers of the packets lost on the wire, ascending, counted from 1."""

    mark_packets: int | None = None
    """The queue marks ECN-capable packets once it holds this number; None for a queue that does not mark."""
    discipline: Discipline | None = None
    """Of a router of Linux in place of queue and rate, for packets to the second host."""


@dataclass(frozen=True)
class Course:
    """The paths of a flow in one direction, each a sequence of indexes of links, and how a packet chooses among them."""

    paths: Sequence[Sequence[int]]
    select: Select = "first"


@dataclass(frozen=True)
class Flow:
    """A flow from the first host to the second."""

    congestion: str
    """Linux's name of a congestion control that kernel.config has."""
    ahead: Course
    """The course of its data."""
    back: Course
    """The course of its ACKs."""
    start_s: float = 0.0
    payload_bytes: int | None = None
    """Whole segments, written at once, and the connection is closed behind them; None for a flow that does not end."""


@dataclass(frozen=True)
class Probes:
    """A sparse flow of small packets, whose delays are measured."""

    interval_s: float
    start_s: float
    course: Course


@dataclass(frozen=True)
class Case:
    """A run."""

    links: Sequence[Link]
    flows: Sequence[Flow]
    duration_s: float
    warm_up_s: float = 0.0
    """Data that arrive before are not counted."""
    seed: int = 1
    """Seed of the random choice of paths, and of the kernel's draws (BBR: its phase)."""
    offload: bool = False
    """Senders build packets of several segments (generic segmentation offload), which their device cuts: segments leave in pairs or more."""
    mtu: int = 1500
    """Bytes of a data packet, of which 52 are headers (20 IP, 20 TCP, 12 timestamps)."""
    probes: Probes | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    """Sysctls of both hosts, by their path below /proc/sys."""

    def text(self) -> str:
        """The file that the guest reads."""
        courses = [course for flow in self.flows for course in (flow.ahead, flow.back)]
        if self.probes is not None:
            courses.append(self.probes.course)
        paths = list(dict.fromkeys(tuple(path) for course in courses for path in course.paths))

        def course_words(course: Course) -> str:
            return f"{course.select} {_counted([paths.index(tuple(path)) for path in course.paths])}"

        settings = {
            "net/ipv4/tcp_no_metrics_save": "1",  # what a connection has learnt of the path is not for the next one
            "net/ipv4/tcp_rmem": "4096 131072 6291456",  # the defaults, whatever the memory of the guest
            **self.settings,
        }
        lines = [
            f"end {_nanoseconds(self.duration_s)}",
            f"warm_up {_nanoseconds(self.warm_up_s)}",
            f"seed {self.seed}",
            f"mtu {self.mtu}",
            f"offload {int(self.offload)}",
            *(f"set {name} {value}" for name, value in settings.items()),
            *(
                f"link {link.rate_bps} {_nanoseconds(link.delay_s)} {link.queue_packets} {link.mark_packets or 0} {_counted(link.lost)}"
                for link in self.links
            ),
            *(
                f"tc {index} {message.hex()}"
                for index, link in enumerate(self.links)
                if link.discipline is not None
                for message in link.discipline.messages()
            ),
            *(f"path {_counted(path)}" for path in paths),
            *(
                f"flow {flow.congestion} {_nanoseconds(flow.start_s)} {flow.payload_bytes or 0} {course_words(flow.ahead)} {course_words(flow.back)}"
                for flow in self.flows
            ),
        ]
        if self.probes is not None:
            interval_ns, start_ns = map(_nanoseconds, (self.probes.interval_s, self.probes.start_s))
            lines.append(f"probe {interval_ns} {start_ns} {course_words(self.probes.course)}")
        return "\n".join(lines) + "\n"


def _counted(numbers: Sequence[int]) -> str:
    return " ".join(map(str, (len(numbers), *numbers)))


def _nanoseconds(time_s: float) -> int:
    return round(time_s * 1e9)
