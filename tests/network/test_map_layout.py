"""Where nodes lie on maps, of reports and of topologies alike."""

from itertools import pairwise

import pytest

from anabranch.network.topologies.generate import fat_tree
from anabranch.network.topologies.map_layout import positions
from anabranch.network.topologies.model import Node
from anabranch.network.topologies.tiers import structured


def test_a_degree_of_longitude_is_as_wide_as_its_latitude_makes_it() -> None:
    """At 60 degrees north, a degree of longitude is half a degree of latitude."""
    nodes = [Node("a", 59, 10), Node("b", 61, 10), Node("c", 60, 12)]
    places = positions(nodes, [])
    assert places["c"][0] - places["a"][0] == pytest.approx(0.5, rel=1e-3)
    assert places["b"][1] - places["a"][1] == pytest.approx(1)


def test_the_map_is_cut_where_the_widest_gap_is() -> None:
    places = positions([Node("Tokyo", 1, 140), Node("Honolulu", 0, -158), Node("Seattle", -1, -122)], [])
    assert places["Tokyo"][0] < places["Honolulu"][0] < places["Seattle"][0]


@pytest.mark.parametrize("count", [1, 5, 600])
def test_nodes_without_a_place_get_one_of_their_own(count: int) -> None:
    nodes = [Node(str(number)) for number in range(count)]
    places = positions(nodes, [(str(number), str((number + 1) % count)) for number in range(count)])
    assert len({(round(x, 6), round(y, 6)) for x, y in places.values()}) == count
    assert all(0 <= value <= 1 for place in places.values() for value in place)


def test_nodes_without_a_place_keep_the_others_where_they_are() -> None:
    known = [Node("a", x=0, y=0), Node("b", x=4, y=0), Node("c", x=0, y=2)]
    places = positions([*known, Node("d")], [("a", "b"), ("b", "c"), ("c", "d")])
    whole = {name: (places[name][0] - places["a"][0], places[name][1] - places["a"][1]) for name in "abc"}
    wide = whole["b"][0]
    assert whole["b"] == pytest.approx((wide, 0))
    assert whole["c"] == pytest.approx((0, wide / 2))


def bare(*ends: tuple[str, str]) -> tuple[list[Node], list[tuple[str, str]]]:
    """Nodes without coordinates, named in the order of the links."""
    names = dict.fromkeys(name for pair in ends for name in pair)
    return [Node(name) for name in names], [*ends, *(pair[::-1] for pair in ends)]


def heights(places: dict[str, tuple[float, float]], kind: str) -> set[float]:
    return {round(y, 6) for name, (_, y) in places.items() if name.startswith(kind)}


def test_a_leaf_spine_lies_in_three_rows_with_hosts_below_their_leaf() -> None:
    links = [(f"leaf{leaf}", f"spine{spine}") for leaf in range(3) for spine in range(2)]
    links += [(f"leaf{leaf}", f"host{leaf}-{port}") for leaf in range(3) for port in range(4)]
    places = positions(*bare(*links))
    rows = [heights(places, kind) for kind in ("host", "leaf", "spine")]
    assert all(len(row) == 1 for row in rows)
    assert max(rows[0]) < max(rows[1]) < max(rows[2])
    for leaf in range(3):
        own = [places[f"host{leaf}-{port}"][0] for port in range(4)]
        assert sum(own) / 4 == pytest.approx(places[f"leaf{leaf}"][0])


@pytest.mark.parametrize("k", [4, 8])
def test_a_fat_tree_without_its_coordinates_lies_in_four_rows(k: int) -> None:
    tree = fat_tree(k)
    ends = [(link.source, link.target) for link in tree.links]
    places = positions([Node(node.name) for node in tree.nodes], ends)
    by_height = sorted({round(y, 6) for _, y in places.values()})
    assert len(by_height) == 4
    kinds = [sum(round(y, 6) == height for _, y in places.values()) for height in by_height]
    assert kinds == [k**3 // 4, k * k // 2, k * k // 2, k * k // 4]


def test_a_dumbbell_lies_from_left_to_right() -> None:
    places = positions(*bare(("s1", "l"), ("s2", "l"), ("l", "r"), ("r", "d1"), ("r", "d2")))
    across = {name: x for name, (x, _) in places.items()}
    assert across["s1"] == across["s2"] < across["l"] < across["r"] < across["d1"] == across["d2"]
    assert places["l"][1] == places["r"][1]


def test_two_nodes_and_a_line_lie_in_a_row() -> None:
    for names in ("ab", "abcd"):
        places = positions(*bare(*pairwise(names)))
        assert sorted(places, key=lambda name: places[name][0]) == list(names)
        assert len({y for _, y in places.values()}) == 1


def test_a_ring_has_no_tiers() -> None:
    names, links = ["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    assert structured(names, links) is None
    assert structured(["a", "b"], []) is None
