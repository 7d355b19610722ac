"""``anabranch controller``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from anabranch.cli.exit_status import DONE, INTERRUPTED, UsageError
from anabranch.cli.options import OUTPUT, Json, ScenarioFile, Settings
from anabranch.cli.output import json_text, say
from anabranch.foundation.output_files import require_writable, write_json
from anabranch.foundation.text_table import TextTable, print_table

if TYPE_CHECKING:
    from anabranch.studies.testbed.controlled import Controlled, LiveControl

NETWORK = Group("Network", sort_key=1)


def controller(
    scenario: ScenarioFile,
    /,
    *,
    settings: Settings = None,
    to: Annotated[
        Literal["openflow", "linux", "frr"],
        Parameter(
            group=NETWORK,
            help="Where routes go: rules of Open vSwitch, tables of Linux routers, or static routes of FRR.",
        ),
    ] = "openflow",
    link_state: Annotated[
        Literal["stamp", "ospf", "isis"],
        Parameter(
            group=NETWORK,
            help="Where delays and losses come from: own probes, or what routers of FRR advertise (RFC 7471, RFC 8570).",
        ),
    ] = "stamp",
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], group=OUTPUT, help="Write routes, estimates and flows into this JSON file."),
    ] = None,
    json: Json = False,
) -> int:
    """Control a network on this machine as a scenario says: measure links, and route by what is measured.

    The scenario's routings with link_state become routes of switches or routers, its bulk traffic flows of iperf3; it takes the scenario's duration.
    anabranch run simulates the same scenario. Needs root and iperf3; --to openflow needs openvswitch-switch and os-ken, --to frr needs frr. Ctrl-C ends it
    early with status 130.
    """
    from anabranch.cli.scenarios import load
    from anabranch.studies.testbed.controlled import LiveControl

    if link_state != "stamp" and to != "frr":
        raise UsageError(f"--link-state {link_state}: needs routers of FRR: give --to frr")
    if output is not None:
        require_writable(output)
    control = LiveControl.of(load(scenario, settings))
    found = control.run(to, None if link_state == "stamp" else link_state)
    if found.lateness:
        say(found.lateness)
    document = _document(control, found)
    if output is not None:
        write_json(output, document)
    if json:
        print(json_text(document))
    else:
        _tell(document)
    return INTERRUPTED if found.interrupted else DONE


def _document(control: "LiveControl", found: "Controlled") -> dict[str, Any]:
    return {
        "interrupted": found.interrupted,
        "routes": [
            {"time_s": one.time_s, "metric": one.metric, "source": one.pair[0], "target": one.pair[1], "path": list(one.path)}
            | {"cost": one.cost, "cost_low": one.low, "cost_high": one.high}
            for one in found.changes
        ],
        "flows": [
            {"traffic": group.name, "source": group.pair[0], "target": group.pair[1], "routes": group.route, "first_port": group.first_port}
            | {"flows": group.flows, "congestion_control": group.control}
            | {"goodput_bps": None if rates is None else sum(rates.bps), "jain": None if rates is None else rates.jain}
            for group, rates in found.rates
        ],
        "links": [
            {"time_s": time_s, "source": source, "target": target} | estimate._asdict()
            for time_s, source, target, estimate in found.links
        ],
    }  # fmt: skip


def _tell(document: dict[str, Any]) -> None:
    def three(value: float | None, unit: float = 1.0) -> str:
        return "-" if value is None else f"{value / unit:.3g}"

    routes = [
        (
            f"{one['time_s']:.1f}", one["metric"], one["source"], one["target"], " > ".join(one["path"]),
            f"{three(one['cost'])} ({three(one['cost_low'])} to {three(one['cost_high'])})",
        )
        for one in document["routes"]
    ]  # fmt: skip
    print_table(TextTable(("time, s", "metric", "from", "to", "path", "cost (95 %)"), routes, text_columns=6))
    flows = [
        (
            one["traffic"], one["source"], one["target"], one["routes"], one["congestion_control"],
            f"{one['first_port']}-{one['first_port'] + one['flows'] - 1}", three(one["goodput_bps"], 1e6), three(one["jain"]),
        )
        for one in document["flows"]
    ]  # fmt: skip
    head = ("traffic", "from", "to", "routes", "control", "source ports", "Mbit/s", "Jain")
    print_table(TextTable(head, flows, text_columns=6))
