"""A run of the kernel engine, with the methods of the packet engine's simulation."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.engines.kernel.hosts import host_settings, make_hosts
from anabranch.engines.kernel.iperf3.flows import iperf3_flows
from anabranch.engines.kernel.iperf3.processes import Iperf3Processes
from anabranch.engines.kernel.iperf3.report import Report
from anabranch.engines.kernel.limits import limit_shares, may_pace
from anabranch.engines.kernel.linux_network import support
from anabranch.engines.kernel.linux_network.errors import LatePacketsError, NetworkError
from anabranch.engines.kernel.linux_programs.loaded import available
from anabranch.engines.kernel.programs import Programs
from anabranch.engines.kernel.settings import LinuxStack, linux_stack
from anabranch.engines.packet import CompiledRun
from anabranch.engines.predict import PLANNED
from anabranch.foundation.array_types import Columns
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.results.schema import TABLES

MAX_LATENESS_S = 2e-3
"""A run is refused if more than one packet in a hundred leaves the network later than this after it is due."""
_LOOK_S = 0.1
_PRIORITY = 50


class KernelSimulation:
    """Linux's TCP between namespaces, over an emulated network, in real time."""

    def __init__(self, spec: CompiledRun, max_lateness_s: float = MAX_LATENESS_S) -> None:
        """Make the namespaces of a compiled run, and begin.

        Raises:
            ValueError: names what Linux, the packet engine's network or the privileges do not allow.
        """
        if (reason := support.missing()) is not None:
            raise NetworkError(f"the kernel engine needs network namespaces: {reason}")
        self._max_lateness_s = max_lateness_s
        self._nodes, self._warm_up_s = spec["nodes"], spec["warm_up"] / PICOSECONDS_PER_SECOND
        self._stacks = len(spec["stacks"])
        self._keep = ExitStack()
        try:
            stacks = _stacks(spec, Programs(self._keep))
            self._pacing = [index for index, one in stacks.items() if may_pace(spec["stacks"][index], one)]
            run = _without_own_controls(spec)
            # The packet engine plans the same flows, and refuses what the network cannot be.
            self._planned = _core.Simulation(json.dumps(run | {"captures": []})).flows()
            hosts = make_hosts(run, stacks, _core.most_subflows(json.dumps(run)), self._keep)
            self._iperf3 = Iperf3Processes(list(iperf3_flows(run, self._planned, hosts, stacks)))
            self._reports: dict[int, Report] | None = None
            self._unseen: Sequence[Report] = ()
            self._sample_s = (run["sample"] or 0) / PICOSECONDS_PER_SECOND
            self._facts: dict[str, Any] = {
                "linux": os.uname().release,
                "stacks": [one.record() for one in stacks.values()],
            }
            self._run = _core.KernelRun(
                json.dumps(run),
                [(host.node, host.device, host.namespace.descriptor) for host in hosts],
                [_options(stacks.get(index)) for index in range(len(run["stacks"]))],
            )
            self._facts["scheduling"] = _schedule(self._run.threads)
            self._iperf3.begin(self._run.now_s)
        except BaseException:
            self._keep.close()
            raise

    def advance(self, _events: int) -> bool:
        """Wait for a tenth of a second; ``False`` once the run has ended."""
        if self._run.advance(_LOOK_S):
            return True
        self._end()
        return False

    def _end(self) -> None:
        """End the run and its processes and namespaces in Linux."""
        try:
            if self._reports is None:
                self._reports = self._iperf3.end(self._run.now_s)
                self._unseen = list(self._reports.values()) if self._sample_s else ()
        finally:
            self._run.end()
            self._keep.close()

    @property
    def now_s(self) -> float:
        """Time reached, seconds."""
        return self._run.now_s

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""
        return self._run.packet_hops

    def flows(self) -> Columns:
        """One row for each flow; what Linux does not report is unknown.

        Raises:
            ValueError: packets were too late, or Linux ended a flow.
        """
        self._end()
        self._check()
        planned = self._planned
        measured = self._run.flows()
        count = len(planned["flow"])
        columns = {column.name: np.full(count, np.nan) for column in TABLES["flows"]}  # which Linux may not report
        columns |= {name: planned[name] for name in (*PLANNED, "idle_fct_s")} | dict(measured)
        columns["fct_s"] = columns["end_s"] - columns["start_s"]
        columns["slowdown"] = columns["fct_s"] / columns["idle_fct_s"]
        sent = columns["segments_sent"]
        columns["retransmit_ratio"] = np.divide(columns["retransmits"], sent, out=np.zeros(count), where=sent > 0)
        warm_up_s, now_s = self._warm_up_s, self.now_s
        ends = np.where(np.isnan(columns["end_s"]), now_s, columns["end_s"])
        time = ends - np.maximum(columns["start_s"], warm_up_s)
        columns["goodput_bps"] = np.divide(
            8.0 * columns["delivered_bytes"], time, out=np.full(count, np.nan), where=time > 0
        )
        stacks = np.asarray(planned["stack"])
        is_tcp = stacks < self._stacks
        limits = self._run.limits()
        is_one_flow = is_tcp & (np.asarray(limits["is_multipath"]) == 0)
        columns |= limit_shares(limits, time, is_one_flow, np.isin(stacks, self._pacing))
        for flow, report in (self._reports or {}).items():
            for name, value in report.columns(warm_up_s, now_s).items():
                columns[name] = np.asarray(columns[name], dtype=np.float64)
                columns[name][flow] = value
        return columns

    def _check(self) -> None:
        mean, late, latest, packets, refused, foreign = self._run.lateness()
        self._facts["lateness"] = {
            "mean_s": mean,
            "p99_s": late,
            "max_s": latest,
            "bound_s": self._max_lateness_s,
            "packets": packets,
            "packets_refused_by_devices": refused,
            "packets_foreign": foreign,
        }
        if late > self._max_lateness_s:
            raise LatePacketsError(
                f"the kernel engine was too late: 1 % of the packets left more than {1e3 * late:.1f} ms after they were due "
                f"(mean {1e6 * mean:.0f} us, at most {1e3 * latest:.0f} ms; bound {1e3 * self._max_lateness_s:g} ms, --max-lateness). "
                f"Lower the rates, end other programs, or run as root for SCHED_FIFO (now {self._facts['scheduling']})"
            )
        planned = self._planned
        for flow, reason in self._run.failures():
            ends = (self._nodes[planned[column][flow]] for column in ("src", "dst"))
            raise NetworkError(f"flow {flow} ({' -> '.join(ends)}): Linux ended it: {reason}")

    def facts(self) -> Mapping[str, Any]:
        """Facts about the run for the manifest: Linux's release and settings, scheduling, lateness."""
        return self._facts

    def states(self) -> Mapping[str, Any]:
        """None: Linux's congestion controls report no states."""
        return _empty("states")

    def links(self) -> Columns:
        """One row for each directed link."""
        return self._run.links()

    def take_flow_series(self) -> Columns:
        """The flow samples since the last call; those of iperf3 at the end."""
        own = self._run.take_flow_series()
        reports, self._unseen = self._unseen, ()
        rows = [row for report in reports for row in report.samples(self._sample_s, self.now_s)]
        if not rows:
            return own
        return {name: np.concatenate([own[name], [row[name] for row in rows]]) for name in rows[0]}

    def take_link_series(self) -> Columns:
        """The link samples since the last call."""
        return self._run.take_link_series() or _empty("series_links")

    def take_link_state(self) -> Columns:
        """The measurements of links since the last call, of routings that measure links."""
        return self._run.take_link_state() or _empty("link_state")

    def routes(self) -> Mapping[str, Any]:
        """The routes of routings that measure links, and their changes."""
        return self._run.routes()

    @property
    def packets_without_route(self) -> int:
        """Packets that no route led on."""
        return self._run.packets_without_route

    @property
    def packets_expired(self) -> int:
        """Packets whose time to live was over."""
        return self._run.packets_expired

    @property
    def threads(self) -> int:
        """One moves the packets."""
        return 1

    def take_capture(self, link: int) -> bytes:
        """The packets captured on a link since the last call."""
        return self._run.take_capture(link)


