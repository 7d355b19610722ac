"""The tables of Linux routers, against the paths that they must follow."""

from fractions import Fraction

import pytest

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.openflow.plan import FIRST_SOURCE_PORT, SOURCE_PORTS
from anabranch.engines.openflow.table_routes import of_routes, of_spread, rules, table

NUMBERS = {"a": 1, "b": 2, "c": 3, "d": 4}
NAMES = {number: name for name, number in NUMBERS.items()}


def test_each_pair_and_metric_has_its_own_path() -> None:
    """Two metrics and two sources differ about the way to d: the table of the range of ports and of the source leads along each path."""
    chosen = {
        "delay": {("a", "d"): ("a", "b", "d"), ("b", "d"): ("b", "a", "c", "d")},
        "loss": {("a", "d"): ("a", "c", "d"), ("b", "d"): ("b", "d")},
    }
    found = {route[:3]: route.hops for route in of_routes(chosen, NUMBERS)}
    for place, paths in enumerate(chosen.values()):
        for (source, target), path in paths.items():
            walked = [source]
            while walked[-1] != target:
                ((hop, weight),) = found[walked[-1], table(place, NUMBERS[source]), NUMBERS[target]]
                assert weight == 1
                walked.append(NAMES[hop])
            assert tuple(walked) == path


def test_the_first_router_has_the_weights_of_a_spread() -> None:
    spread = {("a", "d"): [(3.0, ("a", "b", "d")), (1.0, ("a", "c", "d"))]}
    found = {route.node: route for route in of_spread(1, spread, NUMBERS)}
    weights = dict(found["a"].hops)
    assert Fraction(weights[2], weights[3]) == 3
    assert [found[node].hops for node in "bc"] == [((4, 1),), ((4, 1),)]
    assert {route.table for route in found.values()} == {table(1, 1)}
    equal = {("a", "d"): [(0.5, ("a", "b", "d")), (0.5, ("a", "c", "d"))]}
    assert next(of_spread(1, equal, NUMBERS)).hops == ((2, 1), (3, 1))


def test_paths_that_part_behind_the_first_router_are_refused() -> None:
    spread = {("a", "d"): [(1.0, ("a", "b", "d")), (1.0, ("a", "b", "c", "d"))]}
    with pytest.raises(NetworkError, match="from a to d part at b"):
        list(of_spread(0, spread, NUMBERS))


def test_the_ports_of_a_metric_choose_its_tables_for_data_and_acks() -> None:
    found = list(rules(2, names=2, others=0, sources=[1, 2]))
    first = FIRST_SOURCE_PORT + SOURCE_PORTS
    for field in ("sport", "dport"):
        assert (
            f"rule add pref 300 from 10.0.0.1 ipproto tcp {field} {first}-{first + SOURCE_PORTS - 1} lookup {table(1, 1)}"
            in found
        )
    assert found[0] == "rule add pref 100 to 10.0.0.2 lookup main"
    assert found[-1] == f"rule add pref 400 from 10.0.0.2 lookup {table(0, 2)}"
