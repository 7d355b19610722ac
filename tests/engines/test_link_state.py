"""Routings that measure their links, from the scenario to the report: measurements against captures, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch import Result, Scenario, _core
from anabranch.compile.run import compile_run
from anabranch.pages import report
from anabranch.pages.report.figures import figures
from anabranch.scenario import ScenarioError
from tests.browser import Browser, assert_drawn, open_report
from tests.pages.test_report import Page
from tests.results.test_capture import frames, needs_tshark

EVERY = 50
"""One in this number of packets is lost between A and B."""

LINE = f"""
capture = [["A", "B"], ["B", "C"]]

[topology]
links = [
    {{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }},
    {{ source = "B", target = "C", capacity = "1Gbps", delay = "1ms" }},
]

[routing]
measured = {{ metric = "tcpbp", link_state = {{ sample = "500ms", window = 3, recompute = "1s" }} }}

[[impairments]]
link = ["A", "B"]
one_way = true
loss = {{ model = "periodic", every = {EVERY} }}

[[traffic]]
from = "A"
to = "C"
poisson = "9.5Mbps"
transport = "udp"
packet = "1250 bytes"

[run]
duration = "5s"
"""

DIAMOND = """
title = "Two ways"

[topology]
links = [
    { source = "A", target = "B" }, { source = "B", target = "D" },
    { source = "A", target = "C" }, { source = "C", target = "D" },
]
capacity = "10Mbps"
delay = "2ms"

[routing.measured]
metric = "tcpbp-exact"
paths = { shortest = 1 }
link_state = { sample = "500ms", window = 2, recompute = "500ms", hysteresis = 0.1 }

[[impairments]]
link = "all"
loss = 0.001

[[traffic]]
name = "probes"
from = "all"
to = "all"
pattern = "neighbours"
poisson = "1Mbps"
transport = "udp"
packet = "125 bytes"

[[traffic]]
name = "flow"
from = "A"
to = "D"
bulk = true
stack = "cubic"

[[events]]
at = "2s"
impair = { link = ["B", "D"], loss = 0.2 }