def require_possible(spec: CompiledRun) -> None:
    """Check a compiled run without making its namespaces.

    Raises:
        ValueError: names the part of a stack that Linux does not do.
    """
    with ExitStack() as keep:
        host_settings(spec, _stacks(spec, Programs(keep)))


def _stacks(run: Mapping[str, Any], programs: Programs) -> dict[int, LinuxStack]:
    """The stacks that traffic uses, by index."""
    used = {group["transport"]["tcp"]["stack"] for group in run["traffic"] if "tcp" in group["transport"]}
    stacks = {index: linux_stack(run["stacks"][index], programs.control) for index in sorted(used)}
    there = available()
    for stack in stacks.values():
        if stack.congestion not in there:
            raise NetworkError(
                f"stack '{stack.name}': this Linux has no congestion control \"{stack.congestion}\" (there are: {', '.join(there)}): "
                f"sudo modprobe tcp_{stack.congestion}"
            )
    return stacks


def _without_own_controls(spec: CompiledRun) -> dict[str, Any]:
    """The network and the plan need no congestion controls. The packet engine may not be able to run programs for Linux, nor Python here."""
    stacks = [
        stack
        if stack["congestion"].keys().isdisjoint(("program", "python"))
        else {**stack, "congestion": {"name": "linux-reno"}}
        for stack in spec["stacks"]
    ]
    return {**spec, "stacks": stacks}


def _options(stack: LinuxStack | None) -> tuple[str, int, int, bool, bool]:
    """The values of a stack that the Rust core needs; placeholders for a stack that no traffic uses."""
    if stack is None:
        return ("", 0, 0, False, False)
    return (stack.congestion, stack.maximum_segment, stack.payload, stack.paced, stack.is_multipath)


def _schedule(threads: Sequence[int]) -> str:
    """Schedule these threads before all others, if this user may. Returns how they are scheduled."""
    try:
        for thread in threads:
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except PermissionError:
        return "SCHED_OTHER"
    except ProcessLookupError:
        return "SCHED_OTHER, ended"
    return "SCHED_FIFO"


def _empty(table: str) -> dict[str, Any]:
    return {column.name: np.empty(0) for column in TABLES[table]}
