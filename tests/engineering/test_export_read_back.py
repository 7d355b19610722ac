"""Exports read back from their files: the same paths and shares, to the rounding of weights, and the same loads."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.engineering import robust, weights
from anabranch.engineering.robust.failures import single_links
from anabranch.engineering.robust.judged_files import routing_of
from anabranch.engineering.robust.judging import explicit as by_paths
from anabranch.engineering.robust.judging import judge, ospf
from anabranch.engineering.routes import Path as RoutedPath
from anabranch.engineering.routes import Route, Routes
from anabranch.engineering.routes.export import FORMATS, ExportError, export, read_back
from anabranch.network import topologies
from anabranch.network.topologies import Topology
from tests.export_routes import explicit, hop_by_hop, planned, topology

BY_PAIR = ("srv6", "openflow13", "openflow15", "segment-routing")
BY_DESTINATION = ("ip-route", "frr", "openflow13", "openflow15", "srv6", "segment-routing")
BY_COSTS = ("frr-ospf", "frr-isis")
NSFNET = robust.Network.of(topologies.load("nsfnet"), 1e9)


def error_of(directory: Path) -> float:
    error = json.loads((directory / "export.json").read_text(encoding="utf-8"))["largest_error"]
    assert isinstance(error, float)
    return error


def same(directory: Path, routes: Routes, hops: int) -> None:
    """The paths of each pair, as the format's rounding allows; a weight is rounded at each of ``hops`` nodes."""
    found = read_back(directory, routes.topology).paths
    meant = planned(routes)
    assert found.keys() == meant.keys()
    for pair, several in meant.items():
        assert dict(found[pair]) == pytest.approx(several, abs=1e-9 + hops * error_of(directory)), pair


@pytest.mark.parametrize("format", BY_PAIR)
def test_paths_of_pairs_come_back_with_their_shares(format: str, tmp_path: Path) -> None:
    routes = explicit(topology(), True)
    export(routes, format, tmp_path / "out")
    same(tmp_path / "out", routes, 1)


@pytest.mark.parametrize("format", BY_DESTINATION)
def test_next_hops_come_back_with_their_shares(format: str, tmp_path: Path) -> None:
    routes = hop_by_hop(topology())
    export(routes, format, tmp_path / "out")
    same(tmp_path / "out", routes, 6)


def test_a_policy_comes_back_by_its_labels(tmp_path: Path) -> None:
    on = topology()
    routes = explicit(Topology(on.name, on.nodes[:-1], on.links[:-1]), False)
    export(routes, "frr-segment-routing", tmp_path / "out", igp="delay")
    same(tmp_path / "out", routes, 1)


def test_every_format_is_read_back() -> None:
    """The last two by the readers of ``routes --json`` and of scenarios, in test_judging.py."""
    read = {*BY_PAIR, *BY_DESTINATION, *BY_COSTS, "frr-segment-routing", "containerlab"}
    assert set(FORMATS) == read | {"json", "scenario"}


@pytest.mark.parametrize("format", BY_PAIR)
def test_splits_have_their_load_again(format: str, tmp_path: Path) -> None:
    """The robust splits of a hose: the load that is read back is within what the rounding of weights can change."""
    hose = robust.hose(NSFNET, 130e6, 130e6)
    found = robust.best_found(robust.Problem(NSFNET, hose, robust.shortest(NSFNET, 3)))
    routes = robust.as_routes(found.splits)
    export(routes, format, tmp_path / "out")
    exact = judge(
        NSFNET, hose, by_paths(NSFNET, ((path.nodes, path.weight) for one in routes.routes for path in one.paths))
    )
    (again,) = judge(NSFNET, hose, routing_of(str(tmp_path / "out"), NSFNET))
    assert exact[0].load == pytest.approx(found.worst_case_load)
    error = error_of(tmp_path / "out")
    assert again.load == pytest.approx(found.worst_case_load, abs=1e-9 + 3 * error * 14 * 130e6 / 1e9)
    assert (format == "segment-routing") == (error == 0)
    assert again.load != exact[0].load or error == 0, "the weights that were read are whole numbers"


@pytest.mark.parametrize("format", BY_COSTS)
def test_costs_are_judged_as_ospf_also_after_failures(format: str, tmp_path: Path) -> None:
    rates = np.full((14, 14), 10e6)
    found = weights.find(NSFNET, [rates], limit_s=0.3, largest=20)
    export(weights.as_routes(NSFNET, found.best.weights), format, tmp_path / "out")
    model = robust.matrices(NSFNET, [rates])
    failures = single_links(NSFNET)
    again = judge(NSFNET, model, routing_of(str(tmp_path / "out"), NSFNET), failures)
    meant = judge(NSFNET, model, ospf(NSFNET, found.best.weights), failures)
    assert [one.load for one in again] == [one.load for one in meant]
    assert again[0].load == pytest.approx(found.best.load)