[run]
duration = "6s"
"""

GILBERT_ELLIOTT = {
    "model": "gilbert-elliott", "good_to_bad": 0.02, "bad_to_good": 0.08, "loss_good": 0.01, "loss_bad": 0.3,
}  # fmt: skip


@pytest.fixture(scope="module")
def diamond(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return Scenario.from_toml(DIAMOND).run(directory=tmp_path_factory.mktemp("run") / "diamond")


@needs_tshark
def test_what_is_measured_is_what_captures_at_both_ends_of_the_link_show(tmp_path: Path) -> None:
    result = Scenario.from_toml(LINE).run(seed=1, directory=tmp_path / "run")
    entered, arrived = (
        [float(row["frame.time_epoch"]) for row in frames(tmp_path / "run" / "captures" / name, "frame.time_epoch")]
        for name in ("0-A-B.pcapng", "0-B-C.pcapng")
    )
    assert result.links.row(0, named=True)["queue_drops"] == 0
    survivors = [time for number, time in enumerate(entered, 1) if number % EVERY]
    # First in, first out: the k-th that survives is the k-th that arrives. The lost arrive with the next one behind them.
    delays = [(there, there - here) for here, there in zip(survivors, arrived, strict=False)]
    losses = [
        arrived[number - number // EVERY] for number in range(EVERY, len(entered), EVERY)
        if number - number // EVERY < len(arrived)
    ]  # fmt: skip
    means: list[float] = []
    ratios: list[float] = []
    ours = result.link_state.filter(link=0)
    assert ours["time_s"].to_list() == [0.5 * number for number in range(1, 11)]
    for number, row in enumerate(ours.to_dicts()):
        within = [delay for there, delay in delays if number * 0.5 <= there < (number + 1) * 0.5]
        lost = sum(number * 0.5 <= there < (number + 1) * 0.5 for there in losses)
        means.append(sum(within) / len(within))
        ratios.append(lost / (lost + len(within)))
        last = slice(max(0, number - 2), None)
        assert row["delay_s"] == pytest.approx(sum(means[last]) / len(means[last]), abs=2e-9), (
            "captures count nanoseconds"
        )
        # a packet that is lost at the end of a sample may stand in the next one here
        assert row["loss"] == pytest.approx(sum(ratios[last]) / len(ratios[last]), abs=1.01 / len(within))
    assert max(means) > 0.0065, "packets have waited"


def test_the_routes_leave_the_link_that_begins_to_lose_and_the_tables_say_when_and_why(diamond: Result) -> None:
    routes = diamond.routes
    there = routes.filter(src="A", dst="D")
    back = routes.filter(src="D", dst="A")
    assert there["path"][0] in ("A > B > D", "A > C > D")
    assert there["path"][-1] == "A > C > D"
    assert back["path"][-1] == "D > C > A"
    assert routes.filter(pl.col("time_s") == 0)["cost"].null_count() == 2, "nothing is known at the start"
    assert set(routes["src"]) == {"A", "D"}, "only pairs in use"
    change = there.filter(path="A > C > D").row(-1, named=True)
    assert change["cost"] == pytest.approx(change["delay_s"] * change["loss"] ** 0.5)
    state = diamond.link_state
    assert state.height == 8 * 12
    lossy = state.filter(link=2, time_s=6.0)["loss"].item()
    assert lossy == pytest.approx(0.2, abs=5 * (0.2 * 0.8 / 1000) ** 0.5)
    assert state["delay_s"].min() > 0.002  # type: ignore[operator]


def test_probes_go_over_their_own_link_whatever_the_routes(diamond: Result) -> None:
    probes = diamond.flows.filter(traffic="probes")
    assert probes.height == 8
    assert probes["routing"].unique().to_list() == ["direct"]
    link = diamond.links.filter(src="B", dst="A").row(0, named=True)
    probe = probes.filter(src="B", dst="A").row(0, named=True)
    acks_of_the_flow = link["packets"] - probe["segments_sent"]
    assert acks_of_the_flow >= -5, "each probe has crossed it, but for those on the way"


def test_the_same_run_has_the_same_routes(diamond: Result, tmp_path: Path) -> None:
    again = Scenario.from_toml(DIAMOND).run(directory=tmp_path / "again")
    assert again.routes.equals(diamond.routes)
    assert again.link_state.equals(diamond.link_state)
    assert again.hash == diamond.hash


def test_the_json_document_has_the_routes_and_what_was_known(diamond: Result) -> None:
    document = json.loads(json.dumps(diamond.documents()))
    assert document["routes"][0].keys() == {"time_s", "routing", "src", "dst", "path", "delay_s", "loss", "cost"}
    assert len(document["routes"]) == diamond.routes.height
    assert len(document["link_state"]) == diamond.link_state.height
    assert (document["packets_without_route"], document["packets_expired"]) == (0, 0)


def test_a_new_run_in_the_same_directory_leaves_no_routes_of_the_former(diamond: Result, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    shutil.copytree(diamond.directory, directory)
    plain = Scenario.from_toml(re.sub(r"link_state = .*\n", "", DIAMOND)).run(directory=directory)
    assert plain.routes.is_empty()
    assert plain.link_state.is_empty()
    assert not (directory / "routes.parquet").exists()
    assert "routes" not in plain.documents()


@pytest.fixture(scope="module")
def page(diamond: Result) -> tuple[Path, Page]:
    path = report.write([diamond.directory], diamond.directory / "report.html")
    return path, Page(path.read_text(encoding="utf-8"))


def test_the_report_shows_the_routes_changing(page: tuple[Path, Page], diamond: Result) -> None:
    seen = page[1].seen
    assert "Routes over time" in seen
    for path in diamond.routes["path"].unique():
        assert path in seen
    assert {"routes", "estimates-loss", "estimates-delay"} <= page[1].charts
    timeline = page[1].specification("routes")
    bars = timeline["data"]["values"]
    spans = {(bar["row"], bar["start"]): bar["end"] for bar in bars}
    for pair in ("A → D", "D → A"):
        ends = sorted((start, end) for (row, start), end in spans.items() if row == pair)
        assert ends[0][0] == 0
        assert ends[-1][1] == 6
        assert all(before[1] == after[0] for before, after in pairwise(ends)), "no gap, no overlap"
    configured = json.dumps(page[1].specification("estimates-loss"), ensure_ascii=False)
    assert "B → D, configured" in configured


def test_a_browser_draws_it(browser: Browser, page: tuple[Path, Page]) -> None:
    open_report(browser, page[0])
    assert_drawn(browser, page[1].charts)


# Links with delay in ms and loss on which the heuristic's trees go in a circle between 1 and 3 for what is for 7.
CIRCLE = (
    (0, 1, 4, 0.03),
    (0, 7, 13, 0.005),
    (1, 3, 2, 0.005),
    (3, 4, 17, 0.001),
    (3, 5, 6, 0.03),
    (4, 5, 1, 0.002),
    (5, 7, 3, 0.03),
)
CABLES = "".join(
    f'{{ source = "{a}", target = "{b}", delay = "{ms}ms", loss = {loss} }}, ' for a, b, ms, loss in CIRCLE
)
CIRCULAR = f"""
topology.links = [{CABLES}]
topology.capacity = "1Gbps"
routing.trees.metric = ["tcpbp", "tcpbp-exact"]
run.duration = "3s"

