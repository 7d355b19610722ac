"""A scenario whose routings measure their links, on a live network: the controller's routes over time, and what flows get."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.compile.stacks import preset_law
from anabranch.engineering.routes import Search
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.settings import StackError, linux_stack
from anabranch.engines.openflow.agents import Agents
from anabranch.engines.openflow.cabling import cables
from anabranch.engines.openflow.hosts import PORT, FlowRates, RunningFlows
from anabranch.engines.openflow.hysteresis import Hysteresis, cost
from anabranch.engines.openflow.igp import Igp
from anabranch.engines.openflow.lab import Lab, Routed, Target
from anabranch.engines.openflow.link_state import CableEstimate
from anabranch.engines.openflow.plan import SOURCE_PORTS, LabPlan, Probing
from anabranch.engines.openflow.routes import Pair, Path, Spread
from anabranch.foundation.progress import Shown
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.scenario import Scenario
from anabranch.studies.testbed.network import MeasurementError

_PROBE_BYTES, _MOST_PROBES_OF_ALL = 200, 3000
"""A probe's size; the most probes of all cables in a second that one thread sends and answers."""
_LOOK_S = 0.2


@dataclass(frozen=True)
class FlowGroup:
    """The flows of a traffic group between two nodes."""

    name: str
    pair: Pair
    flows: int
    start_s: float
    control: str
    """Linux's name of the congestion control."""
    route: str
    """The name of its routes in the plan."""
    first_port: int


@dataclass(frozen=True)
class RouteChange:
    """A route of a pair with traffic, from this time on. Its cost has its 95 % interval, in the metric's unit."""

    time_s: float
    metric: str
    pair: Pair
    path: Path
    low: float
    cost: float
    high: float


@dataclass
class Controlled:
    """What happened."""

    changes: list[RouteChange] = field(default_factory=list)
    links: list[tuple[float, str, str, CableEstimate]] = field(default_factory=list)
    """The estimates at each computation: its time, and both ends of the link."""
    rates: list[tuple[FlowGroup, FlowRates | None]] = field(default_factory=list)
    """``None`` if iperf3 has no report."""
    lateness: str = ""
    interrupted: bool = False


