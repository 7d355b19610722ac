"""Traffic matrices of data sets: each is a small network's, and the rates are written by hand."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.engineering.robust import Network, RobustError
from anabranch.engineering.robust.files import pair_rates
from anabranch.network.topologies import load
from anabranch.scenario import Scenario, ScenarioError

GRAPH = """NODES 3
label x y
Ulm 0 0
Ems 0 0
Aue 0 0
EDGES 4
label src dest weight bw delay
a 0 1 1 1000 500
b 1 0 1 1000 500
c 1 2 1 1000 500
d 2 1 1 1000 500
"""
NATIVE = """?SNDlib native format; type: network; version: 1.0
# a comment
META (
  granularity = 5min
)
NODES (
  Ulm ( 10.0 48.4 )
  Ems ( 7.7 50.3 ) # by the Lahn
  Aue
)
LINKS (
  L1 ( Ulm Ems ) 0.00 0.00 7.00 9.00 ( 40.00 1.00 155.00 2.00 )
  L2 ( Ems Aue ) 2.50 0.00 0.00 3.00 ( )
)
DEMANDS (
  D1 ( Ulm Aue ) 1 5.00 UNLIMITED
  D2 ( Ulm Aue ) 2 0.50 2
)
"""
DEMANDS = {
    "net.demands": "DEMANDS 3\nlabel src dest bw\nd0 0 1 400\nd1 0 1 100\nd2 2 0 7\n",
    "net.txt": NATIVE,
    "net.csv": "source;target;rate\nUlm;Ems;500kbps\nAue;Ulm;7000\n".replace("7000", "7kbps"),
    "plain.txt": "1e3 500000 0\n0 3 0\n7e3,0,9\n",
    "series.txt#2": "0 1 1 1 1 1 1 1 1\n1e3 500000 0 0 3 0 7e3 0 9\n",
}
RATES = np.array([[0.0, 500e3, 0.0], [0.0, 0.0, 0.0], [7e3, 0.0, 0.0]])


@pytest.fixture
def network(tmp_path: Path) -> Network:
    (tmp_path / "net.graph").write_text(GRAPH)
    return Network.of(load(tmp_path / "net.graph"))


def written(directory: Path, name: str, text: str) -> str:
    (directory / name.partition("#")[0]).write_text(text)
    return str(directory / name)


@pytest.mark.parametrize("file", DEMANDS)
def test_demands_of_data_sets_are_read_alike(file: str, network: Network, tmp_path: Path) -> None:
    expected = RATES
    if file == "net.txt":
        expected = np.zeros((3, 3))
        expected[0, 2] = 6e6
    source = written(tmp_path, file, DEMANDS[file])
    assert pair_rates(source, network) == pytest.approx(expected)
    Scenario.from_toml(
        f'[topology]\nfrom = "{tmp_path}/net.graph"\n[[traffic]]\nmatrix = "{source}"\n[run]\nduration = "1s"\n'
    )


def test_the_native_network_of_sndlib_is_read(tmp_path: Path) -> None:
    topology = load(Path(written(tmp_path, "net.txt", NATIVE)))
    assert [node.name for node in topology.nodes] == ["Ulm", "Ems", "Aue"]
    assert (topology.nodes[0].longitude, topology.nodes[0].latitude) == (10.0, 48.4)
    assert [(link.source, link.target, link.capacity_bps, link.cost) for link in topology.links] == [
        ("Ulm", "Ems", 155_000_000, 7.0),
        ("Ems", "Ulm", 155_000_000, 7.0),
        ("Ems", "Aue", 2_500_000, 3.0),
        ("Aue", "Ems", 2_500_000, 3.0),
    ]
    assert topology.links[2].length_m is None


def test_nodes_keep_their_numbers_when_a_part_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "net.graph").write_text(
        GRAPH.replace("NODES 3", "NODES 4")
        .replace("Ulm 0 0", "Alone 0 0\nUlm 0 0")
        .replace(" 1 2 1 1000", " 2 3 1 1000")
        .replace(" 2 1 1 1000", " 3 2 1 1000")
        .replace("a 0 1", "a 1 2")
        .replace("b 1 0", "b 2 1")
    )
    kept = Network.of(load(tmp_path / "net.graph", part="largest"))
    assert list(kept.names) == ["Ulm", "Ems", "Aue"]
    rates = pair_rates(written(tmp_path, "net.demands", "DEMANDS 1\nlabel src dest bw\nd 1 3 5\n"), kept)
    assert rates[0, 2] == 5000
    with pytest.raises(RobustError, match="there is no node 0; the topology has 3"):
        pair_rates(written(tmp_path, "net.demands", "DEMANDS 1\nlabel src dest bw\nd 0 3 5\n"), kept)


def test_a_plain_matrix_follows_the_numbers_of_nodes(tmp_path: Path) -> None:
    """TEAVAR's nodes are 1 to N, in any order in the file of links."""
    table = written(tmp_path, "topology.txt", "to_node from_node capacity\n3 1 5\n1 3 5\n1 2 5\n2 1 5\n")
    network = Network.of(load(Path(table)))
    assert list(network.names) == ["1", "3", "2"]
    rates = pair_rates(written(tmp_path, "demand.txt", "0 12 13\n21 0 23\n31 32 0\n"), network)
    for source, one in enumerate(network.names):
        for target, other in enumerate(network.names):
            assert rates[source, target] == (0 if one == other else int(one + other))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.txt", "0 1\n1 0\n", "the matrix is of 2 nodes, the topology has 3"),
        ("a.txt", "0 1 2\n1 0 nan\n0 0 0\n", r"line 2, number 3 'nan': must be a number of at least 0"),
        ("a.txt", "0 1 2\n1 0\n0 0 0\n", "line 2 has 2 numbers; the first has 3"),
        ("a.txt", "0 1 2\n1 0 1\n", "has 2 lines, and 3 numbers in the first; a matrix has as many lines"),
        ("a.txt", "0 1 1 1 0 1 1 1 0\n" * 4, "has 4 matrices of 3 nodes; name one, such as a.txt#1"),
        ("a.txt#9", "0 1 1 1 0 1 1 1 0\n" * 4, "has no matrix 9; there are 4"),
        ("a.txt#1", "0 1 1e999 1 0 1 1 1 0\n", r"number 3 '1e999': must be"),
        ("a.txt#1", "0 -1 1 1 0 1 1 1 0\n", r"number 2 '-1': must be"),
        ("a.pkl", "x", "is a Python object, which may run code when it is read; write its numbers with numpy.savetxt"),
        ("a.demands", "DEMANDS 1\nlabel src dest bw\nd 0 7 5\n", "there is no node 7; the topology has 3"),
        ("a.demands", "DEMANDS 1\nlabel src dest bw\nd 0 x 5\n", "line 3 'x': must be the number of a node"),
        ("a.demands", "DEMANDS 1\nlabel src dest bw\nd 0 1 inf\n", "line 3, bw 'inf': must be"),
        ("a.demands", "DEMANDS 1\nlabel from to bw\n", "line 2 must be the column names: label src dest bw"),
        ("a.demands", "DEMANDS 0\nlabel src dest bw\n", "has no demand between two nodes"),
        ("a.txt", "?SNDlib native format\nDEMANDS (\n d ( Ulm Ems ) 1 x U\n)\n", "line 3 = 'x': must be a number"),
        ("a.txt", "?SNDlib native format\nDEMANDS (\n d ( Ulm Ems ) 1 5 U\n", r"comes before the \) that ends a section"),
        ("a.txt", "?SNDlib native format\nNODES (\n)\n", "has no demand"),
        ("a.csv", "Ulm,Ems,5\n", "the header is Ulm,Ems,5; it must be source,target,rate"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_place_and_value(
    file: str, text: str, message: str, network: Network, tmp_path: Path
) -> None:
    source = written(tmp_path, file, text)
    with pytest.raises(ValueError, match=message):
        pair_rates(source, network)
    with pytest.raises(ScenarioError, match=message):
        Scenario.from_toml(
            f'[topology]\nfrom = "{tmp_path}/net.graph"\n[[traffic]]\nmatrix = "{source}"\n[run]\nduration = "1s"\n'
        )
