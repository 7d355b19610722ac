"""Traffic models and the files they come from."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust import files
from anabranch.network import topologies
from anabranch.network.topologies import generate
from anabranch.network.topologies.export import to_json

INFINITE = float("inf")


@pytest.fixture(scope="module")
def network() -> robust.Network:
    return robust.Network.of(generate.line(3), 10e6)


def test_a_pair_without_any_bound_is_refused_by_name(network: robust.Network) -> None:
    first, second = network.names[:2]
    with pytest.raises(robust.RobustError, match=f"from {first} to {second} has no bound"):
        robust.bounds(network)
    with pytest.raises(robust.RobustError, match="has no bound"):
        robust.pipe(network, np.where(np.arange(9).reshape(3, 3) == 5, INFINITE, 1e6))
    robust.bounds(network, sent=[1e6, 1e6, INFINITE], received=[1e6, 1e6, INFINITE], upper=INFINITE)


def test_an_impossible_box_is_refused(network: robust.Network) -> None:
    matrix = np.full((3, 3), 2e6)
    with pytest.raises(robust.RobustError, match=r"the least that .* sends is more than it may"):
        robust.box(network, matrix, 1, 2, within=robust.hose(network, 3e6))
    with pytest.raises(robust.RobustError, match="the least is more than the most"):
        robust.bounds(network, upper=1e6, lower=matrix)


@pytest.mark.parametrize("rate", [-1.0, float("nan")])
def test_what_is_no_rate_is_refused(network: robust.Network, rate: float) -> None:
    with pytest.raises(robust.RobustError, match="must be a rate of at least 0"):
        robust.hose(network, rate)


def test_gravity_follows_capacities_and_adds_up(network: robust.Network) -> None:
    """The middle of a line of three has two links each way, its ends one: 2 to 1 from and to it."""
    matrix = files.gravity(network, 10e6)
    assert matrix.sum() == pytest.approx(10e6)
    assert matrix.tolist() == pytest.approx(np.array([[0, 2, 1], [2, 0, 2], [1, 2, 0]]) * 1e6)


def test_own_demands_are_those_of_topohub() -> None:
    import topohub

    network = robust.Network.of(topologies.load("sndlib/germany50"), 1e9)
    matrix = files.own_demands(network)
    demands = topohub.get("sndlib/germany50")["graph"]["demands"]
    total = sum(value for source, row in demands.items() for target, value in row.items() if source != target)
    assert matrix.sum() == pytest.approx(total * 1e6)


def test_demands_of_brain_count_bits() -> None:
    """SNDlib's file of it says BITSPERSEC, and a backbone with links of 10 Gbit/s does not offer 12 Pbit/s."""
    network = robust.Network.of(topologies.load("sndlib/brain"), 1e10)
    assert files.own_demands(network).sum() == pytest.approx(12.3e9, rel=0.01)


def test_own_demands_go_by_name(tmp_path: Path) -> None:
    """A file of the same name may list the nodes in another order, or lack some."""
    original = topologies.load("sndlib/abilene")
    network = robust.Network.of(original, 1e9)
    document = json.loads(to_json(original))
    document["nodes"].reverse()
    (tmp_path / "reversed.json").write_text(json.dumps(document))
    other = robust.Network.of(topologies.load(tmp_path / "reversed.json"), 1e9)
    assert (files.own_demands(other)[::-1, ::-1] == files.own_demands(network)).all()
    gone = document["nodes"].pop()["id"]
    document["edges"] = [edge for edge in document["edges"] if gone not in (edge["source"], edge["target"])]
    (tmp_path / "fewer.json").write_text(json.dumps(document))
    fewer = robust.Network.of(topologies.load(tmp_path / "fewer.json"), 1e9)
    with pytest.raises(robust.RobustError, match=f"the demands of sndlib/abilene: sndlib/abilene has no node {gone}"):
        files.own_demands(fewer)


@pytest.mark.parametrize(("unit", "scale"), [("BITSPERSEC", 1), ("MBITPERSEC", 1e6)])
def test_sndlib_s_unit_counts(tmp_path: Path, network: robust.Network, unit: str, scale: float) -> None:
    first, second, third = network.names
    links = "".join(
        f"<link id='{one}'><source>{one}</source><target>{other}</target><preInstalledModule><capacity>100"
        "</capacity></preInstalledModule></link>"
        for one, other in ((first, second), (second, third))
    )
    text = (
        f"<network><meta><unit>{unit}</unit></meta><networkStructure><nodes>"
        + "".join(f"<node id='{name}'/>" for name in network.names)
        + f"</nodes><links>{links}</links></networkStructure><demands><demand id='D'><source>{first}</source>"
        f"<target>{third}</target><demandValue>3</demandValue></demand></demands></network>"
    )
    path = tmp_path / "net.xml"
    path.write_text(text)
    assert {link.capacity_bps for link in topologies.load(path).links} == {100 * scale}
    assert files.pair_rates(str(path), network).sum() == 3 * scale
    path.write_text(text.replace(unit, "PARSEC"))
    for read in (topologies.load, lambda source: files.pair_rates(str(source), network)):
        with pytest.raises(topologies.TopologyError, match="<unit> = 'PARSEC': must be one of BITSPERSEC"):
            read(path)


