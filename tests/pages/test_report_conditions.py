"""The report of a matrix with conditions: who is best under each, against the flows of the run directory."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch.pages import report
from anabranch.pages.replay import page as player
from anabranch.pages.replay import record
from anabranch.pages.report import evaluation, outcomes, swept
from anabranch.pages.report.swept import ConditionAxis
from anabranch.results.comparison import rank
from anabranch.results.run_directory import read
from anabranch.results.summary import tables
from anabranch.runs import execute
from anabranch.scenario import Scenario
from tests.browser import Browser, assert_drawn, open_report

LOSSES, DELAYS, STACKS = [0.0001, 0.01, 0.05], ["2ms", "10ms", "40ms"], ["newreno", "bbr"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = {
        "topology": {"generate": {"kind": "dumbbell", "pairs": 1, "bottleneck": "20Mbps", "bottleneck_delay": DELAYS}},
        "impairments": [{"link": ["left", "right"], "loss": LOSSES}],
        "traffic": [{"from": "s1", "to": "d1", "bulk": True, "stack": STACKS}],
        "run": {"duration": "2s", "seeds": 3},
    }
    path = tmp_path_factory.mktemp("runs") / "conditions"
    Scenario(document).run(directory=path)
    return path


@pytest.fixture(scope="module")
def html(directory: Path) -> str:
    return report.write([directory], directory / "report.html").read_text(encoding="utf-8")


def drawn(html: str, name: str) -> dict[str, Any]:
    found = re.search(rf'id="data-{name}">(.*?)</script>', html, re.S)
    assert found
    document: dict[str, Any] = json.loads(found[1])["specification"]
    return document


def goodput(directory: Path) -> pl.DataFrame:
    """Mbit/s for each stack, loss and delay, mean over the seeds."""
    flows = pl.read_parquet(directory / "flows.parquet")
    keys = {key for key in flows.columns if key in ("loss", "bottleneck_delay")}
    assert keys == {"loss", "bottleneck_delay"}
    return flows.group_by("stack", "loss", "bottleneck_delay").agg(pl.col("goodput_bps").mean() / 1e6)


def test_the_manifest_tells_treatments_from_conditions(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    assert sorted(manifest["keys"]) == ["bottleneck_delay", "loss", "stack"]
    assert manifest["treatments"] == ["stack"]


def test_each_cell_has_the_best_stack_of_its_condition(directory: Path, html: str) -> None:
    cells = drawn(html, "best-goodput_bps")["data"]["values"]
    measured = goodput(directory)
    delay = dict(zip(DELAYS, [0.002, 0.01, 0.04], strict=True))
    assert len(cells) == len(LOSSES) * len(DELAYS)
    for cell in cells:
        values = {
            key: cell[axis]
            for axis in "xy"
            for key in ("loss", "bottleneck_delay")
            if (cell[axis] in delay) == (key != "loss")
        }
        here = measured.filter(loss=float(values["loss"]), bottleneck_delay=delay[values["bottleneck_delay"]])
        best = here["goodput_bps"].max()
        # Without a loss in any run both carry the same.
        assert here.filter(stack=cell["best"])["goodput_bps"].item() == pytest.approx(best)
        assert cell["mean"] == pytest.approx(best, rel=1e-4)


def test_a_line_goes_through_the_means_of_its_stack(directory: Path, html: str) -> None:
    points = drawn(html, "along-goodput_bps")["data"]["values"]
    measured = goodput(directory)
    assert len(points) == len(LOSSES) * len(DELAYS) * len(STACKS)
    means = sorted(point["mean"] for point in points)
    assert means == pytest.approx(sorted(measured["goodput_bps"]), rel=1e-4)


def test_durations_below_a_second_are_drawn_in_milliseconds(directory: Path) -> None:
    found = {axis.key: axis for axis in swept.axes(evaluation.read([directory]).runs)}
    assert found["bottleneck_delay"].title == "bottleneck_delay, ms"
    assert found["bottleneck_delay"].ordered == [2, 10, 40]
    assert found["loss"].ordered == LOSSES


def test_wide_intervals_leave_room_for_the_lines(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The intervals of two seeds may be many times the mean: the axis ends at a multiple of the greatest mean, and the caption says so."""
    e = evaluation.read([directory])
    (outcome,) = outcomes.outcomes(e)
    axis = swept.axes(e.runs)[0]
    assert "leave the frame" not in swept.lines(e, outcome, axis).caption
    monkeypatch.setattr(swept, "_MOST_OF_MEAN", 0.5)
    figure = swept.lines(e, outcome, axis)
    most = goodput(directory)["goodput_bps"].max()
    band, line, _ = figure.specification["spec"]["layer"]
    assert line["encoding"]["y"]["scale"]["domainMax"] == pytest.approx(0.5 * most, rel=1e-4)
    assert band["mark"]["clip"]
    assert "Some bands leave the frame." in figure.caption


