"""Links by columns are the links one by one."""

import pickle
from array import array
from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.network.topologies import Link, Node, Topology, TopologyError, generate
from anabranch.network.topologies.links import ATTRIBUTES, Links, column

NAMES = ("a", "b", "c")
numbers = st.none() | st.floats(1e-6, 0.9)
links = st.lists(
    st.builds(Link, st.sampled_from(NAMES), st.sampled_from(NAMES), st.none() | st.integers(1, 10**15), *[numbers] * 4),
    min_size=1,
    max_size=8,
).map(tuple)


@given(links, st.slices(8))
def test_links_by_columns_behave_as_a_tuple(rows: tuple[Link, ...], some: slice) -> None:
    columns = Links.of(NAMES, rows)
    assert columns == rows == columns
    assert rows == tuple(columns)
    assert (len(columns), columns[-1], columns[some]) == (len(rows), rows[-1], rows[some])
    assert (hash(columns), repr(columns)) == (hash(rows), repr(rows))
    assert pickle.loads(pickle.dumps(columns)) == rows
    assert [type(value) for link in columns for value in link] == [type(value) for link in rows for value in link]
    assert list(columns.ends()) == [link[:2] for link in rows]
    assert columns.without("loss") == next((link for link in rows if link.loss is None), None)
    for attribute in ATTRIBUTES:
        assert column(columns, attribute) == column(rows, attribute) == [getattr(link, attribute) for link in rows]
    assert columns != rows[:-1]
    with pytest.raises(IndexError):
        columns[len(rows)]


def test_a_column_is_none_where_no_link_has_a_value() -> None:
    columns = Links.of(NAMES, [Link("a", "b", delay_s=1e-3), Link("b", "a")])
    assert columns.values["delay_s"] is not None
    assert columns.values["delay_s"].tolist() == [1e-3, pytest.approx(nan, nan_ok=True)]
    assert columns.values["loss"] is None


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_fat_tree_has_the_cables_of_its_rule(k: int) -> None:
    """Al-Fares et al., section 3: core switch i of group j leads to aggregation switch j of each pod."""
    half = k // 2
    cables = set()
    for pod in range(1, k + 1):
        for switch in range(1, half + 1):
            for port in range(1, half + 1):
                cables.add((f"c{(switch - 1) * half + port}", f"p{pod}a{switch}"))
                cables.add((f"p{pod}a{switch}", f"p{pod}e{port}"))
                cables.add((f"p{pod}e{switch}", f"p{pod}e{switch}h{port}"))
    tree = generate.fat_tree(k, 10**9, 1e-6)
    assert set(tree.ends()) == cables | {(other, one) for one, other in cables}
    assert len(tree.links) == 2 * len(cables)
    assert {link[2:] for link in tree.links} == {(10**9, 1e-6, None, None, None)}
    assert replace(tree, links=tuple(tree.links)) == tree


@pytest.mark.parametrize(
    ("rate", "delay", "message"),
    [
        (0, 1e-6, "link c1 -> p1a1, capacity_bps = 0: must be at least 1 bit/s"),
        (1.5e9, 1e-6, "link c1 -> p1a1, capacity_bps = 1500000000.0: must be whole bit/s"),
        (10**9, 0.0, "link c1 -> p1a1, delay_s = 0.0: must be more than 0"),
    ],
)
def test_a_fat_tree_refuses_what_links_cannot_be(rate: int, delay: float, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        generate.fat_tree(4, rate, delay)


def test_links_to_no_node_are_no_columns() -> None:
    with pytest.raises(TopologyError, match="there is no node 'z'"):
        Topology("wrong", (Node("a"), Node("b")), (Link("a", "b"), Link("b", "z")))
    assert array("I").itemsize == 4