[[traffic]]
from = "1"
to = "7"
poisson = "1Mbps"
transport = "udp"
"""


def test_packets_gone_in_circles_are_counted_and_the_report_says_so(tmp_path: Path) -> None:
    result = Scenario.from_toml(CIRCULAR).run(directory=tmp_path / "run")
    heuristic, exact = result.manifest["runs"]
    assert heuristic["packets_expired"] > 100
    assert result.flows["delivered_bytes"].to_list()[0] == 0
    assert (exact["packets_expired"], exact["packets_without_route"]) == (0, 0)
    seen = Page(report.write([result.directory], tmp_path / "report.html").read_text(encoding="utf-8")).seen
    assert f"Packets gone in circles {heuristic['packets_expired']}" in seen


def test_a_report_without_measuring_routings_has_no_such_section(tmp_path: Path) -> None:
    text = re.sub(r"link_state = .*\n", "", DIAMOND)
    result = Scenario.from_toml(text).run(directory=tmp_path / "run")
    html = report.write([result.directory], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Routes over time" not in html


def test_link_state_compiles_to_the_testbed_s_values_unless_it_says_otherwise() -> None:
    text = DIAMOND.replace(re.search(r"link_state = .*", DIAMOND)[0], "link_state = {}")  # type: ignore[index]
    spec = compile_run(Scenario.from_toml(text).cases[0], 1)
    measured, direct = spec["routings"]
    ten = 10 * 10**12
    assert measured["link_state"] == {
        "sample": ten,
        "window": 3,
        "recompute": ten,
        "hysteresis": 0.0,
        "intervals": False,
    }
    assert direct["name"] == "direct"
    assert direct["hops"]["paths"] == [[link["src"], link["dst"]] for link in spec["links"]]
    assert spec["traffic"][0]["pairs"] == [(link["src"], link["dst"]) for link in spec["links"]]
    assert [group["routing"] for group in spec["traffic"]] == [1, 0]
    (event,) = spec["events"]
    assert event["action"] == {"impair": {"model": "bernoulli", "ratio": 0.2}}
    assert event["links"] == [2, 3]


def test_a_routing_that_no_traffic_takes_measures_nothing() -> None:
    text = DIAMOND.replace("[routing.measured]", '[routing.other]\nmetric = "delay"\n[routing.measured]').replace(
        'stack = "cubic"', 'stack = "cubic"\nrouting = "other"'
    )
    spec = compile_run(Scenario.from_toml(text).cases[0], 1)
    assert {routing["name"]: routing["link_state"] for routing in spec["routings"]} == dict.fromkeys(
        ("other", "measured", "direct")
    )


@pytest.mark.parametrize(
    ("model", "ratio"),
    [
        ({"model": "bernoulli", "ratio": 0.25}, 0.25),
        ({"model": "periodic", "every": 4}, 0.25),
        ({"model": "list", "packets": [1, 2]}, 0.0),
        # a fifth of the time bad: 0.8 * 0.01 + 0.2 * 0.3
        (GILBERT_ELLIOTT, 0.068),
    ],
)
def test_what_a_loss_model_loses_in_the_long_run(model: dict[str, Any], ratio: float) -> None:
    assert _core.stationary_loss(json.dumps(model)) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ('"tcpbp-exact"', '"ospf"', "routing.measured", 'the metric "ospf" is not made of these: give delay, loss, tcpbp'),
        ('"tcpbp-exact"', '"hop-count, delay"', "routing.measured", "is not made of these"),
        ('"tcpbp-exact"\npaths = { shortest = 1 }', '"delay"\npaths = { shortest = 2 }', "routing.measured", "or give paths = { shortest = 1 }"),
        ("hysteresis = 0.1", "hysteresis = 1", "routing.measured.link_state.hysteresis", "less than 1"),
        ("window = 2", "window = 0", "routing.measured.link_state.window", "must be at least 1"),
        ('sample = "500ms"', 'sample = "0s"', "routing.measured.link_state.sample", "must be greater than zero"),
        ('sample = "500ms"', 'sample = "1us"', "routing.measured.link_state.sample", "comes over a million times"),
        ('pattern = "neighbours"', 'pattern = "neighbours"\nrouting = "measured"', "traffic[0]", "leave routing out"),
        ('from = "all"\nto = "all"', 'from = "A"\nto = "D"', "traffic[0]", "no link joins a source with a destination"),
        ("[routing.measured]", '[routing.direct]\n[routing.measured]', "routing.direct", "give this routing another name"),
        ('stack = "cubic"', 'stack = "cubic"\nrouting = "direct"', "traffic[1].routing", "no such routing"),
        ('["B", "D"], loss', '["B", "E"], loss', "events[0].impair.link[1]", "no such node"),
        ("loss = 0.2", "loss = 1.5", "events[0].impair.loss", ""),
        ('at = "2s"', 'at = "2s"\nreroute = true', "events[0]", "needs exactly one of fail"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_by_name(old: str, new: str, place: str, message: str) -> None:
    assert old in DIAMOND
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(DIAMOND.replace(old, new, 1))
    lines = str(refusal.value).splitlines()
    assert any(place in line and message in line for line in lines), lines


def test_the_loss_of_a_variant_is_not_drawn_as_that_of_another(tmp_path: Path) -> None:
    """The first variant loses 0.1 % from a to b, and the second 5 %. The dotted line in the second panel must not say 0.1 %."""
    ends = [("a", "b", "5ms"), ("b", "d", "5ms"), ("a", "c", "8ms"), ("c", "d", "8ms")]
    links = [{"source": here, "target": there, "capacity": "10Mbps", "delay": delay} for here, there, delay in ends]
    measured = {"metric": "tcpbp-exact", "paths": {"shortest": 1}, "link_state": {"sample": "1s", "recompute": "1s"}}
    document = {
        "topology": {"links": links},
        "impairments": [{"link": ["a", "b"], "loss": [0.001, 0.05]}],
        "routing": {"measured": measured},
        "traffic": [{"from": "a", "to": "d", "bulk": True, "routing": "measured"}],
        "run": {"duration": "5s"},
    }
    Scenario(document).run(directory=tmp_path / "run")
    (loss,) = (one for one in figures([tmp_path / "run"]) if one.name == "estimates-loss")
    lines = loss.specification["data"]["values"]
    dotted = {(line["panel"], line["series"]): line["value"] for line in lines if "configured" in line["series"]}
    assert dotted["0.001", "a → b, configured"] == [0.1, 0.1]
    assert {panel for panel, _ in dotted} == {"0.001"}
    assert "under the first condition" in loss.caption


def test_with_intervals_chance_moves_no_route_and_a_real_loss_does() -> None:
    """Both ways lose 1 %: by the estimates alone the route goes to and fro. With intervals it stays until one way really gets worse."""
    alike = DIAMOND.replace("loss = 0.001", "loss = 0.01").replace(
        "hysteresis = 0.1", "hysteresis = 0.1, intervals = true"
    )
    alike = alike.replace(
        'bulk = true\nstack = "cubic"', 'constant = "100kbps"\ntransport = "udp"\nrouting = "measured"'
    )
    changes = {
        intervals: Scenario.from_toml(alike.replace("intervals = true", f"intervals = {intervals}")).run().routes
        for intervals in ("true", "false")
    }
    before = {
        name: table.filter((pl.col("time_s") > 0.5) & (pl.col("time_s") < 2.1)) for name, table in changes.items()
    }
    assert before["false"].height > 0
    assert before["true"].is_empty()
    (last,) = changes["true"].filter(pl.col("time_s") > 2.1).to_dicts()
    assert last["path"] == "A > C > D"