def test_the_sentence_counts_the_conditions_that_a_stack_wins(directory: Path, html: str) -> None:
    cells = drawn(html, "best-goodput_bps")["data"]["values"]
    best = [cell["best"] for cell in cells if cell["verdict"] != "equal"]
    seen = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html[html.index("<main>") :]))
    for stack in set(best):
        won = best.count(stack)
        assert re.search(rf"{stack} carries the most under {won} of 9 conditions \(\d decided\)", seen)
    assert len(best) < 9
    assert f"; the best are equal under {9 - len(best)}." in seen


def test_conditions_where_nothing_arrives_have_no_best(tmp_path: Path) -> None:
    """A handshake is longer than the run under the first hundred of them, so that nothing has a lead in per cent."""
    delays = ["300ms", "200ms", "10ms"]
    document = {
        "topology": {"links": [{"source": "a", "target": "b", "capacity": "10Mbps", "delay": delays}]},
        "impairments": [{"link": ["a", "b"], "loss": [0.001 * (step + 1) for step in range(51)]}],
        "traffic": [{"from": "a", "to": "b", "bulk": True, "stack": STACKS}],
        "run": {"duration": "300ms"},
    }
    directory = tmp_path / "run"
    Scenario(document).run(directory=directory)
    html = report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8")
    cells = drawn(html, "best-goodput_bps")["data"]["values"]
    assert len(cells) == 153
    assert [cell["verdict"] == "equal" for cell in cells if cell["mean"] == 0] == [True] * 102
    assert {cell["ahead"] is None for cell in cells if cell["mean"] > 0} == {False}
    # All results of the hundred are zero: they say the same, and count once.
    assert re.search(r"the best are equal under <b class=.figure.>\d</b>", html)
    assert re.search(r"1\d\d of 153 conditions changed nothing", html)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.01, 0.02, 0.05], {"type": "linear", "zero": False}),
        ([1e-5, 1e-4, 1e-2], {"type": "log"}),
        ([0.0, 1e-5, 1e-4, 1e-2], {"type": "symlog", "constant": 1e-5}),
        ([0.0, 1.0, 2.0], {"type": "linear", "zero": False}),
        ([-1.0, 1e-3, 1.0], {"type": "linear", "zero": False}),
    ],
)
def test_small_values_are_apart_also_beside_a_zero(values: list[float], scale: dict[str, Any]) -> None:
    axis = ConditionAxis("loss", "loss", dict(enumerate(values)), {value: f"{value:g}" for value in values})
    assert axis.scale == scale | {"nice": False}
    assert axis.ticks["values"] == values


def test_a_browser_draws_it(browser: Browser, directory: Path, html: str) -> None:
    open_report(browser, directory / "report.html")
    assert_drawn(browser, set(re.findall(r'data-chart="([^"]*)"', html)))


def test_numbers_in_cells_of_any_colour_can_be_read_in_the_dark(browser: Browser, directory: Path, html: str) -> None:
    """They are light, and amber is as well: the page's colour is around them."""
    assert 'data-chart="best-goodput_bps"' in html
    open_report(browser, directory / "report.html", dark=True)
    edges = browser.evaluate(
        """[...document.querySelectorAll("[data-chart='best-goodput_bps'] .role-mark.mark-text text")]
            .map(text => [getComputedStyle(text).stroke, getComputedStyle(text).paintOrder])"""
    )
    assert edges == [["rgb(17, 22, 29)", "stroke"]] * len(LOSSES) * len(DELAYS)


