"""Sweeps: their runs, the results that they keep, and their commands."""

import json
import math
import os
import re
import shutil
import signal
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from threading import Event

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from anabranch.cli import status
from anabranch.engines.packet import CompiledRun
from anabranch.foundation import progress
from anabranch.foundation.output_files import FileError
from anabranch.foundation.progress import Shown
from anabranch.network.topologies import topohub_names
from anabranch.results import statistics
from anabranch.results.result import Result
from anabranch.runs.kept import engine_build
from anabranch.scenario import Scenario
from anabranch.studies.sweep import (
    Sweep,
    SweepError,
    SweepResult,
    estimate,
    execution,
    store,
    tasks,
    workers,
)
from anabranch.studies.sweep.columns import FACTS, HEAD, TAKEN
from anabranch.studies.sweep.tasks import Batch, Chunk, OtherBuildError, Task, execute
from anabranch.studies.sweep.until import Rounds, Until
from tests.fake_simulation import FakeSimulation
from tests.sweep_plans import plan, sweep

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hashes of all runs that this process executes."""
    hashes: list[str] = []

    def counted(chunk: Chunk, *arguments: object) -> Batch:
        hashes.extend(task.run_hash for task in chunk.tasks)
        return execute(chunk, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "execute", counted)
    return hashes


@pytest.mark.parametrize("engine", ["packet", "predict"])
def test_the_tables_are_those_of_a_run_of_the_same_matrix(tmp_path: Path, engine: str) -> None:
    """One by one through `run`, whose tables are made for each run by itself."""
    swept = sweep(tmp_path, engines=[engine], links=True).execute(tmp_path / "out", jobs=1)
    text = (tmp_path / "scenario.toml").read_text()
    matrix = text.replace('"newreno"', '["newreno", "cubic"]').replace("0.01", "[0.01, 0.02, 0.03]")
    single: Result = Scenario.from_toml(matrix).run(engine=engine, seeds=[1, 2])
    for name, order in (("flows", ["variant_stack", "loss", "seed"]), ("links", ["stack", "loss", "seed", "link"])):
        one, other = getattr(swept, name), getattr(single, name)
        if name == "links":
            one = one.rename({"variant_stack": "stack"})
        assert one.height == other.height
        columns = [column for column in other.columns if column != "run"]
        assert_frame_equal(one.sort(order).select(columns), other.sort(order).select(columns))


COLUMNS = ["flows", "runs", "unfinished", "goodput_bps", "time", "slow", "first", "counts", "part", "place", "source"]


def test_a_key_may_have_the_name_of_any_column(tmp_path: Path) -> None:
    """Columns of the summary, and columns from which it is computed: its numbers are those of a plan with other names."""

    def summary(name: str, names: list[str]) -> pl.DataFrame:
        stacks = "\n".join(f'{one} = [{{ preset = "newreno" }}, {{ preset = "linux-cubic" }}]' for one in names)
        path = plan(tmp_path, name=name, more=f"[[conditions.zip]]\n[conditions.zip.stacks]\n{stacks}")
        scenario = tmp_path / "scenario.toml"
        scenario.write_text(scenario.read_text().replace("bulk = true", 'size = "10kB"'))
        assert status(["sweep", str(path), "--out", str(tmp_path / name), "--until", "ci < 50 %"]) == 0
        result = SweepResult.load(tmp_path / name)
        assert result.summary.height == 2 * 3 * 2
        return result.summary.drop("engine", *result.document["treatments"], *result.document["conditions"])

    found = summary("clashing", COLUMNS)
    assert_frame_equal(found, summary("plain", [f"stack-{number}" for number in range(len(COLUMNS))]))
    assert set(found.columns) <= TAKEN
    assert status(["sweep", str(tmp_path / "clashing.toml"), "--out", str(tmp_path / "clashing"), "--json"]) == 0
    assert status(["export", str(tmp_path / "clashing")]) == 0
    assert "variant_flows" in (tmp_path / "clashing" / "csv" / "summary.csv").read_text()
    assert status(["report", str(tmp_path / "clashing"), "--output", str(tmp_path / "report.html")]) == 0


def test_runs_with_names_of_their_own_share_a_table(tmp_path: Path) -> None:
    """Nodes, stacks and traffic, in runs that one table is made of."""
    more = """
