"""Where nodes lie on maps, of reports and of topologies alike."""

import pytest

from anabranch.topologies.map_layout import positions
from anabranch.topologies.model import Node


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