def test_where_the_stack_of_some_traffic_is_swept_each_entry_is_a_condition(tmp_path: Path) -> None:
    """Only the stack of the pages is swept. The queries keep theirs, and are compared with themselves beside either."""

    def short(size: int) -> dict[str, Any]:
        return {"arrivals": "20/s", "sizes": [[size, 0], [2 * size, 1]]}

    document = {
        "topology": {"generate": {"kind": "dumbbell", "pairs": 2, "bottleneck": "20Mbps", "bottleneck_delay": "5ms"}},
        "traffic": [
            {"name": "pages", "from": "s1", "to": "d1", "short": short(100_000), "stop": "3s", "stack": STACKS},
            {"name": "queries", "from": "s2", "to": "d2", "short": short(10_000), "stop": "3s", "stack": "cubic"},
        ],
        "run": {"duration": "9s", "seeds": 3},
    }
    directory = tmp_path / "run"
    Scenario(document).run(directory=directory)
    html = report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8")
    seen = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html[html.index("<main>") :]))
    ranked = seen[seen.index("ranked within each condition") : seen.index("What the columns mean")]
    flows = pl.read_parquet(directory / "flows.parquet")
    (times,) = [table for table in tables(read([directory])) if "finished" in table.head]
    for traffic in ("pages", "queries"):
        means = flows.filter(traffic=traffic).group_by("variant_stack").agg(pl.col("fct_s").mean()).sort("fct_s")
        best, last = means["variant_stack"]
        assert re.search(rf"{traffic} 1 {best} .*?{traffic} 2 {last} ", ranked), ranked
        rows = [row for row in times.rows if traffic in row and "all" in row]
        assert sorted(row[0] for row in rows) == sorted(STACKS)
        counts = [flows.filter(traffic=traffic, variant_stack=row[0]).height for row in rows]
        assert [row[3] for row in rows] == [f"{flows} of {flows}" for flows in counts]
    assert "cubic ·" not in ranked
    # Their distributions are apart, too.
    drawing = drawn(html, "completion")
    assert sorted(drawing["facet"]["sort"]) == sorted(
        f"{stack} · {traffic}" for stack in STACKS for traffic in ("pages", "queries")
    )
    for panel in drawing["facet"]["sort"]:
        stack, traffic = panel.split(" · ")
        ends = max(row["value"] for row in drawing["data"]["values"] if row["panel"] == panel)
        longest = flows.filter(variant_stack=stack, traffic=traffic)["fct_s"].max()
        assert ends == pytest.approx(longest, rel=1e-3)


def test_a_treatment_has_one_name_under_all_conditions(tmp_path: Path) -> None:
    """Two groups choose their stacks. The best choice for one group is the worst for the other: none is best for both."""
    document = {
        "topology": {"generate": {"kind": "dumbbell", "pairs": 2, "bottleneck": "20Mbps", "bottleneck_delay": "5ms"}},
        "impairments": [{"link": ["left", "right"], "loss": 0.01}],
        "traffic": [
            {"name": "one", "from": "s1", "to": "d1", "bulk": True, "stack": STACKS},
            {"name": "two", "from": "s2", "to": "d2", "bulk": True, "stack": STACKS[::-1]},
        ],
        "run": {"duration": "3s", "seeds": 2},
    }
    directory = tmp_path / "run"
    Scenario(document).run(directory=directory)
    e = evaluation.read([directory])
    (outcome,) = outcomes.outcomes(e)
    chosen = ["traffic[0].stack", "traffic[1].stack"]
    assert e.runs.chosen == chosen
    for variant, treatment in outcome.values.select("variant", "treatment").iter_rows():
        assert treatment == " · ".join(e.runs.variants[variant].values[key] for key in chosen)
    html = report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8")
    seen = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html[html.index("<main>") :]))
    assert re.search(
        r"bbr · newreno carries the most under 1 of 2 conditions .*; newreno · bbr carries the most under 1 of 2", seen
    )
    shapes = drawn(html, "pareto-goodput-retransmitted")["spec"]["layer"][-1]["encoding"]["shape"]["scale"]["domain"]
    assert sorted(shapes) == sorted(set(outcome.values["treatment"]))


