"""The controller, a separate program: ``python -m anabranch.engines.openflow.controller DIRECTORY``.

At each interval it takes a sample of each cable. Under load, STAMP's agents measure delay and loss. Without load, the controller measures by itself: losses
by the counters at both ends, and delays by frames that it sends through a switch and that the neighbour returns. It computes the routes of all metrics
by the mean of the last samples. It installs only changed rules.
"""

import json
import logging
import math
import struct
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

from anabranch.engines.openflow import routes, rules
from anabranch.engines.openflow.computation import RouteComputation, written
from anabranch.engines.openflow.hysteresis import Estimates
from anabranch.engines.openflow.link_state import Delay
from anabranch.engines.openflow.plan import CONTROLLER_PORT, ControlFiles
from anabranch.engines.openflow.routes import Chosen
from anabranch.engines.openflow.rules import FlowRule, SelectGroup
from anabranch.foundation.output_files import write_json

DELAY_PROBES = 20
"""Number of delay probes in an interval, for each direction of a cable."""
VLAN = 0x8100
"""IEEE 802.1Q."""
_PATIENCE_S = 2.0
_PROBE = struct.Struct("!6s6sHHHd38x")
"""An Ethernet frame: addresses, EtherType, the nodes at both ends, and when it was sent, s."""

Ends = tuple[int, int]