[[conditions.zip]]
topology.links = [[{ source = "A", target = "B", capacity = "1Mbps", delay = "5ms" }], [{ source = "C", target = "B", capacity = "1Mbps", delay = "5ms" }]]
traffic.0.from = ["A", "C"]
impairments.0.link = [["A", "B"], ["C", "B"]]
traffic.0.name = ["first", "second"]
"""
    flows = sweep(tmp_path, more=more).execute(tmp_path / "out", jobs=1).flows
    pairs = flows.select("traffic", "src", "dst").unique().sort("traffic").rows()
    assert pairs == [("first", "A", "B"), ("second", "C", "B")]
    assert flows.filter(stack="cubic").height == flows.height // 2


def test_the_number_of_processes_and_parts_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sweep(tmp_path, links=True)
    one = found.execute(tmp_path / "one", jobs=1)
    monkeypatch.setattr(store, "ROWS_PER_PART", 3)
    monkeypatch.setattr(execution, "FLUSH_S", 0.0)
    monkeypatch.setattr(execution, "CHUNK_S", 1e-9)
    two = found.execute(tmp_path / "two", jobs=2)
    assert len(list((tmp_path / "two" / "flows").glob("*.parquet"))) > 1
    assert_frame_equal(one.flows, two.flows)
    assert_frame_equal(one.links, two.links)


def test_values_that_do_not_go_together_are_rows_with_an_error(tmp_path: Path, executed: list[str]) -> None:
    more = 'run.warm_up = ["0s", "250ms"]\nrun.duration = ["300ms", "200ms"]'
    path = plan(tmp_path, more=more)
    out = tmp_path / "out"
    assert status(["sweep", str(path), "--out", str(out), "-j", "1"]) == 1
    result = SweepResult.load(out)
    assert result.runs() == 2 * 3 * 4 * 2
    failures = result.failures
    assert failures.select("warm_up", "duration").unique().rows() == [(0.25, 0.2)]
    assert failures.height == 2 * 3 * 2
    assert all("must be shorter than duration" in error for error in failures["error"])
    count = len(executed)
    assert status(["sweep", str(path), "--out", str(out), "-j", "1"]) == 1
    assert len(executed) == count
    assert_frame_equal(SweepResult.load(out).flows, result.flows)


def test_what_an_engine_refuses_is_a_row_with_its_error(tmp_path: Path) -> None:
    more = 'traffic.0.start = ["0s", "200ms"]'
    result = sweep(tmp_path, engines=["packet", "predict"], seeds=1, more=more).execute(tmp_path / "out", jobs=1)
    refused = result.failures
    assert refused.select("engine", "start", "status").unique().rows() == [("predict", 0.2, "refused")]
    assert "flows that start after the first quarter" in refused["error"][0]
    assert result.flows.filter(status="complete").height == 2 * 3 * 3


def test_a_run_that_kills_its_process_does_not_end_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of its chunk have results, and the same command tries it again, and no other."""
    monkeypatch.setattr(execution, "MOST_DEATHS", 2)
    (tmp_path / "deadly.py").write_text(
        "import os\nfrom anabranch.engines.control import Control\n"
        "class Deadly(Control):\n    def __init__(self, flow):\n        os.kill(os.getpid(), 9)\n"
    )
    more = '[[treatments.zip]]\n"stacks.x.congestion" = ["newreno", { python = "deadly.py:Deadly" }, "cubic"]\nrun.duration = ["100ms", "200ms", "300ms"]'
    found = sweep(tmp_path, losses=(0.01,), seeds=1, stacks=["x"], more=more)
    result = found.execute(tmp_path / "out", jobs=2)
    rows = result.flows.group_by("duration", "status").len().sort("duration").rows()
    assert rows == [(0.1, "complete", 1), (0.2, "failed", 1), (0.3, "complete", 1)]
    assert "killed by signal 9, 2 times" in result.failures["error"][0]
    with store.Store(tmp_path / "out", found) as opened:
        assert len(opened.finished) == 2