def test_the_bars_of_completion_times_are_means_over_the_runs_as_in_the_answer(tmp_path: Path) -> None:
    """Seeds have different numbers of flows, so that the mean over all flows is another one."""
    document = {
        "topology": {"links": [{"source": "a", "target": "b", "capacity": "10Mbps", "delay": "5ms"}]},
        "traffic": [
            {
                "from": "a",
                "to": "b",
                "stack": STACKS,
                "short": {"arrivals": "5/s", "sizes": [[1000, 0], [300_000, 1]]},
                "stop": "3s",
            }
        ],
        "run": {"duration": "9s", "seeds": 3},
    }
    Scenario(document).run(directory=tmp_path / "runs")
    found = evaluation.read([tmp_path / "runs"])
    flows = found.runs.flows.filter(pl.col("start_s") >= pl.col("warm_up_s"))
    assert flows["fct_s"].null_count() == 0
    runs = flows.group_by("stack", "run").agg(mean=pl.col("fct_s").mean(), flows=pl.len())
    assert runs["flows"].n_unique() > 1
    expected = dict(runs.group_by("stack").agg(pl.col("mean").mean()).iter_rows())
    (outcome,) = outcomes.outcomes(found)
    drawn = dict(outcome.table.select("stack", "fct_mean_s").iter_rows())
    assert drawn == pytest.approx(expected)
    ranked = rank(outcome.values, ["condition"], "treatment", most_is_best=False)
    assert dict(ranked.select("treatment", "mean").iter_rows()) == pytest.approx(drawn)
    half = dict(outcome.table.select("stack", outcome.half).iter_rows())
    assert dict(ranked.select("treatment", "half").iter_rows()) == pytest.approx(half)