@pytest.mark.parametrize("name", ["two.xml", "two.sndlib"])
def test_sndlib_s_demands_are_read(tmp_path: Path, name: str) -> None:
    """From files of the names that topologies may have as well."""
    network = robust.Network.of(generate.line(2), 10e6)
    one, other = network.names
    file = tmp_path / name
    file.write_text(
        f"<network><demands><demand id='a'><source>{one}</source><target>{other}</target>"
        "<demandValue>2.5</demandValue></demand></demands></network>"
    )
    assert files.pair_rates(str(file), network).tolist() == [[0, 2.5e6], [0, 0]]


def test_sndlib_s_routing_unit_is_the_capacity_that_a_unit_of_the_demand_takes(tmp_path: Path) -> None:
    """Orlowski et al., "SNDlib 1.0", Networks 2010, section 2.1: "the amount of link capacity consumed by one unit of the demand's traffic"."""
    network = robust.Network.of(generate.line(2), 10e6)
    one, other = network.names
    file = tmp_path / "two.xml"
    demand = (
        f"<network><demands><demand id='a'><source>{one}</source><target>{other}</target><routingUnit>155</routingUnit>"
        "<demandValue>8</demandValue></demand></demands></network>"
    )
    file.write_text(demand)
    assert files.pair_rates(str(file), network).tolist() == [[0, 1240e6], [0, 0]]
    file.write_text(demand.replace("155", "many"))
    with pytest.raises(robust.RobustError, match="<demand> a: has no number in <routingUnit>"):
        files.pair_rates(str(file), network)


@pytest.mark.parametrize("header", ["source,target,rate", "src,dst,rate", "rate, target, source"])
def test_a_matrix_names_its_ends_as_topologies_or_as_our_tables_do(
    network: robust.Network, tmp_path: Path, header: str
) -> None:
    one, other, _ = network.names
    row = f"2Mbps,{other},{one}" if header.startswith("rate") else f"{one}, {other} ,2Mbps"
    (tmp_path / "m.csv").write_text(f"{header}\n{row}\n\n")
    assert files.pair_rates(str(tmp_path / "m.csv"), network)[0].tolist() == [0, 2e6, 0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "src,dst\n", "the header is src,dst; it must be source,target,rate"),
        ("a.csv", "src,dst,rate\nA,B\n", "has 2 values; the header has 3"),
        ("a.csv", "src,dst,rate\n{0},nowhere,1Mbps\n", "has no node nowhere; possible: "),
        ("a.csv", "src,dst,rate\n{0},{0},1Mbps\n", "cannot send to itself"),
        ("a.csv", "src,dst,rate\n{0},{1},1Mbps\n{0},{1},1Mbps\n", "appears twice"),
        ("a.csv", "src,dst,rate\n{0},{1},fast\n", "must be a rate"),
        ("a.toml", "x = ", "is not TOML"),
        ("a.toml", "x = 1", "must be a table"),
        ("a.toml", "{0}.{1} = 1e999", "must be a rate with its unit"),
        ("a.xml", "<network/>", "has no <demand>"),
    ],
)
def test_a_matrix_that_cannot_be_read_is_refused_with_its_place(
    network: robust.Network, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content.format(*network.names))
    with pytest.raises(robust.RobustError, match=message):
        files.pair_rates(str(tmp_path / name), network)


def test_a_hose_needs_every_node(network: robust.Network, tmp_path: Path) -> None:
    file = tmp_path / "hose.toml"
    first, second, third = network.names
    file.write_text(f'{first} = "1Mbps"\n{second} = {{ sent = "2Mbps", received = "3Mbps" }}\n')
    with pytest.raises(robust.RobustError, match=f"node {third} is missing"):
        files.hose_rates(str(file), network)
    file.write_text(file.read_text() + f'{third} = "4Mbps"\n')
    assert [rates.tolist() for rates in files.hose_rates(str(file), network)] == [[1e6, 2e6, 4e6], [1e6, 3e6, 4e6]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "node,sent\n{0},1Mbps\n",
            "line 2: node {0} has no received; give sent and received, or rate for both",
        ),
        ("a.toml", '{0} = {{ received = "1Mbps" }}', "a.toml: {0}: node {0} has no sent"),
        ("a.toml", '{0} = {{ rate = "1Mbps", send = "2Mbps" }}', "a.toml: {0}: send is none of rate, sent, received"),
    ],
)
def test_a_hose_that_cannot_be_meant_is_refused_with_its_place(
    network: robust.Network, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content.format(*network.names))
    with pytest.raises(robust.RobustError, match=message.format(*network.names)):
        files.hose_rates(str(tmp_path / name), network)


def test_splits_become_routes_that_add_up(network: robust.Network) -> None:
    grid = robust.Network.of(generate.grid(2, 2), 10e6)
    routing = robust.solve(robust.Problem(grid, robust.hose(grid, 1e6), robust.shortest(grid, 2)))
    routes = robust.as_routes(routing.splits)
    assert routes.forwarding == "explicit"
    assert len(routes.routes) == 12
    assert all(sum(path.weight for path in route.paths) == pytest.approx(1) for route in routes.routes)