class OpenFlowController(app_manager.OSKenApp):  # type: ignore[misc]
    """The application of os-ken. Its handlers run in one thread, and the measurements in another."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)
    files: ControlFiles

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Read the network's nodes and cables."""
        super().__init__(*arguments, **options)
        network = json.loads(self.files.network.read_text(encoding="utf-8"))
        self._computation = RouteComputation(network)
        self._metrics: list[str] = network["metrics"]
        self._fixed = routes.read(network["fixed"])
        self._spread = routes.read_spread(network["spread"])
        self._interval_s: float = network["interval_s"]
        self._keep_after_s: float | None = network["keep_after_s"]
        self._names: list[str] = network["nodes"]
        self._numbers = {name: number for number, name in enumerate(self._names, 1)}
        self._cables: list[Ends] = [
            (self._numbers[source], self._numbers[target]) for source, target in self._computation.states
        ]
        self._switches: dict[int, Any] = {}
        self._delays_s: dict[Ends, list[float]] = {}
        self._counters: dict[int, dict[int, tuple[int, int]]] = {}
        self._counted = threading.Condition()
        self._installed: frozenset[FlowRule] = frozenset()
        self._began = 0.0
        self._changes = 0

    # Handlers

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def on_switch(self, event: Any) -> None:
        """A switch has connected: install its standing rules. The work begins once all switches have connected."""
        switch = event.msg.datapath
        self._switches[switch.id] = switch
        neighbours = {self._names[target - 1]: target for source, target in self._cables if source == switch.id}
        for rule in rules.standing(self._names[switch.id - 1], switch.id, neighbours):
            self._change(rule, switch.ofproto.OFPFC_ADD)
        if len(self._switches) == len(self._names):
            work = self._install_given if self.files.routes.exists() else self._measure
            threading.Thread(target=work, name="controller", daemon=True).start()

    @set_ev_cls(ofp_event.EventOFPPortStatsReply, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def on_counters(self, event: Any) -> None:
        """Store the counters of a switch's ports: packets sent and received."""
        with self._counted:
            self._counters[event.msg.datapath.id] = {
                one.port_no: (one.tx_packets, one.rx_packets) for one in event.msg.body
            }
            self._counted.notify()

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def on_probe(self, event: Any) -> None:
        """Store the delay of a probe that has crossed its cable, or come back from a switch."""
        now = time.monotonic()
        _, _, _, source, target, sent = _PROBE.unpack(event.msg.data[: _PROBE.size])
        self._delays_s.setdefault((source, target), []).append(now - sent)

    # Measurements

    def _install_given(self) -> None:
        self._began = time.monotonic()
        given = json.loads(self.files.routes.read_text(encoding="utf-8"))
        self._install(routes.read(given["routes"]), {})

    def _measure(self) -> None:
        self._began = time.monotonic()
        self._sample()
        ways = [*self._cables, *((number, number) for number in self._switches)]
        step, step_s = 0, self._interval_s / DELAY_PROBES / len(ways)
        while self._keep_after_s is None or not self._installed or self._time_s() < self._keep_after_s:
            for source, target in ways * DELAY_PROBES:
                if not self._computation.by_stamp:
                    self._send_probe(source, target)
                step += 1
                time.sleep(max(0.0, self._began + step * step_s - time.monotonic()))
            self._sample()
            if self._computation.is_known:
                chosen, values = self._computation.routes()
                self._install({**chosen, **self._fixed}, values)

    def _time_s(self) -> float:
        return time.monotonic() - self._began

    def _send_probe(self, source: int, target: int) -> None:
        """Send a probe over a cable. If ``source`` is ``target``, send it to the switch and back."""
        switch = self._switches[source]
        protocol, parser = switch.ofproto, switch.ofproto_parser
        frame = _PROBE.pack(bytes(6), bytes(6), rules.DELAY_PROBE, source, target, time.monotonic())
        port = protocol.OFPP_CONTROLLER if source == target else target
        switch.send_msg(
            parser.OFPPacketOut(
                switch, buffer_id=protocol.OFP_NO_BUFFER, in_port=protocol.OFPP_CONTROLLER,
                actions=[parser.OFPActionOutput(port)], data=frame,
            )
        )  # fmt: skip

    def _own_delay(self, source: int, target: int) -> Delay | None:
        """Delay of a cable: the least time of a probe, less half of the least time to each switch and back. Waiting only makes times longer."""
        least = [
            min(self._delays_s.get(ends, [math.nan])) for ends in ((source, target), (source, source), (target, target))
        ]
        delay = least[0] - (least[1] + least[2]) / 2
        return None if math.isnan(delay) else Delay(delay)

    def _sample(self) -> None:
        """Take the samples of an interval: STAMP's, or else from counters and this controller's own probes.

        Counters at both ends of a cable take packets in its queue for lost, so that they need a network without load. STAMP's packets have numbers.
        """
        if self._computation.by_stamp:
            self._computation.sample_stamp(self.files.stamp)
            return
        with self._counted:
            self._counters.clear()
            for switch in self._switches.values():
                switch.send_msg(switch.ofproto_parser.OFPPortStatsRequest(switch, 0, switch.ofproto.OFPP_ANY))
            if not self._counted.wait_for(lambda: len(self._counters) == len(self._switches), _PATIENCE_S):
                self.logger.warning("not all switches have said their counters")
                return
            for (source, target), state in zip(self._cables, self._computation.states.values(), strict=True):
                sent, received = self._counters[source][target][0], self._counters[target][source][1]
                state.sample(sent, received, self._own_delay(source, target))
            self._delays_s.clear()

    # Rules

    def _install(self, chosen: Chosen, values: Estimates) -> None:
        wanted = rules.of_routes(chosen, rules.for_others(self._metrics), self._numbers)
        for place, spread in enumerate(self._spread.values(), len(chosen)):
            own, groups = rules.of_spread(place, spread, self._numbers)
            wanted |= own
            for group in groups if not self._installed else ():
                self._add_group(group)
        kept = {(rule.node, rule.match) for rule in wanted}
        for rule in wanted - self._installed:
            self._change(rule, ofproto_v1_3.OFPFC_ADD)
        for rule in self._installed - wanted:
            if (rule.node, rule.match) not in kept:
                self._change(rule, ofproto_v1_3.OFPFC_DELETE_STRICT)
        self._changes += bool(self._installed) and wanted != self._installed
        self._installed = wanted
        write_json(self.files.state, written(self._time_s(), self._changes, chosen, values))

    def _add_group(self, group: SelectGroup) -> None:
        switch = self._switches[self._numbers[group.node]]
        protocol, parser = switch.ofproto, switch.ofproto_parser
        buckets = [
            parser.OFPBucket(
                weight=weight, watch_port=protocol.OFPP_ANY, watch_group=protocol.OFPG_ANY,
                actions=[
                    parser.OFPActionPushVlan(VLAN), parser.OFPActionSetField(vlan_vid=rules.TAGGED | tag), parser.OFPActionOutput(port),
                ],
            )
            for weight, tag, port in group.buckets
        ]  # fmt: skip
        switch.send_msg(parser.OFPGroupMod(switch, protocol.OFPGC_ADD, protocol.OFPGT_SELECT, group.number, buckets))

    def _change(self, rule: FlowRule, command: int) -> None:
        switch = self._switches[self._numbers[rule.node]]
        protocol, parser = switch.ofproto, switch.ofproto_parser
        actions = [parser.OFPActionPopVlan()] if rule.pops else []
        if rule.group:
            actions.append(parser.OFPActionGroup(rule.group))
        elif rule.port is not None:
            actions.append(parser.OFPActionOutput(rule.port))
        switch.send_msg(
            parser.OFPFlowMod(
                switch, command=command, priority=rule.priority, match=parser.OFPMatch(**dict(rule.match)),
                instructions=[parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)],
                out_port=protocol.OFPP_ANY, out_group=protocol.OFPG_ANY,
            )
        )  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """Run the controller for ever."""
    OpenFlowController.files = ControlFiles(Path(arguments[0]))
    logging.basicConfig(filename=OpenFlowController.files.log, level=logging.WARNING)
    cfg.CONF(args=["--ofp-listen-host=0.0.0.0", f"--ofp-tcp-listen-port={CONTROLLER_PORT}"], project="os_ken")
    # os-ken finds an application by the name of its module, but this module's name is __main__.
    name = "anabranch.engines.openflow.controller"
    sys.modules[name] = sys.modules["__main__"]
    app_manager.AppManager.run_apps([name])


if __name__ == "__main__":
    main(sys.argv[1:])