@pytest.mark.parametrize("format", [*BY_DESTINATION, *BY_COSTS])
def test_weights_are_equal_cost_multipath_in_every_format(format: str, tmp_path: Path) -> None:
    rates = np.full((14, 14), 10e6)
    costs = np.ones(NSFNET.links)
    export(weights.as_routes(NSFNET, costs), format, tmp_path / "out")
    model = robust.matrices(NSFNET, [rates])
    (again,) = judge(NSFNET, model, routing_of(str(tmp_path / "out"), NSFNET))
    (meant,) = judge(NSFNET, model, ospf(NSFNET, costs))
    assert again.load == pytest.approx(meant.load, rel=1e-9 + 10 * error_of(tmp_path / "out"))


def test_what_was_changed_by_hand_is_judged(tmp_path: Path) -> None:
    """A weight of 1 to 1 that becomes 3 to 1 in the file becomes shares of 75 and 25 %."""
    square = topologies.load("nsfnet")
    both = (RoutedPath(("1", "2", "3"), 0.5), RoutedPath(("1", "3"), 0.5))
    routes = Routes(square, "own", "explicit", (Route("1", "3", both), Route("2", "3", (RoutedPath(("2", "3")),))))
    export(routes, "ip-route", tmp_path / "out")
    file = tmp_path / "out" / "n1.routes.batch"
    file.write_text(file.read_text().replace("weight 1", "weight 3", 1))
    assert sorted(share for _, share in read_back(tmp_path / "out", square).paths["1", "3"]) == [0.25, 0.75]


@pytest.mark.parametrize(
    ("format", "file", "old", "new", "message"),
    [
        ("ip-route", "n1.routes.batch", "dev n1-n", "dev x-n", "line 2: 'route replace .* has interface 'x-n2', which is not in plan.json"),
        ("ip-route", "n1.routes.batch", "10.0.2.0/24", "10.9.2.0/24", "has prefix '10.9.2.0/24', which is not in plan.json"),
        ("ip-route", "n1.routes.batch", "route replace", "route add", 'must begin with "route replace"'),
        ("ip-route", "n1.routes.batch", "weight 1", "weight 0", "has '0', which must be a whole number from 1 to 256"),
        ("ip-route", "n1.routes.batch", " dev ", " ", "has no dev"),
        ("ip-route", "plan.json", '"nodes"', '"knots"', "is no addressing plan of an export"),
        ("ip-route", "plan.json", '"name": "1"', '"name": "x"', "is of another network: nsfnet has no node 'x'"),
        ("ip-route", "export.json", '"format"', '"form"', "export.json: format None must be one of ip-route, srv6"),
        ("srv6", "n1.routes.batch", "segs fd61:6e61:6272:2::d4", "segs fd61:6e61:6272:3::d4", "has segments that lead to '3', not to '2'"),
        ("srv6", "n1.routes.batch", "segs fd61:6e61:6272:2::d4", "segs fd61::9", "its segments lead over .* and end there"),
        ("frr", "n1.conf", "ip route 10.0.2.0/24 10.128.0.1 n1-n2", "ip route 10.0.2.0/24 10.128.0.1 eth7", "has interface 'eth7'"),
        ("frr-ospf", "n1.conf", "ip ospf cost 1", "ip ospf cost none", "has 'none', which must be a whole number"),
        ("frr-ospf", "n1.conf", " ip ospf cost 1\n", "", "has no weight of the link 1 -> 2"),
        ("openflow13", "n1.flows", "output:2", "output:70000", "has '70000', which must be a whole number"),
        ("openflow13", "n1.flows", "output:2", "output:9", "leaves '1' over port 9, which plan.json has not"),
        ("segment-routing", "segment-lists.json", '"mpls": [16002]', '"mpls": [17002]', "label 17002 is of no node, and of no link of '1'"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_are_named_with_line_and_value(
    format: str, file: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    export(weights.as_routes(NSFNET, np.ones(NSFNET.links)), format, tmp_path / "out")
    path = tmp_path / "out" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises((ExportError, robust.RobustError), match=message) as refusal:
        routing_of(str(tmp_path / "out"), NSFNET)
    assert (
        str(tmp_path / "out") in str(refusal.value)
        or "route" in str(refusal.value)
        or "weight of" in str(refusal.value)
    )