def test_a_control_that_ctrl_c_interrupts_is_not_refused(tmp_path: Path) -> None:
    """The same command must try its run again. The first Ctrl-C cuts the control off."""
    (tmp_path / "slow.py").write_text(
        "import os, signal, time\nfrom anabranch.engines.control import Control\n"
        "class Slow(Control):\n    told = []\n    def avoid_congestion(self, ack, growth):\n"
        "        if not self.told:\n            os.kill(os.getpid(), signal.SIGINT)\n"
        "        self.told.append(1)\n        while True:\n            time.sleep(0.1)\n"
    )
    more = '[[treatments.zip]]\n"stacks.x.congestion" = [{ python = "slow.py:Slow" }]\nrun.duration = ["5s"]'
    found = sweep(tmp_path, losses=(0.01,), seeds=1, stacks=["x"], more=more)
    assert found.execute(tmp_path / "out", jobs=1).interrupted
    assert SweepResult.load(tmp_path / "out").flows.is_empty()


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_is_shown_while_the_first_run_goes_on(
    tmp_path: Path, jobs: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of the kernel engine, one after another in the command's process, take minutes each."""
    (tmp_path / "slow.py").write_text(
        "import time\nfrom anabranch.engines.control import Control\n"
        "class Slow(Control):\n    def __init__(self, flow):\n        super().__init__(flow)\n        time.sleep(1)\n"
    )
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    monkeypatch.setattr(progress, "LINE_INTERVAL_S", 0.0)
    more = '[[treatments.zip]]\n"stacks.x.congestion" = [{ python = "slow.py:Slow" }]\nrun.duration = ["1s"]'
    found = sweep(tmp_path, losses=(0.01, 0.02), seeds=1, stacks=["x"], more=more)
    found.execute(tmp_path / "out", jobs=jobs, show_progress=True)
    assert "0 of 2 runs" in capsys.readouterr().err


def test_a_killed_sweep_decides_as_if_it_had_no_run_of_the_next_seeds(tmp_path: Path) -> None:
    """A flow that finishes with a later seed makes a goodput say nothing, but only from that seed on."""
    found = sweep(tmp_path, losses=(0.01,), seeds=3)
    result = found.execute(tmp_path / "out", jobs=1, until="ci < 0.1 %", max_seeds=4)
    last = pl.col("seed") == 4
    sized = result.flows.with_columns(
        size_bytes=pl.lit(10**9, pl.UInt64), fct_s=pl.when(last).then(0.2), end_s=pl.when(last).then(0.2)
    )
    undisturbed, killed = (Rounds(found, Until(0.001, 4)) for _ in range(2))
    first = undisturbed.further(sized.filter(~last).lazy())
    assert first == [6, 7]
    assert killed.further(sized.lazy()) == first
    assert killed.further(sized.lazy()) == []


def test_a_cell_with_a_failed_run_gets_no_more_seeds(tmp_path: Path) -> None:
    """Two of its three goodputs are known, and an interval of these would narrow with further seeds; but one of them would be missing again."""
    found = sweep(tmp_path, losses=(0.01, 0.02), seeds=3, stacks=("cubic",))
    flows = found.execute(tmp_path / "out", jobs=1).flows
    is_failed = (pl.col("loss") == 0.01) & (pl.col("seed") == 2)
    unknown = [pl.when(~is_failed).then(pl.col(name)).alias(name) for name in ("flow", "goodput_bps", "start_s")]
    rows = flows.with_columns(*unknown, status=pl.when(is_failed).then(pl.lit("failed")).otherwise("status"))
    assert {found.run(number).seed for number in Rounds(found, Until(0.001, 10)).further(flows.lazy())} == {4, 5, 6}
    rounds = Rounds(found, Until(0.001, 10))
    assert "1 have no goodput of lasting flows with every seed" in rounds.describe(rows.lazy())
    assert {*found.labels(rounds.further(rows.lazy()))["loss"]} == {0.02}


def test_a_run_that_is_cut_short_has_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes in the second of three runs, which have a result each without it."""
    found = sweep(tmp_path, stacks=("cubic",), seeds=1)
    chosen = [Task(str(number), "packet", json.dumps(found.compiled(found.run(number)))) for number in range(3)]
    chunk = Chunk(chosen, links=True, build=engine_build())
    stop, began = Event(), []

    def interrupt(simulation: FakeSimulation) -> None:
        if len(began) == 2 and simulation.steps == 3:
            stop.set()

    def make(engine: str, stop: Event, spec: CompiledRun) -> FakeSimulation:
        began.append(engine)
        return FakeSimulation(spec, interrupt)

    monkeypatch.setattr(tasks, "_simulation", make)
    batch = execute(chunk, stop)
    assert [facts["run_hash"] for facts in batch.facts] == ["0"]
    assert {row for name in ("flows", "links") for table in batch.tables[name] for row in table["run_hash"]} == {"0"}
    began.clear()
    assert len(execute(chunk, Event()).facts) == 3


def test_links_of_a_run_whose_flows_were_not_written_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command was killed between the two tables. The links of other runs stay."""
    found, out = sweep(tmp_path, links=True), tmp_path / "out"
    with monkeypatch.context() as patch:
        failing_writes(patch, 5)  # links and flows in turn
        with pytest.raises(FileError, match="No space"):
            found.execute(out, jobs=1)
    stopped = SweepResult.load(out)
    assert 0 < stopped.flows["run"].n_unique() < stopped.links["run"].n_unique()
    with store.Store(out, found) as opened:
        kept = SweepResult.load(out)
        assert set(kept.links["run"]) == set(kept.flows["run"]) == opened.finished == set(stopped.flows["run"])


def test_an_interrupted_sweep_removes_results_of_former_plans_that_it_has_taken(
    tmp_path: Path, executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes before its first new run. What it has not taken stays for the former plan."""
    out = tmp_path / "out"
    sweep(tmp_path, stacks=("cubic",), losses=(0.01, 0.03)).execute(out, jobs=1)
    sweep(tmp_path, stacks=("cubic",), losses=(0.05,)).execute(out, jobs=1)
    assert len(list(out.glob(".anabranch/kept/*"))) == 1
    sweep(tmp_path, stacks=("cubic",), losses=(0.07,)).execute(out, jobs=1)
    assert len(list(out.glob(".anabranch/kept/*"))) == 2
    executed.clear()

    def interrupted(work: object, chunk: Chunk) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(workers.Here, "submit", interrupted)
        patch.setattr(workers.Here, "collect", lambda *_: [])
        result = sweep(tmp_path, stacks=("cubic",), losses=(0.01, 0.03, 0.04)).execute(out, jobs=1)
    assert (result.interrupted, executed) == (True, [])
    assert sorted(result.flows["loss"].unique()) == [0.01, 0.03]
    (kept, *others) = (pl.read_parquet(path) for path in out.glob(".anabranch/kept/*"))
    assert {*kept["run_hash"]}.isdisjoint(result.flows["run_hash"])
    assert all({*one["run_hash"]}.isdisjoint(result.flows["run_hash"]) for one in others)


def test_a_worker_is_deaf_to_an_interrupt_from_its_first_moment_on() -> None:
    """A terminal sends Ctrl-C to all processes of a command, also while they import."""
    processes = workers.Processes(1)
    try:
        processes.submit(Chunk([], links=False, build=engine_build()))
        answers: list[workers.Answer] = []
        while not answers:
            os.kill(processes._processes[0].process.pid, signal.SIGINT)
            answers = processes.collect(0.02)
        assert isinstance(answers[0][1], Batch)
    finally:
        processes.close()


def test_a_worker_with_another_build_is_refused() -> None:
    """On a cluster its results might differ, by a bit."""
    processes = workers.Processes(1)
    try:
        processes.submit(Chunk([], links=False, build="another"))
        with pytest.raises(OtherBuildError, match="install the same wheel everywhere"):
            processes.collect(60)
    finally:
        processes.close()


def test_a_changed_plan_runs_only_what_is_new(tmp_path: Path, executed: list[str]) -> None:
    out = tmp_path / "out"
    first = sweep(tmp_path, seeds=2, links=True)
    before = first.execute(out, jobs=1)
    flows, links = before.flows, before.links
    assert len(executed) == 12
    wider = sweep(tmp_path, seeds=3, losses=(0.04, 0.02, 0.01), stacks=["cubic"], links=True)
    after = wider.execute(out, jobs=1)
    assert len(executed) == 12 + 3 + 2
    assert_frame_equal(after.flows, wider.execute(tmp_path / "fresh", jobs=1).flows)
    executed.clear()
    again = first.execute(out, jobs=1)
    assert executed == []
    assert_frame_equal(again.flows, flows)
    assert_frame_equal(again.links, links)


@pytest.mark.parametrize("table", ["flows", "links"])
def test_a_damaged_part_is_named_and_its_runs_are_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    out = tmp_path / "out"
    whole = sweep(tmp_path, links=True).execute(out, jobs=1)
    flows, links = whole.flows, whole.links
    part = out / table / "part-00000.parquet"
    data = part.read_bytes()
    place = data.index(b"newreno") if table == "flows" else len(data) // 2
    part.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
    for command in (["report", str(out)], ["export", str(out)]):
        assert status(command) == 1
        assert f"{part}: is damaged" in capsys.readouterr().err
    assert status(["sweep", str(tmp_path / "plan.toml"), "-o", str(out)]) == 0
    assert f"{part} was damaged and has been removed; its runs are run again." in capsys.readouterr().err
    again = SweepResult.load(out)
    assert_frame_equal(again.flows, flows)
    assert_frame_equal(again.links, links)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1])])
def test_a_damaged_part_of_a_former_plan_is_made_anew(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    out = tmp_path / "out"
    whole = sweep(tmp_path, links=True).execute(out, jobs=1)
    flows, links = whole.flows, whole.links
    sweep(tmp_path, links=True, losses=(0.01,)).execute(out, jobs=1)
    (kept,) = (out / ".anabranch" / "kept").glob("links-*.parquet")
    damage(kept)
    again = sweep(tmp_path, links=True).execute(out, jobs=1)
    assert_frame_equal(again.flows, flows)
    assert_frame_equal(again.links, links)


def test_progress_of_a_changed_plan_counts_all_runs_and_times_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two more seeds for each of 4 cells: 8 runs are new, and 8 are there already. These say nothing of the time that is left, and the total is fixed."""
    said: list[str] = []
    monkeypatch.setattr(
        Shown, "show", lambda shown, done, what, rate: said.append(f"{what}: {done / shown._total:.0%}")
    )
    sweep(tmp_path, losses=(0.01, 0.02)).execute(tmp_path / "out", jobs=1)
    said.clear()
    sweep(tmp_path, losses=(0.01, 0.02), seeds=4).execute(tmp_path / "out", jobs=1)
    assert said[-1] == "16 of 16 runs (8 kept): 100%"
    assert all(" of 16 runs" in line for line in said)


def test_a_changed_file_of_the_scenario_changes_its_runs(tmp_path: Path, executed: list[str]) -> None:
    path = plan(tmp_path)
    scenario = tmp_path / "scenario.toml"
    text = re.sub(r"topology.links = .*", 'topology.from = "my.csv"', scenario.read_text())
    scenario.write_text(text)
    topology = "source,target,capacity,delay\nA,B,{},5ms\n"
    (tmp_path / "my.csv").write_text(topology.format("10Mbps"))
    first = Sweep.load(path).execute(tmp_path / "out", jobs=1).flows
    assert Sweep.load(path).execute(tmp_path / "out", jobs=1).flows.equals(first)
    assert len(executed) == 12
    (tmp_path / "my.csv").write_text(topology.format("5Mbps"))
    second = Sweep.load(path).execute(tmp_path / "out", jobs=1).flows
    assert len(executed) == 24
    assert not second.equals(first)


def test_changed_data_of_topohub_changes_the_runs(
    tmp_path: Path, executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another version of the package brings: here the links of Abilene are twice as long."""
    path = plan(tmp_path)
    scenario = tmp_path / "scenario.toml"
    text = re.sub(
        r"topology.links = .*", 'topology = { from = "topozoo/Abilene", capacity = "10Mbps" }', scenario.read_text()
    )
    scenario.write_text(text.replace('"A"', '"Denver"').replace('"B"', '"Seattle"'))
    first = Sweep.load(path).execute(tmp_path / "out", jobs=1).flows
    assert Sweep.load(path).execute(tmp_path / "out", jobs=1).flows.equals(first)
    assert len(executed) == 12
    longer = topohub_names.document("topozoo/Abilene")
    for edge in longer["edges"]:
        edge["dist"] *= 2
    monkeypatch.setattr(topohub_names, "document", lambda _: deepcopy(longer))
    second = Sweep.load(path).execute(tmp_path / "out", jobs=1).flows
    assert len(executed) == 24
    assert not second.equals(first)


def test_runs_that_are_the_same_are_done_once(tmp_path: Path, executed: list[str]) -> None:
    found = sweep(tmp_path, more='topology.queue = ["drop-tail", { limit = "100 packets" }]', losses=(0.01,))
    result = found.execute(tmp_path / "out", jobs=1)
    assert len(executed) == 2 * 2
    assert result.flows["run"].to_list() == list(range(2 * 2 * 2))
    assert result.flows["run_hash"].n_unique() == 4


@pytest.mark.parametrize("table", ["links", "flows"])
def test_a_full_disk_between_the_tables_loses_no_finished_run(
    tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sweep(tmp_path, links=True)
    whole = found.execute(tmp_path / "whole", jobs=1)
    write = store.Store._write

    def failing(self: store.Store, part: str, rows: pl.DataFrame) -> None:
        if part.startswith(table) and rows.height > 3:
            raise OSError(28, "No space left on device", part)
        write(self, part, rows)

    with monkeypatch.context() as patch:
        patch.setattr(execution, "FLUSH_S", 0.0)
        patch.setattr(execution, "CHUNK_S", 1e-9)
        patch.setattr(store.Store, "_write", failing)
        with pytest.raises(FileError, match="No space"):
            found.execute(tmp_path / "out", jobs=1)
    result = found.execute(tmp_path / "out", jobs=1)
    assert_frame_equal(result.flows, whole.flows)
    assert_frame_equal(result.links, whole.links)


def failing_writes(patch: pytest.MonkeyPatch, allowed: int) -> None:
    """Let a sweep write each run by itself, and fail after this number of parts."""
    write, written = store.Store._write, iter(range(1000))

    def full(self: store.Store, part: str, rows: pl.DataFrame) -> None:
        if next(written) == allowed:
            raise OSError(28, "No space left on device", part)
        write(self, part, rows)

    patch.setattr(execution, "FLUSH_S", 0.0)
    patch.setattr(execution, "CHUNK_S", 1e-9)
    patch.setattr(store.Store, "_write", full)


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (0, "no run has been written, or what was written has been removed; the same command begins anew"),
        (2, "runs written before are kept, and the same command continues"),
    ],
)
def test_the_message_of_a_full_disk_says_what_is_kept(
    tmp_path: Path, allowed: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sweep(tmp_path)
    with monkeypatch.context() as patch:
        failing_writes(patch, allowed)
        with pytest.raises(FileError, match=rf"No space .*; {said}$"):
            found.execute(tmp_path / "out", jobs=1)


def test_a_sweep_whose_directory_is_removed_says_so(tmp_path: Path) -> None:
    """Its finished runs are gone: none of them is said to be kept."""
    found, out = sweep(tmp_path), tmp_path / "out"
    with store.Store(out, found) as opened:
        opened.add(Batch.of_error("a", "refused", "no"), {"a": [0]})
        opened.flush()
        shutil.rmtree(out)
        opened.add(Batch.of_error("b", "refused", "no"), {"b": [1]})
        with pytest.raises(FileError) as raised:
            opened.flush()
    assert str(raised.value) == (
        f"{out}: cannot be written (No such file or directory); {out} was removed or renamed while the sweep went on, and its results with it"
    )
    assert not out.exists()


def test_an_interrupt_before_the_first_result_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return True

    path, out = plan(tmp_path), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(execution._Work, "_compile", interrupted)
        assert status(["sweep", str(path), "--out", str(out), "-j", "1"]) == 130
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1:] == ["No run has a result yet."]
    assert "Interrupted: no run has finished, and the same command continues from there." in printed.err


def test_the_tables_open_in_pandas_and_by_a_glob(tmp_path: Path) -> None:
    found = sweep(tmp_path)
    result = found.execute(tmp_path / "out", jobs=1)
    assert pd.read_parquet(tmp_path / "out" / "flows").shape == result.flows.shape
    assert pl.read_parquet(tmp_path / "out" / "flows" / "*.parquet").sort("run").equals(result.flows)


def test_flows_without_any_and_completion_times(tmp_path: Path) -> None:
    """A run in which no flow arrives is finished all the same."""
    path = plan(tmp_path, losses=(0.01,), more='traffic.0.short.arrivals = ["0.001/s", "50/s"]')
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        scenario.read_text().replace("bulk = true", 'short = { arrivals = "1/s", sizes = [[1000, 0.0], [2000, 1.0]] }')
    )
    result = Sweep.load(path).execute(tmp_path / "out", jobs=1)
    assert result.runs() == 8
    assert result.failures.is_empty()
    assert result.flows.filter(arrivals=0.001)["flow"].to_list() == [None] * 4
    assert (result.summary["fct_mean_s"] > 0.01).all()
    assert result.summary["runs"].to_list() == [2] * 4
    for row in result.summary.to_dicts():
        own = result.flows.filter(variant_stack=row["variant_stack"], arrivals=row["arrivals"]).drop_nulls("flow")
        assert row["flows"] == own.height / 2


def test_a_prediction_has_its_own_interval_and_none_over_seeds(tmp_path: Path) -> None:
    """All seeds have one prediction: the interval over them would be 0, which says that nothing is uncertain."""
    found = sweep(tmp_path, engines=["packet", "predict"], losses=(0.01,), stacks=("newreno",), seeds=4)
    packet, predicted = found.execute(tmp_path / "out", jobs=1).summary.to_dicts()
    assert packet["goodput_interval_bps"] > 0
    assert (packet["low_bps"], packet["high_bps"]) == (None, None)
    assert predicted["goodput_interval_bps"] is None
    assert predicted["low_bps"] < predicted["goodput_bps"] < predicted["high_bps"]


def test_until_adds_the_seeds_that_the_interval_needs() -> None:
    rule = Until.read("ci < 10 %", 50)
    assert rule.wanted([100.0]) == 2
    assert rule.wanted([100.0, 100.0]) == 2
    spread = [80.0, 120.0, 90.0, 110.0]
    half = statistics.half_width(spread)
    assert half is not None
    assert rule.wanted(spread) == min(8, math.ceil(4 * (half / 10) ** 2))
    assert Until.read("ci<10%", 5).wanted(spread) == 5
    assert rule.wanted([0.0, 0.0]) == 2
    for text, most in (("ci < 0 %", None), ("ci > 2 %", None), ("2 %", None), ("ci < 2 %", 1)):
        with pytest.raises(SweepError, match="must be"):
            Until.read(text, most)


def test_until_ends_when_every_mean_is_known_or_has_all_its_seeds(tmp_path: Path, executed: list[str]) -> None:
    found = sweep(tmp_path, seeds=2)
    result = found.execute(tmp_path / "out", jobs=1, until="ci < 20 %", max_seeds=7)
    cells = result.flows.group_by("variant_stack", "loss").agg(pl.col("goodput_bps"), pl.col("seed").sort())
    counts = set()
    for goodput, seeds in cells.select("goodput_bps", "seed").rows():
        assert seeds == list(range(1, len(seeds) + 1))
        half = statistics.half_width(goodput)
        assert half is not None
        assert half <= 0.2 * np.mean(goodput) or len(seeds) == 7
        counts.add(len(seeds))
    assert len(counts) > 1, "some cells need more than others"
    assert "means of goodput are within ± 20 %" in result.note
    assert len(executed) == len(set(executed)) == result.runs()


def test_a_stopped_sweep_comes_to_the_same_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sweep(tmp_path, seeds=2)
    rule = {"jobs": 1, "until": "ci < 20 %", "max_seeds": 7}
    whole = found.execute(tmp_path / "whole", **rule)  # type: ignore[arg-type]
    count = iter(range(1000))

    def stopping(chunk: Chunk, *arguments: object) -> Batch:
        if next(count) % 5 == 4:
            raise MemoryError
        return execute(chunk, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "execute", stopping)
    monkeypatch.setattr(execution, "CHUNK_S", 1e-9)
    stops = 0
    while True:
        try:
            result = found.execute(tmp_path / "out", **rule)  # type: ignore[arg-type]
        except MemoryError:
            stops += 1
        else:
            break
    assert stops > 2
    assert_frame_equal(result.flows, whole.flows)


def test_a_dry_run_counts_and_keeps_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = plan(tmp_path), tmp_path / "out"
    Sweep.load(plan(tmp_path, losses=(0.01, 0.02, 0.03))).execute(out, jobs=1)
    before = sorted(out.rglob("*"))
    assert status(["sweep", str(path), "--out", str(out), "--dry-run", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["runs"], done["finished"], done["pilots"]) == (12, 12, 0)
    assert sorted(out.rglob("*")) == before
    assert status(["sweep", str(path), "--out", str(out), "--dry-run"]) == 0
    assert capsys.readouterr().out == "runs    12, all of them finished: nothing is left to run\n"
    assert status(["sweep", str(path), "--out", str(tmp_path / "none"), "--dry-run", "-j", "2"]) == 0
    text = capsys.readouterr().out
    for line in (
        r"^runs +12, 0 of them",
        r"^time +about [\d.]+ m?s on 2 at a time",
        r"^memory +about",
        r"^disk +about",
    ):
        assert re.search(line, text, re.MULTILINE), line
    assert "6 pilot runs" in text
    assert not (tmp_path / "none").exists()


def test_a_dry_run_knows_every_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the time for pilot runs is over at once, each engine has one. Twelve runs of 300 ms in real time take 3.6 s."""
    monkeypatch.setattr(estimate, "BUDGET_S", 0.0)
    found = sweep(tmp_path, engines=["packet", "predict", "kernel"])
    guess = estimate.estimate(found, tmp_path / "none", jobs=1)
    assert (guess.pilots, guess.unknown) == (3, [])
    assert 3.6 < guess.seconds < 60

    def refused(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(Sweep, "compiled", refused)
    path = plan(tmp_path, engines=["predict"])
    assert status(["sweep", str(path), "--out", str(tmp_path / "none"), "--dry-run"]) == 0
    assert "Time without the runs of predict: no pilot run of it had a result." in capsys.readouterr().out


def test_the_command_prints_a_summary_and_its_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = plan(tmp_path), tmp_path / "out"
    assert status(["sweep", str(path), "--out", str(out), "-j", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Two stacks over a link that loses"
    assert lines[1].split() == ["loss", "stack", "runs", "goodput", "±", "95", "%", "retransmits"]
    assert [line.split()[1] for line in lines[2:]] == ["newreno", "cubic"] * 3  # what is compared is side by side
    assert status(["sweep", str(path), "--out", str(out), "-j", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    means = (
        SweepResult.load(out).flows.group_by("variant_stack", "loss", maintain_order=True).agg(pl.mean("goodput_bps"))
    )
    assert [row["goodput_bps"] for row in document["summary"]] == pytest.approx(means["goodput_bps"].to_list())


def test_the_summary_names_the_only_value_that_has_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The predict engine refuses flows that start after the first quarter: without its name, the row left would be of either start."""
    more = 'traffic.0.start = ["0s", "200ms"]'
    path = plan(tmp_path, engines=["predict"], stacks=["newreno"], losses=(0.01,), seeds=1, more=more)
    assert status(["sweep", str(path), "--out", str(tmp_path / "out"), "-j", "1"]) == 1
    _title, head, row, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "start"
    assert row.split()[:3] == ["0", "s", "1"]


def test_tables_have_the_keys_of_the_plan_before_a_second_value_has_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted sweep may have one cell: without its stack and loss, nobody knows what the row is of."""
    monkeypatch.setattr(Sweep, "numbers", lambda sweep: [0])
    out = str(tmp_path / "out")
    assert status(["sweep", str(plan(tmp_path)), "--out", out, "-j", "1"]) == 0
    _title, head, row, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["loss", "stack", "runs"]
    assert row.split()[:3] == ["0.01", "newreno", "1"]
    assert status(["export", out, "-o", str(tmp_path / "csv")]) == 0
    assert {"loss", "stack"} <= set(pl.read_csv(tmp_path / "csv" / "summary.csv").columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cluster", "tcp://127.0.0.1:1", "-j", "2"], "--jobs and --cluster: a cluster's workers decide"),
        (["--cluster", "tcp://127.0.0.1:1", "-j", "2", "--dry-run"], "--jobs and --cluster"),
        (["--max-seeds", "5"], "--max-seeds goes with until"),
        (["--max-seeds", "5", "--dry-run"], "--max-seeds goes with until"),
        (["--until", "soon", "--dry-run"], '--until "soon": must be such as "ci < 2 %"'),
        (["--until", "soon"], '--until "soon": must be such as "ci < 2 %"'),
        (["-j", "0"], "--jobs 0: must be at least 1"),
    ],
)
def test_options_that_cannot_be_meant(
    tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["sweep", str(plan(tmp_path)), "--out", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_directory_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(plan(tmp_path))
    assert status(["sweep", path, "--out", str(tmp_path), "-j", "1"]) == 1
    assert "is not the directory of a sweep" in capsys.readouterr().err
    with pytest.raises(SweepError, match="is not the directory of a sweep"):
        SweepResult.load(tmp_path)


def test_a_plan_of_the_same_name_says_where_the_results_of_the_other_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the default directory runs/plan."""
    monkeypatch.chdir(tmp_path)
    paths = []
    for name, loss in (("a", 0.01), ("b", 0.02)):
        (tmp_path / name).mkdir()
        paths.append(str(plan(tmp_path / name, losses=(loss,), seeds=1).relative_to(tmp_path)))
    for path, others in ((paths[0], None), (paths[0], None), (paths[1], paths[0]), (paths[0], paths[1])):
        assert status(["sweep", path, "-j", "1"]) == 0
        said = capsys.readouterr().err
        assert ("note: " in said) == (others is not None)
        if others is not None:
            assert (
                f"note: runs/plan has results of the plan {others}. Those that this plan does not need wait in" in said
            )


def test_a_second_command_is_refused(tmp_path: Path) -> None:
    found = sweep(tmp_path)
    with store.Store(tmp_path / "out", found), pytest.raises(ValueError, match="/out: in use by process"):
        found.execute(tmp_path / "out", jobs=1)


def test_the_plans_of_the_guide_can_be_swept(tmp_path: Path) -> None:
    page = (GUIDE / "sweeps.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    root = GUIDE.parents[1]
    assert tomllib.loads(first) == tomllib.loads((root / "sweeps" / "random-loss.toml").read_text())
    found = Sweep(tomllib.loads(f'scenario = "scenarios/lossy-link.toml"\n{second}'), directory=root)
    assert found.points == 2 * 200 * 2
    assert found.conditions == ["capacity", "delay", "limit", "loss"]


def described(page: str) -> Iterator[str]:
    """The columns of the page's table."""
    text = (GUIDE / page).read_text(encoding="utf-8").partition("## The tables")[2].partition("\n## ")[0]
    yield from re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


def test_the_page_on_sweeps_names_the_columns_that_the_code_declares() -> None:
    assert list(described("sweeps.md")) == [column.name for column in (*HEAD, *FACTS)]