@pytest.fixture(scope="module")
def several_topologies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One pair of hosts and then three, so that later variants have further nodes."""
    kinds = {"kind": "dumbbell", "pairs": [1, 3], "bottleneck": ["10Mbps", "20Mbps"], "bottleneck_delay": "5ms"}
    document = {
        "topology": {"generate": kinds},
        "traffic": [{"from": "s*", "to": "d*", "pattern": "pairs", "bulk": True}],
        "run": {"duration": "1s", "sample": "100ms"},
    }
    path = tmp_path_factory.mktemp("runs") / "topologies"
    Scenario(document).run(directory=path)
    return path


def test_a_map_of_several_topologies_has_the_numbers_of_each(several_topologies: Path, tmp_path: Path) -> None:
    html = report.write([several_topologies], tmp_path / "report.html").read_text(encoding="utf-8")
    rows = {row["name"]: row for row in drawn(html, "map-0")["datasets"]["links"]}
    assert {"s1 → left", "s3 → left"} < rows.keys()
    expected = pl.read_parquet(several_topologies / "links.parquet").with_columns(
        name=pl.format("{} → {}", "src", "dst")
    )
    for run in range(4):
        own = {one["name"]: one for one in expected.filter(run=run).to_dicts()}
        for name, row in rows.items():
            one = own.get(name, dict.fromkeys(("capacity_bps", "utilisation")))
            assert row["utilisation"][run] == (None if name not in own else pytest.approx(one["utilisation"], rel=1e-3))
            assert row["capacity_mbps"][run] == (None if name not in own else one["capacity_bps"] / 1e6)


def test_a_queue_over_time_is_that_of_the_link_it_names(tmp_path: Path) -> None:
    """The same two links in either order: those of a number are others."""
    links_of = ["a,b,10Mbps,5ms", "b,c,5Mbps,5ms"]
    for name, lines in (("one", links_of), ("two", links_of[::-1])):
        text = "\n".join(["source,target,capacity,delay", *lines])
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    document = {
        "topology": {"from": ["one.csv", "two.csv"]},
        "traffic": [{"from": "a", "to": "c", "bulk": True}],
        "run": {"duration": "1s", "sample": "100ms"},
    }
    directory = tmp_path / "run"
    Scenario(document, directory=tmp_path).run(directory=directory)
    html = report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8")
    links = pl.read_parquet(directory / "links.parquet").select("run", "link", "src", "dst")
    assert links.group_by("src", "dst").agg(pl.col("link").n_unique())["link"].max() > 1
    samples = pl.read_parquet(directory / "series" / "links-*.parquet").select("run", "link", "time_s", "queue_packets")
    named = samples.join(links, on=["run", "link"]).with_columns(series=pl.format("{} → {}", "src", "dst"))
    lines = drawn(html, "time-queue")["data"]["values"]
    panels = list(dict.fromkeys(line["panel"] for line in lines))
    for line in lines:
        own = named.filter(run=panels.index(line["panel"]), series=line["series"]).sort("time_s")
        assert line["value"] == own["queue_packets"].to_list()


def test_a_variant_with_further_nodes_is_replayed(several_topologies: Path) -> None:
    recording = record(several_topologies, run=3, at_s=0.5, for_s=0.01)
    names = {node["name"] for node in player.document(recording)["nodes"]}
    assert names == {"left", "right", *(f"{side}{number}" for side in "sd" for number in (1, 2, 3))}


def test_a_single_variant_shows_its_course_and_a_command_that_replays_it(tmp_path: Path) -> None:
    """`anabranch run` writes the page before the run directory is in place; the command names where it is then."""
    document = {
        "topology": {"generate": "line"},
        "traffic": [{"from": "n1", "to": "n3", "bulk": True}],
        "run": {"duration": "1s", "sample": "100ms"},
    }
    directory = tmp_path / "run"
    execute(Scenario(document), directory=directory, report=report.write)
    html = (directory / "report.html").read_text(encoding="utf-8")
    assert f"anabranch replay {directory} --run 0" in html
    assert '<details class="section" id="time" open>' in html
    assert "Variant</button>" not in html


PROBE = {"from": "s2", "to": "d2", "transport": "udp", "packet": "100 bytes", "constant": "8kbps"}


def said(directory: Path) -> str:
    html = report.write([directory], directory / "report.html").read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html[html.index("<main>") :]))


def test_a_probe_beside_tcp_ranks_nothing(tmp_path: Path) -> None:
    """It carries 8 kbit/s in each queue and with each stack. Its delays differ, so the queues changed much."""
    document = {
        "topology": {
            "generate": {"kind": "dumbbell", "pairs": 2, "bottleneck": "5Mbps", "bottleneck_delay": "5ms"},
            "queue": [{"limit": "50 packets"}, "fq-codel", "cake"],
        },
        "traffic": [
            {"name": "upload", "from": "s1", "to": "d1", "bulk": True, "stack": ["cubic", "newreno"]},
            {"name": "probe", **PROBE},
        ],
        "run": {"duration": "5s", "warm_up": "1s", "delays": True},
    }
    Scenario(document).run(directory=tmp_path)
    seen = said(tmp_path)
    assert re.search(r"under \d of 3 conditions?", seen)
    assert "changed nothing" not in seen
    ranked = seen[seen.index("ranked within each condition") : seen.index("What the columns mean")]
    assert "upload" in ranked
    assert "probe" not in ranked


@pytest.mark.parametrize(
    ("delay", "limit", "changes"), [(["5ms", "9ms"], "5 packets", True), ("5ms", ["5 packets", "9 packets"], False)]
)
def test_conditions_are_the_same_if_all_numbers_are(
    tmp_path: Path, delay: object, limit: object, changes: bool
) -> None:
    """Of two routings over the only path by UDP: the goodput is the same in any case."""
    document = {
        "topology": {
            "links": [{"source": "s2", "target": "d2", "capacity": "5Mbps", "delay": delay}],
            "queue": {"limit": limit},
        },
        "routing": {"ospf": {"metric": "ospf"}, "hops": {"metric": "hop-count"}},
        "traffic": [{**PROBE, "routing": ["ospf", "hops"]}],
        "run": {"duration": "5s", "delays": True},
    }
    Scenario(document).run(directory=tmp_path)
    seen = said(tmp_path)
    assert "equal under" in seen
    assert ("1 of 2 conditions changed nothing" in seen) != changes


def test_engines_are_conditions(tmp_path: Path) -> None:
    """The page says which stack is best by each engine, not which engine carries the most."""
    document = {
        "topology": {"generate": {"kind": "dumbbell", "bottleneck": "20Mbps"}},
        "impairments": [{"link": ["left", "right"], "loss": 0.01}],
        "traffic": [{"from": "s1", "to": "d1", "bulk": True, "stack": STACKS}],
        "run": {"duration": "2s", "seeds": 2},
    }
    folders = [tmp_path / engine for engine in ("packet", "predict")]
    for folder in folders:
        execute(Scenario(document), engine=folder.name, directory=folder, show_progress=False)
    (outcome,) = outcomes.outcomes(evaluation.read(folders))
    assert set(outcome.values["condition"]) == {"run directory packet", "run directory predict"}
    assert set(outcome.values["treatment"]) == set(STACKS)
