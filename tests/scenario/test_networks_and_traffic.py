"""Patterns, matrices, traces and loads of traffic: the pairs and rates that they give, their errors, and the engines that take them."""

import re
from collections import Counter
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import Scenario, ScenarioError, flow_trace
from anabranch.compile.run import compile_run
from anabranch.scenario.arrivals import mean_size
from anabranch.scenario.traffic import Short

LEAF_SPINE = {"generate": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 4, "rate": "1Gbps"}}
HOSTS = [f"l{leaf}h{host}" for leaf in (1, 2) for host in (1, 2, 3, 4)]


def scenario(traffic: dict[str, Any], directory: Path | None = None, **more: Any) -> Scenario:
    document = {"topology": LEAF_SPINE, "traffic": [traffic], "run": {"duration": "100ms"}, **more}
    return Scenario(document, directory=directory)


def compiled(
    traffic: dict[str, Any], seed: int = 1, directory: Path | None = None, **more: Any
) -> list[dict[str, Any]]:
    """The traffic groups of the compiled run, with names instead of indexes."""
    spec = compile_run(scenario(traffic, directory, **more).cases[0], seed)
    names = spec["nodes"]
    return [group | {"pairs": [(names[a], names[b]) for a, b in group["pairs"]]} for group in spec["traffic"]]


def pairs(traffic: dict[str, Any], seed: int = 1) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = compiled({"from": "hosts", "to": "hosts"} | traffic, seed)[0]["pairs"]
    return found


def test_all_to_all_is_all_pairs() -> None:
    assert pairs({"pattern": "all-to-all"}) == pairs({}) == [(a, b) for a in HOSTS for b in HOSTS if a != b]


def test_a_permutation_is_a_derangement_and_every_one_is_as_likely() -> None:
    """Four nodes have nine derangements."""
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    for seed in range(900):
        drawn = pairs({"from": HOSTS[:4], "to": HOSTS[:4], "pattern": "permutation"}, seed)
        assert [source for source, _ in drawn] == HOSTS[:4]
        assert sorted(target for _, target in drawn) == HOSTS[:4]
        assert all(source != target for source, target in drawn)
        found[tuple(drawn)] += 1
    assert len(found) == 9
    assert all(60 < number < 140 for number in found.values()), found  # 100 with a deviation of 9.4


@pytest.mark.parametrize("pattern", ["incast", "outcast"])
def test_incast_and_outcast_have_one_end_and_different_others(pattern: str) -> None:
    middles, others = set(), set()
    for seed in range(60):
        drawn = pairs({"pattern": pattern, "count": 3}, seed)
        turned = [pair[::-1] for pair in drawn] if pattern == "incast" else drawn
        assert len({middle for middle, _ in turned}) == 1
        assert len({other for _, other in turned}) == len(turned) == 3
        assert turned[0][0] not in {other for _, other in turned}
        middles.add(turned[0][0])
        others.update(other for _, other in turned)
    assert middles == others == set(HOSTS)
    everyone = {"pattern": pattern, ("to" if pattern == "incast" else "from"): "l1h1"}
    assert len(set(pairs(everyone))) == 7