@dataclass(frozen=True)
class LiveControl:
    """A scenario in the terms of a live network."""

    plan: LabPlan
    groups: Sequence[FlowGroup]
    duration_s: float
    seed: int

    @classmethod
    def of(cls, scenario: Scenario) -> "LiveControl":
        """Translate a scenario: its traffic groups, routings and their ``link_state``.

        Raises:
            MeasurementError: names the part that a live network does not have.
            StackError: names the key of a stack that Linux cannot follow.
        """
        if len(scenario.cases) > 1:
            raise MeasurementError(f"{scenario.source}: has {len(scenario.cases)} variants: choose one by --set")
        seed = scenario.seeds[0]
        run = compile_run(scenario.cases[0], seed)
        duration_s = run["duration"] / PICOSECONDS_PER_SECOND
        senders = [group for group in run["traffic"] if "tcp" in group["transport"]]
        used = {group["routing"]: run["routings"][group["routing"]] for group in senders}
        settings = list(
            {repr(one["link_state"]): one["link_state"] for one in used.values() if one["link_state"]}.values()
        )
        timing = ("sample", "window", "recompute")
        if not settings or any(one[key] != settings[0][key] for one in settings for key in timing):
            raise MeasurementError(
                f"{scenario.source}: routing: give the routing of the traffic a link_state, and all of them the same sample, window and recompute"
            )
        if settings[0]["sample"] != settings[0]["recompute"]:
            raise MeasurementError(
                f"{scenario.source}: routing: a live controller computes routes after each sample: give recompute the value of sample"
            )
        document = scenario.document
        plan = LabPlan(
            cables(document, seed, scenario.directory, ("events",)),
            [_metric(routing) for routing in used.values() if routing["link_state"]],
            hysteresis={_metric(one): _hysteresis(one["link_state"]) for one in used.values() if one["link_state"]},
        )
        if len(set(plan.metrics)) < len(plan.metrics):
            raise MeasurementError(f"{scenario.source}: routing: two routings measure for one metric: leave one out")
        others = [one for one in used.values() if not one["link_state"]]
        plan = LabPlan(
            plan.scenario, plan.metrics, _probing(run, plan, settings[0], duration_s), hysteresis=plan.hysteresis,
            fixed={one["name"]: _fixed(plan, one) for one in others if _is_single(one)},
            spread={one["name"]: _spread(plan, one) for one in others if not _is_single(one)},
        )  # fmt: skip
        return cls(plan, list(_groups(run, senders, plan)), duration_s, seed)

    def run(self, to: Target = "openflow", igp: Igp | None = None) -> Controlled:
        """Build the network, control it, and send the traffic; Ctrl-C ends this early: ``interrupted``.

        Routes go ``to`` switches of Open vSwitch, routers of Linux, or routers of FRR. The latter may advertise delays by an ``igp``.

        Raises:
            MissingExtraError: os-ken is not installed.
            NetworkError: names the program or privilege that is missing.
        """
        found = Controlled()
        try:
            with (
                Shown(self.duration_s) as shown,
                Lab(self.plan, to=to, igp=igp) as bed,
                Agents(self.plan, bed.hosts, self.seed, bed.files.stamp),
            ):
                self._follow(bed, found, shown)
                found.lateness = bed.lateness()
        except KeyboardInterrupt:
            found.interrupted = True
        return found

    def _follow(self, bed: Lab, found: Controlled, shown: Shown) -> None:
        began, waiting = time.monotonic(), list(self.groups)
        running: list[tuple[FlowGroup, RunningFlows]] = []
        last: dict[tuple[str, Pair], Path] = {}
        seen_s = -1.0
        while (now_s := time.monotonic() - began) < self.duration_s:
            routed = bed.routed()
            if routed is not None and routed.time_s > seen_s:
                seen_s = routed.time_s
                found.links += [(seen_s, *ends, estimate) for ends, estimate in routed.links.items()]
                found.changes += self._changes(routed, last)
            due = [group for group in waiting if group.start_s <= now_s and routed is not None]
            for group in due:
                waiting.remove(group)
                running.append((group, self._begin(bed, group, len(running), self.duration_s - now_s)))
            shown.show(now_s, "controlling", f"{len(running)} groups of flows, {len(found.changes)} routes")
            time.sleep(_LOOK_S)
        for group, flows in running:
            try:
                found.rates.append((group, flows.end()))
            except NetworkError:
                found.rates.append((group, None))
        found.rates += [(group, None) for group in waiting]

    def _begin(self, bed: Lab, group: FlowGroup, number: int, left_s: float) -> RunningFlows:
        return bed.hosts.begin(
            *group.pair,
            flows=group.flows,
            first_port=group.first_port,
            seconds=max(1, int(left_s)),
            control=group.control,
            server_port=PORT + number,
        )

    def _changes(self, routed: Routed, last: dict[tuple[str, Pair], Path]) -> Iterator[RouteChange]:
        for metric in self.plan.metrics:
            for pair in dict.fromkeys(group.pair for group in self.groups if group.route == metric):
                for way in (pair, pair[::-1]):
                    path = routed.routes[metric][way]
                    if last.get((metric, way)) != path:
                        last[metric, way] = path
                        yield RouteChange(routed.time_s, metric, way, path, *cost(metric, path, routed.links))


def _hysteresis(settings: Mapping[str, Any]) -> Hysteresis:
    return Hysteresis(settings["hysteresis"], settings["intervals"])


def _is_single(routing: Mapping[str, Any]) -> bool:
    return bool(routing["hops"].get("paths") == 1)


def _metric(routing: Mapping[str, Any]) -> str:
    hops = routing["hops"]
    if hops["kind"] not in ("k-shortest", "disjoint"):
        raise MeasurementError(
            f"routing.{routing['name']}: switches follow the source's paths: give paths = {{ shortest = 1 }}, {{ shortest = 2 }}, {{ disjoint = 2 }} or a list"
        )
    metric = hops["metric"]
    if isinstance(metric, dict):
        raise MeasurementError(
            f"routing.{routing['name']}: a live network has no metric goodput:STACK: choose tcpbp-exact"
        )
    return metric if isinstance(metric, str) else ", ".join(metric)


