"""The report: its text, that it loads nothing from elsewhere, and that a browser draws it."""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import altair
import jinja2
import polars as pl
import pytest

from anabranch.foundation import checksums
from anabranch.pages import report
from anabranch.pages.report import answer, chart, evaluation, figures, libraries, load, outcomes, parts, series, tables
from anabranch.results import run_directory, statistics
from anabranch.results.manifest import ManifestError
from anabranch.scenario import Scenario
from tests.report_fixture import ROUTINGS, STACKS, change_manifest, replace_table, write_run_directory
from tests.scenarios import LINE

MEGABYTE = 1_000_000
HOSTILE = "</script><script>noteError('pwned')</script><img src=x onerror=noteError('pwned')>&amp;\"'{{7*7}}"


class Page(HTMLParser):
    """Collects what the tests ask for; every element is closed by its own end tag, and every chart is one for Vega-Lite."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.scripts: dict[str, str] = {}
        self.script = ""
        self.feed(html)
        self.close()
        assert self.open == []
        for name in self.charts:
            # Compares it with the schema; the report does not. A few rows of the data are like all others.
            specification = self.specification(name)
            rows = specification.get("data", specification.get("datasets"))
            rows |= {name: values[:3] for name, values in rows.items()}
            altair.Chart.from_dict(specification)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in self.VOID:
            self.open.append(tag)
        self.script = dict(attributes).get("id") or "" if tag == "script" else ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[self.script] = self.scripts.get(self.script, "") + data
        elif self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def seen(self) -> str:
        """The text that a reader sees."""
        return re.sub(r"\s+", " ", " ".join(self.text))

    def specification(self, name: str) -> dict:
        return json.loads(self.scripts[f"data-{name}"])["specification"]

    @property
    def charts(self) -> set[str]:
        return {value for _, name, value in self.attributes if name == "data-chart"}


@pytest.fixture(scope="session")
def abilene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_directory(tmp_path_factory.mktemp("runs") / "abilene")


@pytest.fixture(scope="session")
def abilene_report(abilene: Path) -> Path:
    return report.write([abilene], abilene / "report.html")


@pytest.fixture(scope="session")
def abilene_page(abilene_report: Path) -> Page:
    return Page(abilene_report.read_text(encoding="utf-8"))


def write(directory: Path, **options: object) -> tuple[Path, Page]:
    path = report.write([write_run_directory(directory / "run", **options)], directory / "report.html")  # type: ignore[arg-type]
    return path, Page(path.read_text(encoding="utf-8"))


def test_nothing_heavy_is_imported_with_the_package() -> None:
    code = "import sys, anabranch.pages.report; print({'polars', 'altair', 'jinja2', 'vl_convert', 'networkx'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


class TestSeries:
    def test_few_flows_keep_the_mean_and_the_extremes_of_the_runs(self) -> None:
        flows = pl.DataFrame({"run": [0, 1], "flow": [0, 0], "stack": ["a", "a"], "src": "x", "dst": "y", "variant": 0})
        samples = pl.DataFrame(
            {
                "run": [0, 0, 1, 1],
                "variant": 0,
                "flow": 0,
                "time_s": [1.0, 2.0, 1.0, 2.0],
                "cwnd_segments": [1.0, 2.0, 3.0, 6.0],
            }
        )
        found = series.flow_series(samples.lazy(), flows, ["cwnd_segments"])
        assert found.select("time_s", "value", "low", "high").rows() == [(1.0, 2.0, 1.0, 3.0), (2.0, 4.0, 2.0, 6.0)]

    def test_the_band_of_many_flows_has_interpolated_quantiles(self) -> None:
        """For 1 to 10, the 10 % quantile is 1.9 and the 90 % quantile 9.1 (Hyndman and Fan 1996, type 7)."""
        numbers = range(10)
        flows = pl.DataFrame({"run": 0, "flow": numbers, "stack": "a", "src": "x", "dst": "y", "variant": 0})
        samples = pl.DataFrame({"run": 0, "variant": 0, "flow": numbers, "time_s": 1.0}).with_columns(
            cwnd_segments=pl.col("flow") + 1.0
        )
        found = series.flow_series(samples.lazy(), flows, ["cwnd_segments"]).row(0, named=True)
        assert [found[name] for name in ("low", "value", "high")] == pytest.approx([1.9, 5.5, 9.1])

    def test_long_series_are_thinned_without_moving_their_mean(self) -> None:
        count = 100_000
        flows = pl.DataFrame({"run": [0], "flow": [0], "stack": ["a"], "src": "x", "dst": "y", "variant": 0})
        samples = pl.DataFrame({"time_s": [step / 100 for step in range(1, count + 1)]}).with_columns(
            run=0, variant=0, flow=0, cwnd_segments=pl.col("time_s") * 2
        )
        found = series.flow_series(samples.lazy(), flows, ["cwnd_segments"])
        assert 100 <= found.height <= 300
        assert (found["value"] - 2 * found["time_s"]).abs().max() < 1e-6
        assert found["value"].mean() == pytest.approx(samples["cwnd_segments"].mean(), rel=0.01)


class TestPage:
    def test_it_loads_nothing_from_anywhere(self, abilene_page: Page, abilene_report: Path) -> None:
        loading = {"src", "href", "srcset", "data", "poster", "action", "xlink:href", "background", "formaction"}
        found = [(tag, name, value) for tag, name, value in abilene_page.attributes if name in loading]
        assert [entry for entry in found if not entry[2].startswith("#")] == []
        style = re.search(r"<style>(.*?)</style>", abilene_report.read_text(encoding="utf-8"), re.DOTALL)
        assert style
        assert "url(" not in style[1]
        assert "@import" not in style[1]
        policy = next(value for tag, name, value in abilene_page.attributes if value.startswith("default-src"))
        assert "default-src 'none'" in policy
        assert "http" not in policy

    def test_it_says_what_was_run(self, abilene_page: Page, abilene: Path) -> None:
        seen = abilene_page.seen
        manifest = json.loads((abilene / "manifest.json").read_text())
        for text in ("What packet spraying does to TCP", "packet", "0.1.0", "30 s", "5s", "1–5"):
            assert text in seen
        assert "anabranch run scenarios/abilene.toml --seeds 1..5" in seen
        assert manifest["scenario_hash"] in seen
        assert all(run["result_hash"] in seen for run in manifest["runs"])
        assert 'duration = "30s"' in seen

    def test_every_variant_and_its_numbers_are_there(self, abilene_page: Page, abilene: Path) -> None:
        manifest = json.loads((abilene / "manifest.json").read_text())
        runs = pl.DataFrame(
            [{"run": run["run"], **run["variant"]} for run in manifest["runs"]], schema_overrides={"run": pl.UInt32}
        )
        flows = pl.read_parquet(abilene / "flows.parquet").select("run", "goodput_bps").join(runs, on="run")
        bars = abilene_page.specification("goodput")["data"]["values"]
        assert len(bars) == len(STACKS) * len(ROUTINGS)
        for stack, routing in product(STACKS, ROUTINGS):
            goodput = flows.filter(stack=stack, routing=routing)["goodput_bps"] / 1e6
            (bar,) = [bar for bar in bars if bar["stack"] == stack and bar["x"] == routing]
            assert bar["mean"] == pytest.approx(goodput.mean(), rel=1e-4)
            assert bar["half"] == pytest.approx(2.7764 * goodput.std() / math.sqrt(5), rel=1e-3)
            assert f"{stack} {routing} 5 1 {chart.three_digits(goodput.mean())} " in abilene_page.seen

    def test_the_best_comes_first(self, abilene_page: Page) -> None:
        assert re.search(r"mprc · spray [a-z ]+ carries the most, 1\d\.\d ± \d\.\d Mbit/s", abilene_page.seen)
        assert re.search(r"bbr · spray at random the least, 1\.\d\d ± \d\.\d\d Mbit/s", abilene_page.seen)

    def test_the_sentence_says_how_many_it_compares_and_how_many_are_close(self, tmp_path: Path) -> None:
        """The winner's name does not hide the others that do as well."""
        directory = write_run_directory(
            tmp_path / "run", routings=["spray"], stacks=["newreno", "cubic", "mprc"], sample_s=None
        )
        flows = pl.read_parquet(directory / "flows.parquet")
        manifest = json.loads((directory / "manifest.json").read_text())
        runs = {run["run"]: run["variant"]["stack"] for run in manifest["runs"]}
        rates = {"newreno": 18.5e6, "cubic": 19e6, "mprc": 19.2e6}
        means = pl.Series([rates[runs[run]] for run in flows["run"]])
        replace_table(directory / "flows.parquet", flows.with_columns(goodput_bps=means))
        seen = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8")).seen
        assert "Of 3 treatments, mprc" in seen
        assert "The next is cubic · spray, 1.04 ± 0.00 % behind. Of the others, 2 are within 5 % of the best." in seen

    def test_a_stack_has_the_same_colour_in_every_chart(self, abilene_page: Page) -> None:
        scales = set()
        for name in abilene_page.charts - {"map-0", "time-queue"}:
            text = abilene_page.scripts[f"data-{name}"]
            scales |= set(re.findall(r'"scale": (\{"domain": \["newreno".*?\})', text))
        assert len(scales) == 1

    def test_all_charts_are_there(self, abilene_page: Page) -> None:
        assert abilene_page.charts == {
            "goodput", "map-0", "time-goodput", "time-cwnd", "time-srtt", "time-in-flight", "time-queue",
            "pareto-goodput-queueing", "pareto-goodput-retransmitted",
        }  # fmt: skip

    def test_the_size_is_bounded(self, abilene_report: Path) -> None:
        assert abilene_report.stat().st_size < 2 * MEGABYTE

    def test_hostile_names_are_only_text(self, tmp_path: Path) -> None:
        nodes = {HOSTILE: (1.0, 2.0), "b": (3.0, 4.0)}
        _, page = write(
            tmp_path,
            title=HOSTILE,
            stacks=[HOSTILE, "cubic"],
            routings=[HOSTILE + "[0].x:Q"],
            seeds=1,
            nodes=nodes,
            edges=[(HOSTILE, "b")],
            source=HOSTILE,
            destination="b",
            traffic=HOSTILE,
        )
        assert not any(name.startswith("on") for _, name, _ in page.attributes)
        assert not any(tag == "img" for tag, _, _ in page.attributes)
        assert (
            len(
                [
                    tag
                    for tag, name, value in page.attributes
                    if tag == "script" and name == "type" and value == "module"
                ]
            )
            == 2
        )
        assert HOSTILE in page.seen
        assert HOSTILE in json.dumps(page.specification("goodput"), ensure_ascii=False).replace('\\"', '"')

    def test_without_series_there_are_no_charts_over_time(self, tmp_path: Path) -> None:
        _, page = write(tmp_path, sample_s=None)
        assert not any(name.startswith("time") for name in page.charts)
        assert "Over time" not in page.seen.replace("Over time , all panels", "")

    def test_no_interval_is_drawn_below_zero(self, tmp_path: Path) -> None:
        """Two seeds of 1 and 9 Mbit/s: 5 ± 50.8."""
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=2, sample_s=None)
        path = directory / "flows.parquet"
        replace_table(path, pl.read_parquet(path).with_columns(goodput_bps=pl.Series([1e6, 9e6])))
        drawn = {figure.name: figure for figure in figures.figures([directory])}
        (bar,) = drawn["goodput"].specification["data"]["values"]
        assert (bar["mean"], bar["low"]) == (5, 0)
        assert bar["half"] == pytest.approx(12.7062 * 4, rel=1e-4)

    def test_one_seed_has_no_interval_and_says_so(self, tmp_path: Path) -> None:
        _, page = write(tmp_path, seeds=1)
        bars = page.specification("goodput")["data"]["values"]
        assert {bar["half"] for bar in bars} == {None}
        assert "One seed only" in page.seen
        assert "mean over the seeds; band" not in page.seen

    def test_a_single_run(self, tmp_path: Path) -> None:
        _, page = write(tmp_path, stacks=["mprc"], routings=["ospf"], seeds=1)
        assert "carries 9." in page.seen
        assert "the least" not in page.seen

    def test_no_matrix_at_all(self, tmp_path: Path) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1)
        (run,) = json.loads((directory / "manifest.json").read_text())["runs"]
        change_manifest(directory, keys=[], runs=[run | {"variant": {}}])
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "mprc carries 9." in page.seen

    def test_five_thousand_flows_are_summed_up(self, tmp_path: Path) -> None:
        path, page = write(
            tmp_path, stacks=["cubic", "mprc"], routings=["ospf"], seeds=1, flows=5000, sized=True, sample_s=1.0
        )
        assert path.stat().st_size < 2 * MEGABYTE
        assert {"completion", "completion-mean"} <= page.charts
        assert "goodput" not in page.charts, "what flows that finish have sent over time says nothing"
        assert "Median over flows" in page.seen
        lines = page.specification("time-cwnd")["data"]["values"]
        assert len(lines) == 2

    def test_many_flows_that_last_have_a_distribution_of_goodput(self, tmp_path: Path) -> None:
        _, page = write(tmp_path, stacks=["cubic"], routings=["ospf"], seeds=1, flows=20)
        assert "goodput-of-flows" in page.charts
        assert "goodput" not in page.charts  # a single bar says no more than the answer's sentence
        assert "completion-mean" not in page.charts

    def test_completion_times_are_in_the_answer_and_in_a_table(self, tmp_path: Path) -> None:
        """Against polars' quantiles of the files. The flow of each seed that did not finish is the slowest."""
        directory = write_run_directory(
            tmp_path / "run", stacks=["cubic"], routings=["ospf"], seeds=2, flows=40, sized=True, sample_s=None
        )
        path = directory / "flows.parquet"
        flows = pl.read_parquet(path).with_columns(
            pl.when(pl.col("fct_s").max().over("run") > pl.col("fct_s")).then(name).alias(name)
            for name in ("fct_s", "end_s")
        )
        flows = flows.with_columns(start_s=pl.when(pl.col("fct_s").is_null()).then(5.0).otherwise("start_s"))
        replace_table(path, flows)
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        shown = flows.filter(pl.col("start_s") >= 5)
        unfinished = shown["fct_s"].null_count()
        assert unfinished > 0
        times = shown.select(pl.col("fct_s").fill_null(25.0)).to_series()
        mean, median, p95, p99 = (
            chart.three_digits(value)
            for value in (times.mean(), *(times.quantile(share, "linear") for share in (0.5, 0.95, 0.99)))
        )
        finished = shown.height - unfinished
        assert f"cubic ospf all {shown.height} {finished} ≥ {mean} {median} {p95} ≥ {p99} " in page.seen
        assert f"{finished} of {shown.height} flows of cubic · ospf finished" in page.seen
        assert "completion" in page.charts

    def test_long_stalls_are_shown_and_short_ones_are_not(self, tmp_path: Path) -> None:
        _, page = write(tmp_path / "short", stacks=["mprc"], routings=["spray"], seeds=1)
        assert "Longest stall" not in page.seen
        directory = write_run_directory(tmp_path / "long", stacks=["mprc"], routings=["spray"], seeds=1)
        path = directory / "flows.parquet"
        replace_table(path, pl.read_parquet(path).with_columns(longest_stall_s=26.25))
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "Longest stall" in page.seen
        assert " 26.2 " in page.seen

    def test_many_variants_are_cut_and_it_says_so(self, tmp_path: Path) -> None:
        path, page = write(
            tmp_path, stacks=[f"s{n}" for n in range(25)], routings=[f"r{n}" for n in range(10)], seeds=1, sample_s=3.0
        )
        assert path.stat().st_size < 3 * MEGABYTE
        assert "The first 240 of 250 variants" in page.seen
        assert "The first 240 of 250 groups" in page.seen
        panels = {row["panel"] for row in page.specification("time-goodput")["data"]["values"]}
        assert len(panels) == 240

    def test_two_directories_lie_over_each_other_with_every_variant(self, tmp_path: Path) -> None:
        """18 variants in each: all 36 are drawn, in 18 panels, and the bars of a variant are neighbours."""
        names, stacks = ["before", "after"], [f"s{n}" for n in range(6)]
        directories = [write_run_directory(tmp_path / name, stacks=stacks, seeds=1, sample_s=3.0) for name in names]
        page = Page(report.write(directories, tmp_path / "report.html").read_text(encoding="utf-8"))
        assert {"map-0", "map-1"} <= page.charts
        lines = page.specification("time-goodput")["data"]["values"]
        assert len({(row["panel"], row["directory"]) for row in lines}) == 36
        assert len({row["panel"] for row in lines}) == 18
        bars = page.specification("goodput")["data"]["values"]
        assert [bar["x"] for bar in bars[:2]] == [f"{name} · {ROUTINGS[0]}" for name in names]
        assert len(bars) == 36

    def test_the_differences_are_those_of_the_seeds_that_both_have(self, tmp_path: Path) -> None:
        """Against the files: four seeds of the first have a partner, and the mean difference is theirs."""
        few = {"stacks": ["cubic"], "routings": ["ospf"], "sample_s": None}
        first = write_run_directory(tmp_path / "before", seeds=5, **few)
        second = write_run_directory(tmp_path / "after", seeds=4, **few)
        path = second / "flows.parquet"
        replace_table(path, pl.read_parquet(path).with_columns(pl.col("goodput_bps") * 1.5 + pl.col("seed") * 1000))
        page = Page(report.write([first, second], tmp_path / "report.html").read_text(encoding="utf-8"))
        before, after = (
            pl.read_parquet(one / "flows.parquet").sort("seed")["goodput_bps"] / 1e6 for one in (first, second)
        )
        difference = after - before.head(4)
        half = 3.1824 * difference.std() / 2
        numbers = [before.mean(), after.mean(), difference.mean()]
        shown = [chart.three_digits(number) for number in numbers]
        shown[2] = f"+{shown[2]}"
        assert f"cubic ospf {' '.join(shown)} {chart.digits(half, 2)} " in page.seen
        assert re.search(r"cubic ospf [^a-z]* more ", page.seen)

    @pytest.mark.parametrize(("seed", "verdict"), [(1, "one seed"), (2, "no common seed")])
    def test_a_difference_needs_common_seeds(self, tmp_path: Path, seed: int, verdict: str) -> None:
        """The first directory has seed 1: one common seed gives a difference without interval, none gives no difference."""
        for name, chosen in (("first", 1), ("second", seed)):
            Scenario.from_toml(LINE).run(seed=chosen, directory=tmp_path / name)
        page = Page(report.write([tmp_path / "first", tmp_path / "second"], tmp_path / "report.html").read_text())
        assert re.search(f"newreno [^a-z]* {verdict} ", page.seen)

    def test_variants_of_one_directory_only_are_not_compared(self, tmp_path: Path) -> None:
        first = write_run_directory(tmp_path / "before", stacks=["cubic"], routings=["ospf"], sample_s=None)
        second = write_run_directory(tmp_path / "after", stacks=["cubic", "mprc"], routings=["ospf"], sample_s=None)
        page = Page(report.write([first, second], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "1 variant is not in all run directories" in page.seen

    def test_the_front_has_what_no_other_treatment_beats(self, abilene_page: Page) -> None:
        """By brute force over the points of the chart."""
        points = abilene_page.specification("pareto-goodput-retransmitted")["data"]["values"]
        assert len(points) == len(STACKS) * len(ROUTINGS)
        for point in points:
            beaten = [
                other
                for other in points
                if (other["x"] < point["x"] and other["y"] >= point["y"])
                or (other["x"] <= point["x"] and other["y"] > point["y"])
            ]
            assert point["on_front"] == (not beaten)

    def test_completion_by_size_has_the_quantiles_of_each_class(self, tmp_path: Path) -> None:
        directory = write_run_directory(
            tmp_path / "run", stacks=["cubic"], routings=["ospf"], seeds=2, flows=60, sized=True, sample_s=None
        )
        path = directory / "flows.parquet"
        sizes = pl.when(pl.col("flow") % 2 == 0).then(5_000).otherwise(500_000).cast(pl.UInt64)
        replace_table(path, pl.read_parquet(path).with_columns(size_bytes=sizes))
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        # The heading has the unit, as the axis of panels has no title.
        (heading,) = [one.title for one in figures.figures([directory]) if one.name == "completion-by-size"]
        assert re.fullmatch("Completion time, m?s, by size", heading)
        flows = pl.read_parquet(path).filter(pl.col("start_s") >= 5)
        rows = page.specification("slowdown-by-size")["data"]["values"]
        assert len(rows) == 4
        for even, name in ((True, "below 10 kB"), (False, "100 kB to 1 MB")):
            own = flows.filter((pl.col("flow") % 2 == 0) == even)
            slow = own.select(pl.col("fct_s") / pl.col("idle_fct_s")).to_series()
            found = {row["statistic"]: row["value"] for row in rows if row["size"] == name}
            assert found["median"] == pytest.approx(slow.median(), rel=1e-3)
            assert found["99th percentile"] == pytest.approx(slow.quantile(0.99, "linear"), rel=1e-3)
        # Dashes tell statistics apart, and so panels the run directories.
        other = tmp_path / "other"
        shutil.copytree(directory, other)
        (both,) = [one for one in figures.figures([directory, other]) if one.name == "slowdown-by-size"]
        assert both.specification["facet"]["sort"] == ["run · ospf", "other · ospf"]

    def test_a_map_has_the_peak_of_the_samples_after_the_warm_up(self, abilene_page: Page, abilene: Path) -> None:
        rows = abilene_page.specification("map-0")["datasets"]["links"]
        samples = pl.read_parquet(abilene / "series" / "links-*.parquet").filter(pl.col("time_s") > 5)
        first = samples.filter(pl.col("run") < 5).group_by("link").agg(pl.col("utilisation").max())
        peaks = sorted(row["peak"][0] for row in rows)
        assert peaks == pytest.approx(sorted(first["utilisation"]), rel=1e-3)

    def test_a_peak_of_samples_that_outlast_the_traffic_is_the_mean(self, abilene: Path, tmp_path: Path) -> None:
        directory = tmp_path / "short"
        shutil.copytree(abilene, directory)
        links = pl.read_parquet(abilene / "links.parquet")
        replace_table(directory / "links.parquet", links.with_columns(utilisation=pl.lit(1.0)))
        assert evaluation.read([directory]).links["peak"].unique().to_list() == [1.0]

    def test_the_links_have_a_column_of_cut_packets_where_a_queue_cut_some(self, abilene: Path, tmp_path: Path) -> None:
        directory = tmp_path / "cut"
        shutil.copytree(abilene, directory)
        seen = {}
        for cut in (None, 70):
            links = pl.read_parquet(abilene / "links.parquet")
            counts = {} if cut is None else {"trimmed": pl.lit(cut, pl.UInt64)}  # earlier versions had no such column
            replace_table(directory / "links.parquet", links.with_columns(**counts))
            page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
            seen[cut] = "Cut a run" in page.seen
        assert seen == {None: False, 70: True}

    @pytest.mark.parametrize(
        ("most", "end"), [(0.003, 0.005), (0.08, 0.1), (0.2, 0.2), (0.51, 1.0), (1.0, 1.0), (0.0, 1.0)]
    )
    def test_the_scale_of_a_map_ends_at_a_round_share(self, most: float, end: float) -> None:
        links = pl.DataFrame(
            {
                "link": [0], "variant": [0], "src": ["a"], "dst": ["b"], "capacity_bps": [1e6], "delay_s": [0.1],
                "utilisation": [most], "peak": [None], "queue_drop_ratio": [0.0], "queue_delay_mean_s": [0.0],
            },
            schema_overrides={"peak": pl.Float64},
        )  # fmt: skip
        nodes = [{"name": name, "x": x, "y": 0.0} for x, name in enumerate("ab")]
        drawing = chart.link_map(nodes, links, {0: "the scenario"})
        assert drawing["layer"][0]["encoding"]["color"]["scale"]["domain"] == [0, {"expr": f"{end:g}"}]

    def test_a_folded_map_has_the_sums_of_the_links_between_two_groups(self) -> None:
        links = pl.DataFrame(
            {
                "source": [0] * 3, "variant": [0] * 3, "src": ["a1", "a2", "b"], "dst": ["b", "b", "a1"], "capacity_bps": [1e6, 3e6, 1e6],
                "delay_s": [0.1, 0.3, 0.1], "utilisation": [0.8, 0.2, 0.1], "peak": [None, 0.5, None], "packets": [10.0, 0.0, 0.0],
                "queue_drop_ratio": [0.1, 0.0, 0.0], "queue_delay_mean_s": [0.02, None, None],
            },
            schema_overrides={"peak": pl.Float64},
        )  # fmt: skip
        folded, back = load._between({"a1": "a1 +1", "a2": "a1 +1", "b": "b"}, links).to_dicts()
        assert (folded["src"], folded["dst"], folded["capacity_bps"], folded["peak"]) == ("a1 +1", "b", 4e6, 0.8)
        assert folded["utilisation"] == pytest.approx((0.8 * 1 + 0.2 * 3) / 4)
        assert folded["queue_drop_ratio"] == pytest.approx(0.1)
        assert folded["queue_delay_mean_s"] == pytest.approx(0.02)
        assert [back[name] for name in ("src", "dst", "queue_drop_ratio", "queue_delay_mean_s")] == [
            "b",
            "a1 +1",
            0.0,
            None,
        ]

    def test_one_treatment_is_not_ranked(self, tmp_path: Path) -> None:
        """Two conditions, one stack: the sentence names both values, and claims no winner."""
        directory = write_run_directory(tmp_path / "run", stacks=["cubic"], routings=["ospf", "spray"], sample_s=None)
        change_manifest(directory, treatments=["stack"])
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert re.search(
            r"cubic carries the most, 9\.\d.*, under routing ospf; the least, .*, under routing spray", page.seen
        )
        assert "No condition has two treatments" in page.seen

    def test_treatments_of_different_conditions_keep_their_own_values(self, tmp_path: Path) -> None:
        """Each condition has a stack of its own: the greatest value is that of its stack, and nothing is ranked."""
        directory = write_run_directory(tmp_path / "run", stacks=["newreno", "mprc"], routings=["ospf", "spray"])
        runs = json.loads((directory / "manifest.json").read_text())
        only = {("newreno", "ospf"), ("mprc", "spray")}
        kept = [run for run in runs["runs"] if tuple(run["variant"].values()) in only]
        change_manifest(directory, treatments=["stack"], runs=kept)
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert re.search(
            r"mprc carries the most, 1\d\.\d.*, under routing spray; newreno the least, 9\.\d.*, under routing ospf",
            page.seen,
        )
        assert "No condition has two treatments" in page.seen
        assert "ranked" not in page.seen[: page.seen.index("Save")]

    def test_a_condition_with_one_treatment_is_won_by_none(self, tmp_path: Path) -> None:
        """NewReno alone was sprayed, so that it is the best of one there."""
        directory = write_run_directory(tmp_path / "run", stacks=["newreno", "mprc"], routings=["ospf", "spray"])
        runs = json.loads((directory / "manifest.json").read_text())
        kept = [run for run in runs["runs"] if tuple(run["variant"].values()) != ("mprc", "spray")]
        change_manifest(directory, treatments=["stack"], runs=kept)
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert re.search(r"(newreno|mprc) carries the most under 1 of 1 condition \(", page.seen)
        assert "Not counted, as nothing to rank: 1 condition with one treatment." in page.seen
        assert re.search(r"routing spray 1 newreno [\d.]+ [\d.]+ – – alone", page.seen)

    def test_equal_treatments_are_neither_first_nor_last(self, tmp_path: Path) -> None:
        """Two routings over the only path, and nothing random: no seed will decide between them, and no interval says anything."""
        lists = LINE.replace('"newreno"', '"newreno"\nrouting = ["ospf", "hops"]')
        routings = '[routing]\nospf = { metric = "ospf" }\nhops = { metric = "hop-count" }\n'
        result = Scenario.from_toml(lists + routings).run(seeds=[1, 2])
        page = Page(report.write([result.directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert re.search(r"All treatments carry the same, [\d.]+ ± 0.00 Mbit/s", page.seen)
        assert "All seeds gave the same runs" in page.seen

    def test_goodput_is_not_ranked_by_the_seeds_whose_flows_did_not_finish(self, tmp_path: Path) -> None:
        """The flow of one seed of five finishes. The summary has no goodput then, and the answer none either: the other seeds are the slow ones."""
        directory = write_run_directory(tmp_path / "run", stacks=["newreno", "cubic"], routings=["ospf"])
        flows = pl.read_parquet(directory / "flows.parquet")
        finishes = pl.col("run") % 5 == 0
        sized = flows.with_columns(size_bytes=pl.lit(2_000_000, pl.UInt64), fct_s=pl.when(finishes).then(4.0))
        replace_table(directory / "flows.parquet", sized)
        e = evaluation.read([directory])
        assert e.summary["goodput_bps"].to_list() == [None, None]
        assert [answer.of(e, outcome) for outcome in outcomes.outcomes(e)] == [None]

    def test_every_table_that_is_cut_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Twelve variants, of which tables show five: those of the answer and of the states of controls too."""
        monkeypatch.setattr(parts, "MOST_ROWS", 5)
        e = evaluation.read([write_run_directory(tmp_path / "run", seeds=1, sample_s=None)])
        variants = pl.Series(range(12), dtype=pl.UInt32)
        states = pl.DataFrame({"variant": variants}).with_columns(stack=pl.lit("bbr"), state=pl.lit("drain"), share=0.1)
        (outcome,) = outcomes.outcomes(e)
        ranking = answer.of(e, outcome)
        assert ranking is not None
        shown = [ranking.table, tables.summary(e), tables.states(replace(e, runs=replace(e.runs, states=states)))]
        for table in shown:
            assert table is not None
            assert (len(table.rows), table.note) == (5, "The first 5 of 12 rows.")

    def test_all_figures_of_a_page_are_listed_by_name(self, abilene: Path, abilene_page: Page) -> None:
        found = figures.figures([abilene])
        assert {figure.name for figure in found} == abilene_page.charts
        assert len(found) == len(abilene_page.charts)

    def test_what_is_unknown_is_a_dash(self, tmp_path: Path) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=2, sample_s=None)
        unknown = {
            "flows": ["goodput_bps", "srtt_s", "retransmit_ratio"],
            "links": ["utilisation", "queue_delay_mean_s"],
        }
        for name, columns in unknown.items():
            table = pl.read_parquet(directory / f"{name}.parquet")
            nothing = [pl.lit(None, pl.Float64).alias(column) for column in columns]
            replace_table(directory / f"{name}.parquet", table.with_columns(nothing))
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "mprc ospf 2 1 – – " in page.seen
        assert "nan" not in page.seen.lower()

    def test_a_run_without_flows(self, tmp_path: Path) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1)
        replace_table(directory / "flows.parquet", pl.read_parquet(directory / "flows.parquet").clear())
        page = Page(report.write([directory], tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "No flow ran" in page.seen
        assert page.charts == {"map-0", "time-queue"}

    def test_flows_without_a_stack_are_udp(self, tmp_path: Path) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=2)
        path = directory / "flows.parquet"
        nothing = [pl.lit(None, kind).alias(name) for name, kind in (("stack", pl.String), ("srtt_s", pl.Float64))]
        replace_table(path, pl.read_parquet(path).with_columns(nothing))
        report.write([directory], tmp_path / "report.html")
        assert "UDP" in Page((tmp_path / "report.html").read_text()).seen

    def test_an_interrupted_run_is_named(self, tmp_path: Path) -> None:
        _, page = write(tmp_path, interrupted=True)
        assert "1 of 60 runs was interrupted" in page.seen
        assert f"Interrupted: {STACKS[-1]} · {ROUTINGS[-1]} · seed 5: 15 s" in page.seen

    def test_runs_that_were_not_begun_are_counted(self, tmp_path: Path) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1, sample_s=None)
        change_manifest(directory, planned_runs=5)
        report.write([directory], tmp_path / "report.html")
        assert "4 of 5 runs were interrupted or not begun" in Page((tmp_path / "report.html").read_text()).seen


LINK = {"src": "a", "dst": "b", "capacity_bps": 1, "delay_s": 1}


class TestErrors:
    def test_no_directory(self) -> None:
        with pytest.raises(run_directory.RunDirectoryError, match="no run directory given"):
            run_directory.read([])

    def test_no_manifest(self, tmp_path: Path) -> None:
        with pytest.raises(ManifestError, match=r"manifest\.json: cannot be read \(No such file"):
            run_directory.read([tmp_path])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "is not JSON"),
            ("[" * 100_000, "is not JSON"),
            ('{"format": 1}', "format is 1"),
            ('{"format": 2}', "is damaged or was edited"),
            (checksums.sealed_json({"format": 2}).decode(), "title: Field required"),
            ("[]", "format is None"),
        ],
    )
    def test_broken_manifest(self, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(ManifestError, match=message):
            run_directory.read([tmp_path])

    def test_a_table_without_a_column(self, tmp_path: Path) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1, sample_s=None)
        replace_table(directory / "flows.parquet", pl.read_parquet(directory / "flows.parquet").drop("goodput_bps"))
        with pytest.raises(run_directory.RunDirectoryError, match=r"flows\.parquet: lacks the columns goodput_bps"):
            run_directory.read([directory])

    @pytest.mark.parametrize("name", ["flows", "links"])
    @pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.99])
    def test_a_table_written_by_half(self, tmp_path: Path, name: str, kept: float) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1, sample_s=None)
        path = directory / f"{name}.parquet"
        whole = path.read_bytes()
        path.write_bytes(whole[: int(kept * len(whole))])
        with pytest.raises(ManifestError, match=rf"{name}\.parquet: is damaged"):
            run_directory.read([directory])
        change_manifest(directory)  # as if it had been so when it was written
        with pytest.raises(run_directory.RunDirectoryError, match=rf"{name}\.parquet: not a whole Parquet file"):
            run_directory.read([directory])
        path.unlink()
        with pytest.raises(ManifestError, match=rf"{name}\.parquet: cannot be read \(No such file"):
            run_directory.read([directory])

    @pytest.mark.parametrize("part", ["flows-0-0", "links-0-0"])
    def test_a_broken_series(self, tmp_path: Path, part: str) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1)
        path = directory / "series" / f"{part}.parquet"
        whole = path.read_bytes()
        replace_table(path, pl.read_parquet(path).drop("time_s"))
        with pytest.raises(run_directory.RunDirectoryError, match=rf"{part}\.parquet: lacks the columns time_s"):
            run_directory.read([directory])
        path.write_bytes(whole[: len(whole) // 2])
        change_manifest(directory)
        with pytest.raises(run_directory.RunDirectoryError, match=rf"{part}\.parquet: not a whole Parquet file"):
            run_directory.read([directory])
        # the foot is whole, a page of values is not
        path.write_bytes(whole[:60] + b"\xff" * 400 + whole[460:])
        change_manifest(directory)
        with pytest.raises(run_directory.RunDirectoryError, match="a time series cannot be read"):
            report.write([directory], tmp_path / "report.html")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"runs": 3}, "runs: Input should be a valid list"),
            ({"runs": [3]}, r"runs\[0\]: Input should be a valid dictionary"),
            ({"runs": [{"run": 0}]}, r"runs\[0\].variant: Field required"),
            ({"runs": []}, "runs is empty"),
            ({"topology": {}}, "topology.nodes: Field required"),
            ({"topology": {"nodes": [], "links": [LINK]}}, r"links\[0\] is not between two of the nodes"),
            ({"keys": ["queue"]}, r"runs\[0\].variant must have the keys"),
            ({"planned_runs": None}, "planned_runs: Input should be a valid integer"),
            ({"command": [1]}, r"command\[0\]: Input should be a valid string"),
        ],
    )
    def test_a_manifest_of_another_shape(self, tmp_path: Path, changes: dict, message: str) -> None:
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1, sample_s=None)
        change_manifest(directory, **changes)
        with pytest.raises((ManifestError, run_directory.RunDirectoryError), match=message):
            run_directory.read([directory])

    @pytest.mark.slow("reads a run directory damaged in 60 ways")
    def test_damage_anywhere_is_refused_or_does_no_harm(self, tmp_path: Path) -> None:
        """A field of the manifest deleted or of another type, bytes of a table changed or cut off: a page or a ValueError."""
        directory = write_run_directory(tmp_path / "run", stacks=["mprc"], routings=["ospf"], seeds=1, duration_s=6.0)
        draw = random.Random(1)
        for _ in range(60):
            path = draw.choice(sorted(file for file in directory.rglob("*") if file.is_file()))
            whole = path.read_bytes()
            path.write_bytes(damaged(path, whole, draw))
            with contextlib.suppress(ValueError):
                report.write([directory], tmp_path / "report.html")
            path.write_bytes(whole)


def damaged(path: Path, whole: bytes, draw: random.Random) -> bytes:
    if path.suffix == ".json":
        document = here = json.loads(whole)
        while True:
            key = draw.choice(sorted(here) if isinstance(here, dict) else range(len(here)))
            if not (isinstance(here[key], dict | list) and here[key]) or draw.random() < 0.2:
                break
            here = here[key]
        here[key] = draw.choice([None, -1, 3, 1e300, "x", [], {}, [None], 10**30])
        if draw.random() < 0.3:
            del here[key]
        return json.dumps(document).encode()
    place = draw.randrange(len(whole))
    if draw.random() < 0.3:
        return whole[:place]
    return whole[:place] + draw.randbytes(draw.choice([1, 50])) + whole[place + 1 :]


class TestChart:
    """The building blocks as a notebook uses them: a frame in, a chart out that Vega-Lite takes."""

    def test_goodput_bars_from_the_flows_table(self, abilene: Path) -> None:
        flows = pl.read_parquet(abilene / "flows.parquet")
        summary = statistics.summary(flows, ["stack", "routing"])
        drawing = chart.goodput_bars(summary, x="routing", x_title="Routing", stacks=STACKS)
        rows = drawing["data"]["values"]
        assert [(row["stack"], row["x"]) for row in rows] == [*product(STACKS, ROUTINGS)]
        # The number above the highest bar is below the legend.
        assert drawing["layer"][0]["encoding"]["y"]["scale"]["domainMax"] > max(row["high"] for row in rows)

    def test_fifteen_stacks_have_fifteen_colours(self) -> None:
        """There are more congestion controls than the ten colours of the palette, which come first and unchanged."""
        colours = chart.stack_colour([f"stack {number}" for number in range(15)])["scale"]["range"]
        assert colours[:10] == chart.PALETTE
        assert len(set(colours)) == 15
        assert all(re.fullmatch("#[0-9A-F]{6}", colour, re.IGNORECASE) for colour in colours)

    def test_charts_can_be_joined(self, abilene: Path) -> None:
        summary = statistics.summary(pl.read_parquet(abilene / "flows.parquet"), ["stack", "routing"])
        bars = altair.Chart.from_dict(chart.goodput_bars(summary, x="routing", x_title="Routing", stacks=STACKS))
        assert (bars | bars).to_dict()["hconcat"]

    @pytest.mark.parametrize(
        ("value", "text"),
        [(None, "–"), (math.nan, "–"), (0, "0"), (9.512, "9.51"), (0.01234, "0.0123"), (12345.6, "12,346")],
    )
    def test_three_digits(self, value: float | None, text: str) -> None:
        assert chart.three_digits(value) == text

    def test_an_interval_has_the_decimals_of_its_value(self) -> None:
        assert chart.with_interval(9.512, 0.0584) == "9.51 ± 0.06"
        assert chart.with_interval(18.91, None) == "18.9"
        assert chart.with_interval(19.104, 0.003) == "19.1 ± 0.0"
        assert chart.with_interval(12345.6, 234.5) == "12,346 ± 234"

    def test_a_value_has_no_decimal_that_its_interval_leaves_open(self) -> None:
        assert chart.with_interval(0.918, 2.346) == "0.9 ± 2.3"
        assert chart.with_interval(-8.48, 12.77) == "-8 ± 13"
        assert chart.with_interval(0.0123, 0.0123) == "0.012 ± 0.012"

    @pytest.mark.parametrize(
        ("largest", "unit"), [(2e9, "Gbit/s"), (9.5e6, "Mbit/s"), (2e3, "kbit/s"), (10, "bit/s"), (None, "bit/s")]
    )
    def test_rates_get_a_readable_unit(self, largest: float | None, unit: str) -> None:
        assert chart.rate("goodput_bps", "Goodput", largest).unit == unit


class TestCache:
    """Expensive results are kept between reports."""

    def test_the_template_is_compiled_once(
        self, abilene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abilene_report: Path
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        compile_template = jinja2.Environment.compile
        compiled = []
        monkeypatch.setattr(
            jinja2.Environment,
            "compile",
            lambda self, source, name=None, *rest, **more: (
                compiled.append(name) or compile_template(self, source, name, *rest, **more)
            ),
        )
        pages = [report.write([abilene], tmp_path / f"{number}.html").read_bytes() for number in range(3)]
        assert compiled == ["report.html.j2"]
        assert set(pages) == {abilene_report.read_bytes()}
        for kept in tmp_path.glob("cache/anabranch/*.jinja"):
            kept.write_bytes(kept.read_bytes()[:1000])
        assert report.write([abilene], tmp_path / "again.html").read_bytes() == pages[0]

    def test_a_bundle_is_made_once_and_a_cache_that_cannot_be_written_does_no_harm(
        self, abilene: Path, abilene_report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bundle = libraries.vega()
        made = []
        monkeypatch.setattr(libraries, "make", lambda: made.append(bundle) or bundle)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert libraries.vega() == libraries.vega() == bundle
        (kept,) = (tmp_path / "cache" / "anabranch").iterdir()
        assert kept.read_text(encoding="utf-8") == bundle
        assert len(made) == 1
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        assert report.write([abilene], tmp_path / "page.html").read_bytes() == abilene_report.read_bytes()
        assert len(made) == 2
