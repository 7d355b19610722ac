"""Large fabrics are folded for maps: a group for each pod and tier, and one above all pods."""

from collections import Counter
from pathlib import Path

import pytest

from anabranch.network.topologies.folding import MOST_NODES, MOST_PODS, folded
from anabranch.network.topologies.loading import load
from validation import fabrics


def network(fabric: fabrics.Fabric, folder: Path) -> tuple[list[str], list[tuple[str, str]]]:
    (folder / "x.topo").write_text(fabric.topo())
    topology = load(folder / "x.topo")
    return [node.name for node in topology.nodes], [(link.source, link.target) for link in topology.links]


def test_three_tiers_fold_by_pod(tmp_path: Path) -> None:
    names, ends = network(fabrics.LARGE, tmp_path)
    groups = folded(names, ends)
    assert groups is not None
    assert set(groups) == set(names)
    assert Counter(Counter(groups.values()).values()) == {
        64: 16 + 1,
        8: 32,
    }  # hosts of 16 pods, and the core; tors and aggs
    assert [groups[name] for name in ("0", "63", "64", "tor7", "agg8", "core5")] == [
        "0 +63", "0 +63", "64 +63", "tor0 +7", "agg8 +7", "core0 +63",
    ]  # fmt: skip
    between = {(groups[one], groups[other]) for one, other in ends}
    assert len(between) == 2 * 16 * 3


def test_a_leaf_and_its_hosts_are_a_pod(tmp_path: Path) -> None:
    names, ends = network(fabrics.Fabric("", 1024, 1024, 32), tmp_path)
    groups = folded(names, ends)
    assert groups is not None
    assert Counter(Counter(groups.values()).values()) == {32: 32 + 1, 1: 32}
    assert groups["tor3"] == "tor3"


def test_of_very_many_pods_several_are_one_group(tmp_path: Path) -> None:
    names, ends = network(fabrics.Fabric("", 1000, 1000, 5), tmp_path)
    groups = folded(names, ends)
    assert groups is not None
    assert len(set(groups.values())) <= 2 * MOST_PODS + 1


@pytest.mark.parametrize("size", [MOST_NODES, 300])
def test_networks_without_tiers_and_small_ones_are_not_folded(size: int, tmp_path: Path) -> None:
    ring = [str(node) for node in range(size)]
    assert folded(ring, zip(ring, [*ring[1:], ring[0]], strict=True)) is None
    assert folded(*network(fabrics.SMALL, tmp_path)) is None
