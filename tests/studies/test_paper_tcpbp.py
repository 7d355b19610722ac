"""The study of TCPBP: its arithmetic by hand and by enumeration, and that a copy of a path is the path."""

from itertools import combinations, pairwise, product
from math import prod, sqrt

import networkx
import polars as pl
import pytest

from anabranch.engineering.routes import Search
from anabranch.network.topologies import Link, Node, Topology
from anabranch.runs import execute
from anabranch.scenario import Scenario
from anabranch.studies.papers.tcpbp import asymmetry, copies, networks, running_times, throughput, together
from anabranch.studies.papers.tcpbp.networks import DELAY, EXACT, HOPS, TCPBP

SHORT = '[run]\nduration = "4s"\nwarm_up = "1s"\n'


def rates(by_path: dict[tuple[str, ...], list[float]]) -> throughput.Rates:
    """One number of flows, 10; a value for each seed."""
    seeds = range(len(next(iter(by_path.values()))))
    return throughput.Rates(
        {(path, 10, seed): (values[seed], 1.0) for path, values in by_path.items() for seed in seeds}, seeds
    )


def test_the_law_of_the_paths_from_1_to_10() -> None:
    """By hand from the printed matrices: 1 / (2 x 0.0133 s x sqrt(1 - ((1 - 0.003) (1 - 0.0002) (1 - 0.0037))^2)) = 320.86."""
    law = networks.law(networks.ten_nodes("0.0040"))
    assert law(("1", "3", "4", "10")) == pytest.approx(320.86, abs=0.01)
    assert law(("1", "5", "10")) == pytest.approx(266.74, abs=0.01)
    assert law(("1", "5", "4", "10")) == pytest.approx(318.00, abs=0.01)


@pytest.mark.parametrize("reading", ["0.0040", "0.0044"])
def test_table_2_counts_the_routes_of_least_cost(reading: str) -> None:
    """By enumeration of all paths: of 45 routes 26 are those of fewest links, then least delay, and 39 those of least delay."""
    topology = networks.ten_nodes(reading)
    links = {(link.source, link.target): link for link in topology.links}
    graph = networkx.Graph(list(links))
    same = {HOPS: 0, DELAY: 0}
    for pair in networks.pairs(topology):
        paths = [tuple(path) for path in networkx.all_simple_paths(graph, *pair)]
        hops = {path: [links[hop] for hop in pairwise(path)] for path in paths}
        delay = {path: sum(link.delay_s for link in own) for path, own in hops.items()}
        cost = {path: delay[path] * sqrt(1 - prod(1 - link.loss for link in own)) for path, own in hops.items()}
        best = min(paths, key=cost.__getitem__)
        same[HOPS] += best == min(paths, key=lambda path: (len(path), delay[path]))
        same[DELAY] += best == min(paths, key=delay.__getitem__)
    assert same == {HOPS: 26, DELAY: 39}
    chosen = throughput.Testbed(reading).chosen
    ours = {
        metric: sum(chosen[EXACT][pair] == chosen[metric][pair] for pair in networks.pairs(topology)) for metric in same
    }
    assert ours == same


def test_noise_is_within_5_percent_and_the_same_both_ways() -> None:
    true = {(link.source, link.target): link for link in networks.ten_nodes("0.0040").links}
    seen = {(link.source, link.target): link for link in networks.noisy(networks.ten_nodes("0.0040"), 7).links}
    factors = [seen[hop].loss / true[hop].loss for hop in true]
    assert all(0.95 <= factor <= 1.05 for factor in factors)
    assert max(factors) - min(factors) > 0.05
    assert all(seen[one, other].delay_s == seen[other, one].delay_s for one, other in seen)


def test_an_asymmetric_network_has_the_values_of_the_symmetric_one_in_one_direction() -> None:
    symmetric, asymmetric = (
        {
            (link.source, link.target): link
            for link in networks.drawn(networks.ten_nodes("0.0040"), 3, symmetric=kind).links
        }
        for kind in (True, False)
    )
    for one, other in networks.cables(networks.ten_nodes("0.0040")):
        assert symmetric[one, other] == asymmetric[one, other]
        assert symmetric[one, other].delay_s == symmetric[other, one].delay_s
        assert asymmetric[one, other].delay_s != asymmetric[other, one].delay_s


