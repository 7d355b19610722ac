"""Runs write the expected files for any number of threads, also when they are interrupted."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anabranch.cli import status
from anabranch.engines.packet import CompiledRun, RunAgain
from anabranch.engines.refusal import refusals
from anabranch.pages.report import write as write_report
from anabranch.results.manifest import ManifestError
from anabranch.results.result import Result, ResultError, result_hashes
from anabranch.results.schema import SCHEMAS, frame
from anabranch.runs import RunError, execute, recorder
from anabranch.scenario import Scenario
from tests.fake_simulation import FakeSimulation, interrupt_runs
from tests.scenarios import DESIGN, LINE


def design(
    directory: Path | None = None, jobs: int = 2, make: Callable[[CompiledRun], FakeSimulation] = FakeSimulation
) -> Result:
    return execute(Scenario.from_toml(DESIGN), directory=directory, jobs=jobs, make=make, show_progress=False)


def test_tables_have_a_row_for_each_run_and_flow_or_link(tmp_path: Path) -> None:
    result = design(tmp_path)
    assert len(result.manifest["runs"]) == 4 * 5
    assert result.flows.schema == pl.Schema(
        SCHEMAS["flows"] | dict.fromkeys(["variant_stack", "variant_routing"], pl.String)
    )
    assert result.links.schema == pl.Schema(SCHEMAS["links"] | dict.fromkeys(["stack", "routing"], pl.String))
    assert result.flows.height == 20
    assert result.links.height == 20 * 28
    assert result.flows["src"].unique().to_list() == ["Seattle"]
    assert result.flows["fct_s"].null_count() == 20
    assert result.manifest["runs"][6]["variant"] == {"stack": "newreno", "routing": "spray"}
    assert [run["seed"] for run in result.manifest["runs"][:6]] == [1, 2, 3, 4, 5, 1]
    assert result.flows.filter(run=12)["stack"].item() == "mprc"
    assert not result.interrupted
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["scenario"]["traffic"][0]["stack"] == ["newreno", "mprc"]
    assert manifest["keys"] == ["stack", "routing"]
    assert len(manifest["topology"]["nodes"]) == 11


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    one, many = design(tmp_path / "1", jobs=1), design(tmp_path / "4", jobs=4)
    assert one.hash == many.hash
    assert one.flows.equals(many.flows)
    assert one.series_flows.sort("run", "time_s").equals(many.series_flows.sort("run", "time_s"))


def test_the_summary_is_over_the_seeds_of_a_variant() -> None:
    summary = design().summary
    # the fake's goodput is 1 Mbit/s times the seed: mean of 1 to 5 is 3, s = sqrt(2.5), t(4) = 2.776
    assert summary["goodput_bps"].to_list() == [3e6] * 4
    assert summary["goodput_interval_bps"].to_list() == pytest.approx([2.776e6 * (2.5 / 5) ** 0.5] * 4, rel=1e-3)
    assert summary["retransmit_ratio"].to_list() == [0.01] * 4
    assert summary["runs"].to_list() == [5] * 4


def test_one_seed_and_several_do_not_go_together() -> None:
    with pytest.raises(RunError, match=r"seed = 1, seeds = \[2, 3\]: give either seed or seeds"):
        Scenario.from_toml(LINE).run(seed=1, seeds=[2, 3])


def test_series_are_written_in_parts_while_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "ROWS_PER_PART", 60)
    result = design(tmp_path)
    parts = sorted(path.name for path in (tmp_path / "series").glob("links-0-*"))
    assert parts == ["links-0-0.parquet", "links-0-1.parquet", "links-0-2.parquet", "links-0-3.parquet"]
    series = result.series_links
    assert series.height == 20 * 10 * 28
    assert series.filter(run=0)["time_s"].unique().sort().to_list() == pytest.approx([3.0 * n for n in range(1, 11)])


def test_captures_are_appended_under_the_names_of_the_nodes(tmp_path: Path) -> None:
    text = LINE.replace("title =", 'capture = [["A", "B"]]\ntitle =')
    execute(Scenario.from_toml(text), directory=tmp_path, make=FakeSimulation)
    assert (tmp_path / "captures" / "0-A-B.pcapng").read_bytes() == b"1,2,3,4,5,6,7,8,9,10,"


def test_an_interrupt_keeps_what_there_is(tmp_path: Path) -> None:
    """Ctrl-C comes in the third step of the first run, which continues once the signal has been taken."""

    def at_step(simulation: FakeSimulation) -> None:
        if simulation.steps == 3:
            interrupt_runs()

    former = signal.getsignal(signal.SIGINT)
    result = design(tmp_path, jobs=1, make=lambda spec: FakeSimulation(spec, at_step))
    assert signal.getsignal(signal.SIGINT) is former
    assert result.interrupted
    assert [run["status"] for run in result.manifest["runs"]] == ["interrupted"]
    assert result.manifest["runs"][0]["simulated_s"] == pytest.approx(9.0)
    assert Result.load(tmp_path).interrupted
    assert result.flows.height == 1
    assert result.series_flows.height == 3


@pytest.mark.parametrize("existed", [False, True])
def test_a_run_that_fails_leaves_no_debris(tmp_path: Path, existed: bool) -> None:
    def refuse(spec: CompiledRun) -> FakeSimulation:
        raise ValueError("no")

    directory = tmp_path / "out"
    if existed:
        directory.mkdir()
    with pytest.raises(RunError):
        design(directory, make=refuse)
    assert list(tmp_path.rglob("*")) == [directory] * existed


def refuse_spraying(spec: CompiledRun) -> FakeSimulation:
    if spec["traffic"][0]["routing"] == 1:
        raise ValueError("no such path")
    return FakeSimulation(spec)


def test_what_the_engine_refuses_is_said_with_its_variant() -> None:
    with pytest.raises(RunError, match="stack = newreno, routing = spray: no such path"):
        design(make=refuse_spraying)
    assert refusals(Scenario.from_toml(DESIGN), refuse_spraying).describe() == [
        f"scenario: stack = {stack}, routing = spray: no such path" for stack in ("newreno", "mprc")
    ]


def test_a_queue_that_holds_no_packet_is_refused_at_its_key(tmp_path: Path) -> None:
    """The real engine's refusal names the file and the line, for each key that may set the link's queue."""
    own = '[[topology.override]]\nlink = ["B", "A"]\none_way = true\nqueue = { limit = "9 B" }\n'
    overridden = LINE.replace("[[traffic]]", f'{own}[[topology.override]]\nlink = ["A", "B"]\ncost = 2.0\n[[traffic]]')
    says = "link {}: limit {} bytes: holds no packet of {} bytes"
    for text, line, place, link in (
        (overridden, 12, 'topology.override[0].queue.limit = "9 B"', says.format("B -> A, queue", 9, 40)),
        (
            overridden.replace("[topology]", '[topology]\nqueue = "codel"').replace("\none_way = true", "", 1),
            12,
            'topology.override[0].queue.limit = "9 B"',
            says.format("A -> B, queue", 9, 1500),
        ),
        (
            LINE.replace("[topology]", '[topology]\nqueue = { limit = "1e-9 bdp" }'),
            4,
            'topology.queue.limit = "1e-9 bdp"',
            says.format("A -> B, queue", 1, 1500),
        ),
    ):
        path = tmp_path / "line.toml"
        path.write_text(text)
        scenario = Scenario.load(path)
        (found,) = refusals(scenario).describe()
        assert found.startswith(f"{path}:{line}: {place}: {link}")
        with pytest.raises(RunError) as error:
            scenario.run()
        assert str(error.value) == found


def test_a_tbf_with_less_than_a_packet_is_refused_at_its_key(tmp_path: Path) -> None:
    """Linux would drop each of them; htb lets its bucket go below zero."""
    own = '[[topology.override]]\nlink = ["A", "B"]\nshaper = { kind = "tbf", burst = "1000 B", line = "1Gbps" }\n[[traffic]]'
    path = tmp_path / "line.toml"
    path.write_text(LINE.replace("[[traffic]]", own))
    (found,) = refusals(Scenario.load(path)).describe()
    assert found == (
        f'{path}:11: topology.override[0].shaper.burst = "1000 B": link A -> B, shaper: burst 1000 bytes: '
        "tbf drops packets of 1500 bytes, which traffic 'traffic-1' sends there; give at least 1500 bytes"
    )
    for other in (own.replace("tbf", "htb"), own.replace("1000 B", "1500 B")):
        assert not refusals(Scenario.from_toml(LINE.replace("[[traffic]]", other))).problems


def test_all_that_the_engine_refuses_is_said_at_once() -> None:
    """Two queues of the real engine, and two traffic groups."""
    own = '[[topology.override]]\nlink = ["A", "B"]\nqueue = { limit = "100 B" }\n[[traffic]]'
    text = LINE.replace("[topology]", '[topology]\nqueue = { limit = "200 B" }').replace("[[traffic]]", own)
    places = [problem.path for problem in refusals(Scenario.from_toml(text)).problems]
    assert places == [("topology", "queue", "limit"), ("topology", "override", 0, "queue", "limit")]

    def refuse(spec: CompiledRun) -> FakeSimulation:
        names = [group["name"] for group in spec["traffic"]]
        raise ValueError(f"traffic '{names[-1]}', pairs: no")

    group = '[[traffic]]\nfrom = "A"\nto = "B"\nstack = "newreno"\n'
    found = refusals(Scenario.from_toml(LINE.replace("[run]", 2 * group + "[run]")), refuse)
    assert [problem.path for problem in found.problems] == [("traffic", index) for index in range(3)]


@pytest.mark.parametrize(
    ("says", "place"),
    [
        ("traffic 'traffic-2', pairs: none", "scenario:16: traffic[1]: "),
        ("stack 'own', congestion: no", "scenario:23: stacks.own: "),
        ("routing 'spray', from 'A' to 'C': no path", "scenario:25: routing.spray: "),
        ("stack 'newreno', congestion: no", "scenario: "),  # a preset stands nowhere
        ("more than 2^32 flows", "scenario: "),
    ],
)
def test_what_the_engine_refuses_is_said_at_its_place(says: str, place: str) -> None:
    group = '[[traffic]]\nfrom = "A"\nto = "B"\nstack = "own"\nrouting = "ospf"\n[run]'
    text = LINE.replace('"newreno"', '"newreno"\nrouting = "spray"').replace("[run]", group)
    text += "[stacks.own]\nsack = true\n[routing.spray]\npaths = { disjoint = 2 }\n"

    def refuse(spec: CompiledRun) -> FakeSimulation:
        raise ValueError(says)

    assert refusals(Scenario.from_toml(text), refuse).describe() == [place + says]


def test_variants_that_the_engine_refuses_are_left_out(tmp_path: Path) -> None:
    """The others are what they are without them, and the manifest says why."""
    scenario = Scenario.from_toml(DESIGN)
    result = execute(
        scenario, directory=tmp_path, make=refuse_spraying, leave_out=True, report=write_report, show_progress=False
    )
    assert result.refused == [
        {"variant": {"stack": stack, "routing": "spray"}, "why": "no such path"} for stack in ("newreno", "mprc")
    ]
    assert not result.interrupted
    whole = design()
    left = ~pl.col("variant_routing").eq("spray")
    assert result.flows.equals(whole.flows.filter(left))
    assert result.hash != whole.hash
    assert Result.load(tmp_path).documents()["refused"] == result.refused
    assert "stack = newreno, routing = spray: no such path" in (tmp_path / "report.html").read_text()


def test_a_variant_of_which_one_run_fails_is_left_out_with_all_its_seeds() -> None:
    def refuse(spec: CompiledRun) -> FakeSimulation:
        if (spec["traffic"][0]["routing"], spec["seed"]) == (1, 3):
            raise ValueError("seed 3 does not go")
        return FakeSimulation(spec)

    result = execute(Scenario.from_toml(DESIGN), make=refuse, leave_out=True, show_progress=False)
    assert result.flows["variant_routing"].unique().to_list() == ["ospf"]
    assert [one["why"] for one in result.refused] == ["seed 3 does not go"] * 2


def test_a_run_that_is_always_late_is_not_left_out() -> None:
    """Another attempt may succeed, so the command fails and keeps what is finished."""

    def refuse(spec: CompiledRun) -> FakeSimulation:
        traffic = spec["traffic"][0]
        if traffic["routing"] == 1:
            is_mprc = spec["stacks"][traffic["transport"]["tcp"]["stack"]]["name"] == "mprc"
            raise RunAgain("too late") if is_mprc else ValueError("no such path")
        return FakeSimulation(spec)

    with pytest.raises(RunError, match="stack = mprc, routing = spray: too late"):
        execute(Scenario.from_toml(DESIGN), make=refuse, leave_out=True, show_progress=False)


def test_if_all_variants_are_refused_there_is_no_result(tmp_path: Path) -> None:
    def refuse(spec: CompiledRun) -> FakeSimulation:
        raise ValueError("no")

    with pytest.raises(RunError, match="stack = newreno, routing = ospf: no"):
        execute(Scenario.from_toml(DESIGN), directory=tmp_path / "out", make=refuse, leave_out=True)
    assert not list(tmp_path.iterdir())


def test_a_result_is_saved_and_loaded(tmp_path: Path) -> None:
    result = execute(Scenario.from_toml(LINE), make=FakeSimulation)
    result.save(tmp_path / "copy")
    again = Result.load(tmp_path / "copy")
    assert again.flows.equals(result.flows)
    assert again.hash == result.hash
    assert "A line" in again._repr_html_()
    with pytest.raises(ResultError, match="not empty"):
        result.save(tmp_path / "copy")
    with pytest.raises(ManifestError, match="a run directory is what"):
        Result.load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(ManifestError, match="format is 99"):
        Result.load(tmp_path)


def test_documents_have_the_command_line_s_form() -> None:
    single = execute(Scenario.from_toml(LINE), make=FakeSimulation).documents()
    assert (single["scenario"], single["engine"], single["seed"]) == ("A line", "packet", 1)
    assert single["flows"][0]["src"] == "A"
    assert len(single["links"]) == 4
    several = design().documents()
    assert several["runs"][0]["variant"] == {"stack": "newreno", "routing": "ospf"}
    json.dumps(several, allow_nan=False)


def test_frames_turn_indexes_into_names_and_nan_into_null() -> None:
    columns = {
        "flow": np.array([0, 1, 2], dtype=np.uint32),
        "stack": np.array([1, 2**32 - 1, 0], dtype=np.uint32),
        "state": ["S0", "S1", "S0"],
        "share": np.array([0.1, np.nan, 0.3]),
    }
    table = frame("states", columns, {"run": 7, "seed": 1}, {"stack": ["a", "b"]})
    assert table.select("run", "stack", "share").to_dict(as_series=False) == {
        "run": [7, 7, 7],
        "stack": ["b", None, "a"],
        "share": [0.1, None, 0.3],
    }


def test_the_hash_sees_every_value_but_not_the_number_of_the_run() -> None:
    def result_hash(flows: pl.DataFrame, links: pl.DataFrame, run: int = 0) -> str:
        (found,) = result_hashes(*(own.with_columns(run=pl.lit(run)) for own in (flows, links)), [run])
        return found

    table = pl.DataFrame({"run": [0, 0], "x": [1.0, None], "name": ["ab", "c"]})
    links = pl.DataFrame({"run": [0], "y": [1]})
    assert result_hash(table, links) == result_hash(table, links, 5)
    others = [
        table.with_columns(x=pl.Series([1.0, 0.0])),
        table.with_columns(name=pl.Series(["a", "bc"])),
        table.rename({"x": "z"}),
        table.reverse(),
    ]
    assert len({result_hash(other, links) for other in [table, *others]}) == 5


def test_the_real_engine_gives_the_same_bytes_twice() -> None:
    scenario = Scenario.from_toml(LINE)
    first, second = scenario.run(seed=1), scenario.run(seed=1, jobs=1)
    assert first.hash == second.hash
    assert 0 < first.flows["goodput_bps"].item() < 10e6
    assert scenario.run(seeds=[1, 2]).flows["seed"].to_list() == [1, 2]


@pytest.mark.parametrize(("failures", "attempts"), [(0, None), (2, 3)])
def test_a_run_that_was_late_is_run_again(tmp_path: Path, failures: int, attempts: int | None) -> None:
    made: list[FakeSimulation] = []

    def flows(simulation: FakeSimulation) -> None:
        if simulation.steps == 10 and len(made) <= failures:
            raise RunAgain("too late")

    def make(spec: CompiledRun) -> FakeSimulation:
        made.append(FakeSimulation(spec, flows))
        return made[-1]

    result = execute(Scenario.from_toml(LINE), directory=tmp_path, jobs=1, make=make, show_progress=False)
    assert len(made) == failures + 1
    assert result.manifest["runs"][0].get("attempts") == attempts
    assert not list(tmp_path.glob("**/*.partial"))


def test_a_run_that_is_always_late_is_refused(tmp_path: Path) -> None:
    def late(_simulation: FakeSimulation) -> None:
        raise RunAgain("too late")

    with pytest.raises(RunError, match="too late"):
        execute(
            Scenario.from_toml(LINE),
            directory=tmp_path,
            make=lambda spec: FakeSimulation(spec, late),
            show_progress=False,
        )


def test_a_run_says_what_other_results_it_replaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same runs again replace nothing of others; another seed does, and files beside the result are named."""
    out = str(tmp_path / "out")
    command = ["run", "example:slow-start", "--set", "run.duration=1s", "--no-report", "-o", out]
    assert status([*command, "--seed", "1"]) == 0
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert status([*command, "--seed", "1"]) == 0
    assert "Replaced" not in capsys.readouterr().err
    assert status([*command, "--seed", "2"]) == 0
    assert "not replaced: notes.txt" in capsys.readouterr().err
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
