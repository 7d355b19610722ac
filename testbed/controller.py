"""The testbed's controller, a separate program: ``python -m testbed.controller DIRECTORY``.

Every ten seconds it samples the loss of each cable by the counters at both ends. It samples the delay by frames, which it sends through a
switch and which the neighbour returns to it. It computes the routes of all metrics by the mean of three samples. It installs only changed rules.
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

from anabranch.foundation.output_files import write_json
from anabranch.network.topologies import Link, Node, Topology
from anabranch.studies.papers.tcpbp import networks
from testbed import rules
from testbed.link_state import LinkState
from testbed.plan import CONTROLLER_PORT, INTERVAL_S, METRICS, Files
from testbed.rules import Rule

DELAY_PROBES = 20
"""Number of delay probes in an interval, for each direction of a cable."""
_PATIENCE_S = 2.0
_PROBE = struct.Struct("!6s6sHHHd38x")
"""An Ethernet frame: addresses, EtherType, the nodes at both ends, and when it was sent, s."""

Ends = tuple[int, int]


class Controller(app_manager.OSKenApp):  # type: ignore[misc]
    """The application of os-ken. Its handlers run in one thread, and the measurements in another."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)
    files: Files

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Read the network's nodes and cables."""
        super().__init__(*arguments, **options)
        network = json.loads(self.files.topology.read_text(encoding="utf-8"))
        self._names: list[str] = network["nodes"]
        self._numbers = {name: number for number, name in enumerate(self._names, 1)}
        self._cables: list[Ends] = [
            (self._numbers[source], self._numbers[target]) for source, target in network["links"]
        ]
        self._states = {ends: LinkState() for ends in self._cables}
        self._switches: dict[int, Any] = {}
        self._delays_s: dict[Ends, list[float]] = {}
        self._counters: dict[int, dict[int, tuple[int, int]]] = {}
        self._counted = threading.Condition()
        self._installed: frozenset[Rule] = frozenset()
        self._began = 0.0
        self._changes = 0

    # Handlers

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def on_switch(self, event: Any) -> None:
        """A switch has connected: install its standing rules. Measurements begin once all switches have connected."""
        switch = event.msg.datapath
        self._switches[switch.id] = switch
        neighbours = {self._names[target - 1]: target for source, target in self._cables if source == switch.id}
        for rule in rules.standing(self._names[switch.id - 1], switch.id, neighbours):
            self._change(rule, switch.ofproto.OFPFC_ADD)
        if len(self._switches) == len(self._names):
            threading.Thread(target=self._measure, name="measurements", daemon=True).start()

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

    def _measure(self) -> None:
        self._began = time.monotonic()
        self._sample()
        ways = [*self._cables, *((number, number) for number in self._switches)]
        step, step_s = 0, INTERVAL_S / DELAY_PROBES / len(ways)
        while True:
            for source, target in ways * DELAY_PROBES:
                self._send_probe(source, target)
                step += 1
                time.sleep(max(0.0, self._began + step * step_s - time.monotonic()))
            self._sample()
            if all(state.is_known for state in self._states.values()):
                self._route()

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

    def _delay_s(self, source: int, target: int) -> float | None:
        """Delay of a cable: the least time of a probe, less half of the least time to each switch and back. Waiting only makes times longer."""
        least = [
            min(self._delays_s.get(ends, [math.nan])) for ends in ((source, target), (source, source), (target, target))
        ]
        delay = least[0] - (least[1] + least[2]) / 2
        return None if math.isnan(delay) else delay

    def _sample(self) -> None:
        with self._counted:
            self._counters.clear()
            for switch in self._switches.values():
                switch.send_msg(switch.ofproto_parser.OFPPortStatsRequest(switch, 0, switch.ofproto.OFPP_ANY))
            if not self._counted.wait_for(lambda: len(self._counters) == len(self._switches), _PATIENCE_S):
                self.logger.warning("not all switches have said their counters")
                return
            for (source, target), state in self._states.items():
                sent, received = self._counters[source][target][0], self._counters[target][source][1]
                state.sample(sent, received, self._delay_s(source, target))
            self._delays_s.clear()

    def _route(self) -> None:
        links = tuple(
            Link(self._names[source - 1], self._names[target - 1], delay_s=state.delay_s, loss=state.loss)
            for (source, target), state in self._states.items()
        )
        topology = Topology("measured", tuple(Node(name) for name in self._names), links)
        chosen = networks.chosen(topology, METRICS)
        wanted = rules.of_routes(chosen, self._numbers)
        kept = {(rule.node, rule.match) for rule in wanted}
        for rule in wanted - self._installed:
            self._change(rule, ofproto_v1_3.OFPFC_ADD)
        for rule in self._installed - wanted:
            if (rule.node, rule.match) not in kept:
                self._change(rule, ofproto_v1_3.OFPFC_DELETE_STRICT)
        self._changes += bool(self._installed) and wanted != self._installed
        self._installed = wanted
        write_json(
            self.files.state,
            {
                "time_s": time.monotonic() - self._began,
                "changes": self._changes,
                "links": [[link.source, link.target, link.delay_s, link.loss] for link in links],
                "routes": {
                    metric: [[*pair, list(path)] for pair, path in routes.items()] for metric, routes in chosen.items()
                },
            },
        )

    def _change(self, rule: Rule, command: int) -> None:
        switch = self._switches[self._numbers[rule.node]]
        protocol, parser = switch.ofproto, switch.ofproto_parser
        output = [] if rule.port is None else [parser.OFPActionOutput(rule.port)]
        switch.send_msg(
            parser.OFPFlowMod(
                switch, command=command, priority=rule.priority, match=parser.OFPMatch(**dict(rule.match)),
                instructions=[parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, output)],
                out_port=protocol.OFPP_ANY, out_group=protocol.OFPG_ANY,
            )
        )  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """Run the controller for ever."""
    Controller.files = Files(Path(arguments[0]))
    logging.basicConfig(filename=Controller.files.log, level=logging.WARNING)
    cfg.CONF(args=["--ofp-listen-host=0.0.0.0", f"--ofp-tcp-listen-port={CONTROLLER_PORT}"], project="os_ken")
    # os-ken finds an application by the name of its module, but this module's name is __main__.
    sys.modules["testbed.controller"] = sys.modules["__main__"]
    app_manager.AppManager.run_apps(["testbed.controller"])


if __name__ == "__main__":
    main(sys.argv[1:])