def test_every_starts_all_flows_again_with_new_draws() -> None:
    group = compiled(
        {"from": "hosts", "to": "hosts", "pattern": "incast", "count": 3, "size": "30kB"}
        | {"every": "30ms", "start": "5ms", "stagger": "1us"}
    )[0]
    flows = [(group["pairs"][pair], start, size) for pair, start, size in group["application"]["flows"]]
    epochs = [[flow for flow in flows if flow[1] // 30_000_000_000 == epoch] for epoch in range(4)]
    assert [len(epoch) for epoch in epochs] == [3, 3, 3, 3]  # at 5, 35, 65 and 95 of 100 ms
    assert all([start for _, start, _ in flows[:3]] == [0, 1_000_000, 2_000_000] for _ in epochs)
    assert all(len({pair[1] for pair, _, _ in epoch}) == 1 for epoch in epochs)
    assert len({frozenset(pair for pair, _, _ in epoch) for epoch in epochs}) > 1
    assert {size for _, _, size in flows} == {30_000}
    once = compiled({"from": "hosts", "to": "hosts", "pattern": "incast", "count": 3, "size": "30kB"})[0]
    assert [pair for pair, _, _ in epochs[0]] == once["pairs"]


MATRIX = "source,target,rate\nl1h1,l2h1,3Mbps\nl1h2,l2h2,1Mbps\nl2h1,l1h1,500kbps\n"


def test_a_matrix_gives_each_pair_its_rate(tmp_path: Path) -> None:
    (tmp_path / "demands.csv").write_text(MATRIX)
    rates = {("l1h1", "l2h1"): 3e6, ("l1h2", "l2h2"): 1e6, ("l2h1", "l1h1"): 5e5}
    table: dict[str, dict[str, str]] = {
        "l1h1": {"l2h1": "3Mbps"},
        "l1h2": {"l2h2": "1Mbps"},
        "l2h1": {"l1h1": "500kbps"},
    }
    for matrix in ("demands.csv", table):
        groups = compiled({"name": "demand", "matrix": matrix, "scale": 2.0, "flows": 4}, directory=tmp_path)
        assert {group["pairs"][0]: group["application"]["rate"] * 4 / 2 for group in groups} == rates
        assert {(group["name"], group["flows_per_pair"], group["application"]["kind"]) for group in groups} == {
            ("demand", 4, "poisson")
        }
    sizes = [[0, 0], [2000, 1]]
    groups = compiled({"matrix": "demands.csv", "short": {"sizes": sizes}}, directory=tmp_path)
    bits = 8 * 1000.5  # a flow on average: sizes are rounded up to bytes
    assert {group["pairs"][0]: group["application"]["arrivals"] * bits for group in groups} == pytest.approx(rates)
    some = compiled({"matrix": "demands.csv", "from": "l1*"}, directory=tmp_path)
    assert [group["pairs"] for group in some] == [[("l1h1", "l2h1")], [("l1h2", "l2h2")]]


def test_the_demands_of_a_topology_are_those_of_anabranch_robust() -> None:
    from anabranch.engineering import robust
    from anabranch.engineering.robust.files import pair_rates
    from anabranch.network.topologies import load

    topology = load("sndlib/abilene")
    expected = pair_rates("demands", robust.Network.of(topology, 1e9))
    case = Scenario({"topology": {"from": "sndlib/abilene"}, "traffic": [{"matrix": "demands", "scale": 0.001}]}).cases[
        0
    ]
    groups = compile_run(case, 1)["traffic"]
    assert len(groups) == (expected > 0).sum() > 100
    for group in groups:
        assert group["application"]["rate"] == round(0.001 * expected[tuple(group["pairs"][0])])


@pytest.mark.filterwarnings("error")
def test_gravity_is_the_product_of_weights_and_has_its_total(tmp_path: Path) -> None:
    (tmp_path / "populations.csv").write_text("node,population\nl1h1,4\nl1h2,2\nl2h1,1\n")
    for weights in ("populations.csv", {"l1h1": 4, "l1h2": 2, "l2h1": 1}):
        gravity = {"total": "28Mbps", "weights": weights}
        rates = {g["pairs"][0]: g["application"]["rate"] for g in compiled({"gravity": gravity}, directory=tmp_path)}
        # 8, 4 and 2 either way, of 28
        assert rates == {
            ends: unit * 10**6
            for (a, b), unit in {("l1h1", "l1h2"): 8, ("l1h1", "l2h1"): 4, ("l1h2", "l2h1"): 2}.items()
            for ends in ((a, b), (b, a))
        }
    for weight in (1e-300, 1e-5, 1e300):
        equal = {"l1h1": weight, "l1h2": weight, "l2h1": weight}
        groups = compiled({"gravity": {"total": "6Mbps", "weights": equal}})
        assert [group["application"]["rate"] for group in groups] == [10**6] * 6
    even = compiled({"gravity": {"total": "56Mbps"}, "from": "hosts", "to": "hosts"})
    assert {group["application"]["rate"] for group in even} == {10**6}
    assert len(even) == 56


TRACE = "src,dst,start,size\nl1h1,l2h1,0,30kB\nl1h2,l2h2,1.5ms,1000\nl1h1,l2h1,0.002,7\n"


def test_a_trace_is_the_flows_of_the_result(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(TRACE)
    flows = [("l1h1", "l2h1", 0, "30kB"), ("l1h2", "l2h2", "1.5ms", 1000), ("l1h1", "l2h1", 0.002, 7)]
    for trace in ("flows.csv", TRACE, flow_trace(flows)):
        result = scenario({"trace": trace, "start": "1ms"}, tmp_path).run()
        rows = result.flows.select("src", "dst", "start_s", "size_bytes").rows()
        assert rows == [("l1h1", "l2h1", 0.001, 30000), ("l1h2", "l2h2", 0.0025, 1000), ("l1h1", "l2h1", 0.003, 7)]
        assert result.flows["fct_s"].null_count() == 0
    # the flows that a run exports are a trace of the same flows
    exported = result.flows.write_csv()
    again = scenario({"trace": exported}).run()
    assert again.flows.select("src", "dst", "start_s", "size_bytes", "fct_s").equals(
        result.flows.select("src", "dst", "start_s", "size_bytes", "fct_s")
    )


def test_a_large_trace_compiles_and_keeps_its_order() -> None:
    flows = [(HOSTS[i % 8], HOSTS[(i + 1 + i // 8 % 7) % 8], i * 1e-6, 1 + i % 5000) for i in range(100_000)]
    group = compiled({"trace": flow_trace(flows)})[0]
    again = [(*group["pairs"][pair], start / 1e12, size) for pair, start, size in group["application"]["flows"]]
    assert again == [(src, dst, pytest.approx(start), size) for src, dst, start, size in flows]


@pytest.mark.parametrize("every", [{}, {"every": "10h"}])
def test_flows_far_behind_the_end_do_not_come_around(every: dict[str, str]) -> None:
    """The last of 515 flows would start after 214 days, which 64 bits of picoseconds do not hold."""
    traffic = {"from": "l1h1", "to": "l2h1", "size": "1kB", "flows": 515, "stagger": "10h", **every}
    flows = scenario(traffic, run={"duration": "9h"}).run().flows
    assert flows["start_s"].to_list() == [0.0]


@pytest.mark.parametrize("share", [0.3, "60%"])
def test_a_load_is_the_utilisation_of_the_hosts_links(share: float | str) -> None:
    traffic = {"from": "hosts", "to": "hosts", "short": {"load": share, "sizes": [[0, 0], [100_000, 1]]}}
    links = scenario(traffic, run={"duration": "400ms", "warm_up": "100ms"}).run().links
    used = links.filter(pl.col("dst").str.contains("h") | pl.col("src").str.contains("h"))["utilisation"].mean()
    expected = 0.3 if share == 0.3 else 0.6
    # ACKs add 40 bytes for two segments at most; arrivals of some 10,000 flows vary by about one per cent
    assert used == pytest.approx(expected, rel=0.06)


def test_a_load_is_of_a_link_or_of_the_slower_ends() -> None:
    # 1460.5 bytes in one segment or two, a header of 40 bytes with each, SYN, the ACK of its answer and FIN, and the SYN's options
    sizes, bits = [[0, 0], [2920, 1]], 8 * (1460.5 + 4.5 * 40 + 12)
    link = compiled({"from": "l1h1", "to": "l2h1", "short": {"load": 0.5, "link": ["l1", "s1"], "sizes": sizes}})[0]
    assert link["application"]["arrivals"] == pytest.approx(0.5 * 2e9 / bits)
    to_one = compiled({"from": "hosts", "to": "l2h1", "short": {"load": 0.5, "sizes": sizes}})[0]
    assert to_one["application"]["arrivals"] == pytest.approx(0.5 * 1e9 / bits)


def test_flows_of_less_than_a_segment_load_a_link_with_all_their_headers() -> None:
    traffic = {"from": "l1h1", "to": "l2h1", "short": {"load": 0.6, "sizes": [[0, 0], [100, 1]]}}
    links = scenario(traffic, run={"duration": "50ms"}).run().links
    used = links.filter(pl.col("src") == "l1h1")["utilisation"].item()
    assert used == pytest.approx(0.6, rel=0.03)  # some 20,000 flows


@pytest.mark.parametrize("pattern", ["incast", "outcast"])
def test_incasts_and_outcasts_come_at_random_as_often_as_loads_the_links(pattern: str) -> None:
    """The flows of one have one start and one end in the middle. Their number is that of a Poisson process, and their bytes are the load."""
    traffic = {
        "from": "hosts",
        "to": "hosts",
        "pattern": pattern,
        "count": 5,
        "short": {"load": 0.1, "sizes": [[100_000, 1]]},
    }
    group = compiled({**traffic, "start": "10ms"}, run={"duration": "4010ms"})[0]
    middle = 1 if pattern == "incast" else 0
    events: dict[int, list[tuple[str, str]]] = {}
    for pair, start, size in group["application"]["flows"]:
        events.setdefault(start, []).append(group["pairs"][pair])
        assert size == 100_000
    for event in events.values():
        assert len(event) == len({pair[1 - middle] for pair in event}) == 5
        assert len({pair[middle] for pair in event}) == 1
    assert {event[0][middle] for event in events.values()} == set(HOSTS)
    # 69 segments with headers, SYN, the ACK of its answer and FIN; eight links of 1 Gbit/s
    expected = 4 * 0.1 * 8e9 / (5 * 8 * (100_000 + 72 * 40 + 12))
    assert len(events) == pytest.approx(expected, abs=3 * expected**0.5)
    intervals = [(after - before) / 4e12 * expected for before, after in pairwise(sorted(events))]
    assert sum(interval > 1 for interval in intervals) / len(intervals) == pytest.approx(
        exp(-1), abs=0.06
    )  # exponential, of mean 1
    links = scenario(traffic, run={"duration": "400ms", "warm_up": "50ms"}).run().links
    used = links.filter(pl.col("src").str.contains("h"))["utilisation"].mean()
    assert used == pytest.approx(0.1, rel=0.35)  # of 87 events; ACKs are a fiftieth


def test_an_incast_of_all_others_loads_the_links_of_its_receiver() -> None:
    short = {"load": 0.2, "sizes": [[1460, 1]]}
    group = compiled({"from": "hosts", "to": "l1h1", "pattern": "incast", "short": short}, run={"duration": "2s"})[0]
    starts = Counter(start for _, start, _ in group["application"]["flows"])
    assert set(starts.values()) == {7}
    expected = 2 * 0.2 * 1e9 / (7 * 8 * (1460 + 4 * 40 + 12))
    assert len(starts) == pytest.approx(expected, abs=3 * expected**0.5)
    by_number = {
        "from": "hosts",
        "to": "l1h1",
        "pattern": "incast",
        "short": short | {"load": None, "arrivals": "700/s"},
    }
    starts = Counter(start for _, start, _ in compiled(by_number, run={"duration": "2s"})[0]["application"]["flows"])
    assert len(starts) == pytest.approx(200, abs=45)
    never = by_number | {"short": {"arrivals": "0.001/s", "sizes": [[1460, 1]]}}
    assert scenario(never).run().flows.height == 0


def test_a_first_step_of_a_distribution_is_the_share_of_flows_of_this_very_size(tmp_path: Path) -> None:
    (tmp_path / "atom.csv").write_text("1000,0.4\n1000000,1\n")
    traffic = {"from": "hosts", "to": "hosts", "short": {"arrivals": "20000/s", "sizes": "atom.csv"}}
    (tmp_path / "twice.csv").write_text("500,0\n500,0.25\n9000,0.25\n9000,1\n")
    for pattern in ({}, {"pattern": "incast", "count": 4}):
        sizes = scenario(traffic | pattern, tmp_path, run={"duration": "100ms"}).run().flows["size_bytes"]
        assert (sizes == 1000).mean() == pytest.approx(0.4, abs=0.035)
        assert sizes.filter(sizes > 1000).mean() == pytest.approx(500_500, rel=0.05)
        twice = traffic | pattern | {"short": {"arrivals": "20000/s", "sizes": "twice.csv"}}
        sizes = scenario(twice, tmp_path, run={"duration": "100ms"}).run().flows["size_bytes"]
        assert set(sizes) == {500, 9000}
        assert (sizes == 500).mean() == pytest.approx(0.25, abs=0.035)


@pytest.mark.parametrize(
    ("points", "unit", "mean"),
    [
        ([[100_000, 1]], 1, 100_000),
        ([[100_000, 1]], 1460, 69),
        ([[1000, 0.4], [1_000_000, 1]], 1, 0.4 * 1000 + 0.6 * 500_500.5),
        ([[10, 0.25], [20, 0.25], [20, 0.75], [25, 1]], 10, 0.25 * 1 + 0.5 * 2 + 0.25 * 3),
    ],
)
def test_the_mean_counts_sizes_that_many_flows_have(points: list[list[float]], unit: int, mean: float) -> None:
    assert mean_size(Short(arrivals="1/s", sizes=points), unit) == pytest.approx(mean)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 12))
def test_the_mean_number_of_segments_is_that_of_all_sizes(steps: list[tuple[int, int]], segment: int) -> None:
    points, sizes, weights = [[0.0, 0.0]], [], []
    total = sum(weight for _, weight in steps)
    for length, weight in steps:
        low = int(points[-1][0])
        points.append([low + length, points[-1][1] + weight / total])
        sizes += range(low + 1, low + length + 1)  # each whole size stands for those that round up to it
        weights += [weight / total / length] * length
    points[-1][1] = 1.0
    expected = sum(weight * -(-size // segment) for size, weight in zip(sizes, weights, strict=True))
    assert mean_size(Short(arrivals="1/s", sizes=points), segment) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ({"pattern": "incast", "count": 9, "to": "l1h1", "from": "hosts"}, "there are 7 beside l1h1; give at most 7"),
        ({"pattern": "permutation", "from": "l1h*", "to": "hosts"}, 'as many "from" as "to"; here 4 and 8'),
        ({"pattern": "permutation", "from": ["l1h1", "l1h1"], "to": ["l1h2", "l1h3"]}, '"from" names l1h1 twice'),
        ({"pattern": "permutation", "from": "l1h1", "to": "l1h1"}, "no pair is left"),
        ({"count": 3}, 'count is for pattern = "random-pairs", "incast" or "outcast"'),
        ({"every": "1ms"}, "every repeats transfers that end; give size"),
        ({"every": "1ns", "size": "1kB"}, "at most 4000000 are possible"),
        ({"short": {}}, 'short needs arrivals = "100/s", or load = 0.6'),
        ({"short": {"load": 60}}, 'must be a share above 0 and at most 1, such as 0.6 or "60%"'),
        ({"short": {"load": 0.6, "arrivals": "1/s"}}, "leave one out"),
        (
            {"short": {"load": 0.6, "sizes": [[0, 0.5], [9, 1]]}},
            "no flow has 0 bytes; [0, 0.5] must have at least 1 byte",
        ),
        ({"short": {"load": 0.6, "sizes": []}}, "sizes needs at least one point"),
        ({"short": {"load": 0.6, "sizes": [[9, 1.5]]}}, "[9, 1.5] does not"),
        ({"short": {"load": 0.6, "link": ["l1", "l2"]}}, "no such link; l1 has links to"),
        ({"matrix": "none.csv"}, "none.csv: cannot be read"),
        ({"matrix": {"l1h1": {"l9h1": "1Mbps"}}}, 'l1h1.l9h1: the topology has no node "l9h1"; did you mean'),
        ({"matrix": {"l1h1": {"l1h2": "fast"}}}, "l1h1.l1h2: must be a rate"),
        ({"matrix": "demands"}, "has no demands of its own"),
        ({"matrix": {"l1h1": {"l1h2": "1Mbps"}}, "from": "l1h9"}, 'traffic[0].from = "l1h9": no such node'),
        ({"matrix": {"l1h1": {"l1h2": "1Mbps"}}, "poisson": "1Mbps"}, "leave out poisson"),
        ({"matrix": {"l1h1": {"l1h2": "1Mbps"}}, "pattern": "incast"}, "leave out pattern"),
        ({"matrix": {"l1h1": {"l1h2": "1Mbps"}}, "from": "l2h*"}, "no demand is left"),
        ({"matrix": {"l1h1": {"l1h2": "1Mbps"}}, "scale": 1e308}, "l1h1 sends inf bit/s, at most 9.22337e+18"),
        ({"matrix": {"l1h1": {"l1h2": "1Mbps"}}, "scale": 1e14}, "l1h1 sends 1e+20 bit/s, at most 9.22337e+18"),
        ({"scale": 2.0}, "scale multiplies the rates of matrix or gravity"),
        ({"gravity": {"total": "1Mbps", "weights": {"l1h1": -1}}}, 'weight "-1" must be a number of at least 0'),
        ({"gravity": {"total": "1Mbps", "weights": {"l1h1": 10**400}}}, 'weight "1000'),
        ({"gravity": {"total": "1Mbps", "weights": {"l1h1": 1}}}, "no demand is left"),
        ({"trace": "none.csv"}, "none.csv: cannot be read"),
        ({"trace": TRACE, "from": "hosts"}, "leave out from"),
        ({"trace": TRACE, "size": "1kB"}, "leave out size"),
        ({"trace": "src,dst\na,b\n"}, "lacks or repeats start, size"),
        ({"trace": "src,dst,start,size\n"}, "has no flows below its header"),
        ({"trace": "src,dst,start,size\nl1h1,l9h9,0,1\n"}, 'line 2: no such node "l9h9"'),
        ({"trace": "src,dst,start,size\nl1h1,l1h2,soon,1\n"}, 'line 2: start "soon" must be seconds or a duration'),
        ({"trace": "src,dst,start,size\nl1h1,l1h2,0,0\n"}, 'line 2: size "0" must be bytes, at least 1'),
        ({"trace": "src,dst,start,size\nl1h1,l1h1,0,1\n"}, "line 2: l1h1 cannot send to itself"),
        ({"trace": "src,dst,start,size\nl1h1,l1h1 ,0,1\n"}, "line 2: l1h1 cannot send to itself"),
        (
            {"trace": "run,src,dst,start_s,size_bytes\n0,l1h1,l1h2,0,9\n0,l1h1,l1h2,0,9\n1,l1h1,l1h2,0,9\n"},
            'line 4: run "1" differs from the run of the lines above; keep the flows of one run',
        ),
        ({"trace": f"src,dst,start,size\nl1h1,l1h2,0,{'9' * 5000}\n"}, f'line 2: size "{"9" * 60}" must be bytes'),
        ({"trace": TRACE, "transport": "udp"}, "trace needs TCP"),
    ],
)
def test_what_cannot_be_meant_is_refused(traffic: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        scenario(traffic)


@pytest.mark.parametrize(
    "traffic",
    [
        {"matrix": {"l1h1": {"l2h1": "3Mbps"}, "l1h2": {"l2h1": "1Mbps"}}},
        {"matrix": {"l1h1": {"l2h1": "3Mbps"}}, "transport": "udp"},
        {"gravity": {"total": "50Mbps"}, "from": "hosts", "to": "hosts", "short": {"sizes": [[0, 0], [20_000, 1]]}},
        {"from": "hosts", "to": "hosts", "short": {"load": 0.01, "sizes": [[0, 0], [20_000, 1]]}},
        {"from": "hosts", "to": "l1h1", "pattern": "incast", "size": "30kB", "every": "20ms", "stagger": "2ms"},
        {"trace": TRACE},
    ],
)
def test_the_engine_that_predicts_takes_them(traffic: dict[str, Any]) -> None:
    flows = {"packet": 0, "predict": 0}
    for engine in flows:
        flows[engine] = scenario(traffic).run(engine).flows.height
    assert flows["packet"] == flows["predict"] > 0


def test_the_examples_of_the_guide_run() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/networks-and-traffic.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.S)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["result"].flows.height == 50
    assert names["result"].flows["fct_s"].null_count() == 0


@pytest.mark.parametrize("name", ["data-center", "backbone-matrix"])
def test_the_scenarios_of_the_guide_are_valid(name: str) -> None:
    scenario = Scenario.load(Path(__file__).parents[2] / f"scenarios/{name}.toml")
    assert scenario.cases
    assert not scenario.warnings.problems