def _spread(plan: LabPlan, routing: Mapping[str, Any]) -> Spread:
    """The paths and weights of a routing with several paths; a flow keeps its path."""
    name, hops = routing["name"], routing["hops"]
    if (
        routing["select"]["name"] not in ("hash", "weighted")
        or routing["per"]["unit"] != "flow"
        or routing["acks"] is not None
    ):
        raise MeasurementError(
            f'routing.{name}: a switch chooses the path of a flow by its hash: give select = "hash" or "weighted", per = "flow", and no acks'
        )
    found: dict[Pair, list[tuple[float, Path]]] = {}
    if hops["kind"] == "explicit":
        nodes = list(plan.numbers)
        for path, weight in zip(hops["paths"], hops["weights"], strict=True):
            names = tuple(nodes[node] for node in path)
            found.setdefault((names[0], names[-1]), []).append((weight, names))
        return found
    search, metric = Search(plan.topology, preset_law), _metric(routing)
    if hops["kind"] == "disjoint":
        routes = search.disjoint(metric, hops["paths"], by_nodes=hops["by"] == "nodes").routes
    else:
        routes = search.shortest(metric, hops["paths"]).routes
    for route in routes:
        if route.paths:
            found[route.source, route.target] = [(path.weight, path.nodes) for path in route.paths]
    return found


def _fixed(plan: LabPlan, routing: Mapping[str, Any]) -> Mapping[Pair, Path]:
    """The paths of a routing that measures nothing, by the configured values."""
    found = Search(plan.topology, preset_law).routes(_metric(routing)).routes
    return {(route.source, route.target): route.paths[0].nodes for route in found if route.paths}


def _probing(run: Mapping[str, Any], plan: LabPlan, settings: Mapping[str, Any], duration_s: float) -> Probing:
    """STAMP's packets at the rate of the scenario's own probes, as far as one thread sends them."""
    probes = [group for group in run["traffic"] if "udp" in group["transport"]]
    if len(probes) != 1 or run["routings"][probes[0]["routing"]]["name"] != "direct":
        raise MeasurementError(
            'traffic: a live network has one group of UDP, the probes: give one entry pattern = "neighbours", transport = "udp", from and to "all"'
        )
    rate_bps = probes[0]["application"].get("rate", 0)
    most_bps = _MOST_PROBES_OF_ALL / len(plan.topology.links) * 8 * _PROBE_BYTES
    return Probing(
        min(rate_bps, most_bps),
        _PROBE_BYTES,
        settings["sample"] / PICOSECONDS_PER_SECOND,
        duration_s,
        settings["window"],
    )


def _groups(run: Mapping[str, Any], senders: Sequence[Mapping[str, Any]], plan: LabPlan) -> Iterator[FlowGroup]:
    nodes, ports = run["nodes"], dict.fromkeys(plan.names, 0)
    for group in senders:
        name, application = group["name"], group["application"]
        if application["kind"] != "bulk" or application["bytes"] is not None or group["stop"] is not None:
            raise MeasurementError(f"traffic '{name}': a live network sends bulk data without a size and a stop")
        stack = run["stacks"][group["transport"]["tcp"]["stack"]]
        control = linux_stack(stack, _no_program).congestion
        routing = run["routings"][group["routing"]]
        route = _metric(routing) if routing["link_state"] else routing["name"]
        for source, target in group["pairs"]:
            # iperf3's flows take the ports from the first one on; its control connection has another.
            first_port = plan.source_port(route) + ports[route]
            ports[route] += group["flows_per_pair"] + 1
            if ports[route] > SOURCE_PORTS:
                raise MeasurementError(
                    f"traffic '{name}': routing '{routing['name']}' has more than {SOURCE_PORTS} flows"
                )
            start_s = group["start"] / PICOSECONDS_PER_SECOND
            yield FlowGroup(
                name, (nodes[source], nodes[target]), group["flows_per_pair"], start_s, control, route, first_port
            )


def _no_program(congestion: Mapping[str, Any]) -> str:
    raise StackError(
        f"congestion = {congestion['name']!r}: a live network does not load eBPF programs: choose a control of Linux"
    )