def test_gains_by_hand() -> None:
    """Two pairs: one differs, with ratios 2 and 3 over the seeds; the other has the same route of 10."""
    ours, theirs, both = ("a", "x", "b"), ("a", "b"), ("a", "c")
    chosen = {"new": {("a", "b"): ours, ("a", "c"): both}, "old": {("a", "b"): theirs, ("a", "c"): both}}
    found = throughput.gain(
        rates({ours: [4.0, 6.0], theirs: [2.0, 2.0], both: [10.0, 10.0]}),
        chosen,
        "new",
        "old",
        10,
        [("a", "b"), ("a", "c")],
    )
    assert found.differing == 1
    assert found.on_differing[0] == pytest.approx(2.5)
    assert found.on_all[0] == pytest.approx((1.5 + 2) / 2)
    assert found.of_sums[0] == pytest.approx((14 / 12 + 16 / 12) / 2)


def test_the_range_over_tie_breaks_is_that_of_an_enumeration() -> None:
    options = [[None, 1.4], [0.9, 2.0, None], [3.0], [None, 1.1], [0.7, 5.0]]
    for differing in range(1, 6):
        means = [
            sum(ratio for ratio in choice if ratio is not None) / differing
            for choice in product(*options)
            if sum(ratio is not None for ratio in choice) == differing
        ]
        expected = pytest.approx((min(means), max(means))) if means else None
        assert throughput._range(options, differing) == expected


def test_hop_count_ties_agree_with_the_paper() -> None:
    """18 pairs have ties; without runs, the law's ratios show what hangs on the pair 3, 5."""
    bed = throughput.Testbed("0.0040")
    law = networks.law(bed.topology)
    found = throughput.tie_breaks(bed, rates({path: [law(path)] for path in bed.paths}), 10)
    assert (found.tied, found.same) == (18, (19, 30))
    assert found.with_count is not None
    assert found.without_outlier is not None
    assert found.without_outlier[0] <= 1.82 <= found.without_outlier[1]
    assert found.without_outlier[1] < 3 < found.with_count[1]


def test_every_copy_is_its_path() -> None:
    """In the joined topology a path's ends are joined by it alone, with its delay and loss, and apart from others."""
    bed = throughput.Testbed("0.0044")
    text = copies.text("Copies", bed.copies(), (10, 25), "1Gbps", (1460,)) + SHORT
    topology = Scenario.from_toml(text).cases[0].topology
    found = {(link.source, link.target): link for link in topology.links}
    true = {(link.source, link.target): link for link in bed.topology.links}
    best = Search(topology)
    for path in bed.paths:
        nodes = [f"{bed.label(path)}/{node}" for node in path]
        assert best.routes("hop-count", [nodes[0]], [nodes[-1]]).routes[0].paths[0].nodes == tuple(nodes)
        for hop, link in zip(pairwise(path), pairwise(nodes), strict=True):
            for way, own in ((hop, link), (hop[::-1], link[::-1])):
                assert found[own].delay_s == pytest.approx(true[way].delay_s)
                assert found[own].loss == true[way].loss


def test_a_way_back_of_its_own() -> None:
    """Data on the way there, ACKs on the other: a packet takes 2 + 3 ms and its ACK 7 + 11."""
    topology = Topology(
        "loop",
        tuple(Node(name) for name in "abcd"),
        tuple(
            Link(one, other, None, delay_s=delay, loss=0.0)
            for one, other, delay in (("a", "b", 2e-3), ("b", "c", 3e-3), ("c", "d", 7e-3), ("d", "a", 11e-3))
        ),
    )
    copy = copies.copy_of("loop", topology, ("a", "b", "c"), ("c", "d", "a"))
    result = execute(
        Scenario.from_toml(copies.text("Loop", [copy], (2,), "1Gbps", (1460,)) + SHORT), show_progress=False
    )
    assert result.flows["min_rtt_s"].to_list() == pytest.approx([23e-3] * 2, rel=0.01)
    assert copies.measured(result).select("copy", "flows").rows() == [("loop", 2)]


def test_copies_measure_what_the_testbed_gives() -> None:
    """From 1 to 10 in the testbed itself, and in a copy: other random numbers, the same goodput."""
    bed = throughput.Testbed("0.0040")
    path = ("1", "3", "4", "10")
    run = '[run]\nduration = "30s"\nwarm_up = "5s"\nseeds = 4\n'
    copy = copies.text("Copy", [copies.copy_of("copy", bed.topology, path)], (10,), "1Gbps", (1460,))
    itself = f'''
topology = {{ from = "tcpbp10", queue = {{ discipline = "drop-tail", limit = "{copies.QUEUE}" }} }}
traffic = [{{ from = "1", to = "10", flows = 10, bulk = true, stack = "linux", routing = "tcpbp" }}]
routing.tcpbp.metric = "tcpbp"
{copies.STACK}
'''
    rates = [
        execute(Scenario.from_toml(text + run), show_progress=False).flows["goodput_bps"].mean()
        for text in (copy, itself)
    ]
    assert rates[0] == pytest.approx(rates[1], rel=0.06)


def test_three_metrics_at_once_have_their_own_paths(tmp_path) -> None:
    bed = throughput.Testbed("0.0040")
    scenario = Scenario.from_toml(together._text(bed) + SHORT)
    assert {len({bed.chosen[metric][pair] for metric in (TCPBP, HOPS, DELAY)}) for pair in together.pairs(bed)} <= {
        2,
        3,
    }
    paths = scenario.cases[0].variant.routing["delay"].paths
    assert ["1-10/1", "1-10/5", "1-10/4", "1-10/10"] in paths
    assert ["1-10/10", "1-10/4", "1-10/5", "1-10/1"] in paths


@pytest.mark.parametrize("nodes", [10, 60])
def test_array_searches_cost_what_the_core_finds(nodes: int) -> None:
    topology = running_times.random_network(nodes, 5)
    assert len(topology.links) == 2 * round(2.1 * nodes)
    arrays, search, counts = running_times.Arrays(topology), Search(topology), running_times.Counts()
    for metric, method in (("delay", arrays.standard), ("tcpbp", arrays.modified)):
        for route in search.routes(metric, ["0", "3"]).routes:
            cost = method(int(route.source), counts)[int(route.target)]
            assert cost == pytest.approx(route.paths[0].cost, rel=1e-9)


def test_the_best_round_trip_need_not_be_the_best_paths() -> None:
    """The study's comparison of all round trips, again with plain loops for one network."""
    topology = asymmetry.network(asymmetry.TEN, False, 2)
    best = networks.chosen(topology, ("tcpbp-exact",))["tcpbp-exact"]
    links = {(link.source, link.target): link for link in topology.links}

    def simple(path: list[str], target: str):
        if path[-1] == target:
            yield path
            return
        for one, other in links:
            if one == path[-1] and other not in path:
                yield from simple([*path, other], target)

    def quality(path) -> tuple[float, float]:
        delay, passing = 0.0, 1.0
        for hop in pairwise(path):
            delay, passing = delay + links[hop].delay_s, passing * (1 - links[hop].loss)
        return delay, passing

    def cost(there, back) -> float:
        (delay, passing), (delay_back, passing_back) = quality(there), quality(back)
        return (delay + delay_back) * sqrt(1 - passing * passing_back)

    for pair in (("1", "10"), ("2", "7")):
        least = min(cost(there, back) for there in simple([pair[0]], pair[1]) for back in simple([pair[1]], pair[0]))
        expected = cost(best[pair], best[pair[::-1]]) / least
        assert asymmetry._over_best_trip(topology, pair, best) == pytest.approx(expected, rel=1e-9)


def test_pairs_are_taken_once() -> None:
    assert networks.pairs(networks.ten_nodes("0.0040")) == list(combinations([str(node) for node in range(1, 11)], 2))
    assert len(networks.cables(networks.ten_nodes("0.0040"))) == 21


def test_measured_groups_flows_of_a_copy() -> None:
    """Jain's index of 1, 1 and 4 is 36 / (3 x 18) = 2/3."""

    class Fake:
        keys: tuple[str, ...] = ()
        manifest = {"runs": [{"run": 0, "variant": {}}]}  # noqa: RUF012
        flows = pl.DataFrame(
            {"run": [0] * 3, "seed": [1] * 3, "src": ["p/1"] * 3, "goodput_bps": [1.0, 1.0, 4.0]},
            schema_overrides={"run": pl.UInt32},
        )

    (row,) = copies.measured(Fake()).to_dicts()  # type: ignore[arg-type]
    assert row["bps"] == pytest.approx(2.0)
    assert row["jain"] == pytest.approx(2 / 3)
