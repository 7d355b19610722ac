"""``anabranch study fabrics`` on a small fabric: its rows are measured, its bounds hold, and an interruption gives what is complete."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest

from anabranch.cli import status
from anabranch.engines import packet
from anabranch.runs import execution
from anabranch.scenario import Scenario
from anabranch.studies import fabrics
from anabranch.studies.fabrics import ROWS, Fabric, FabricAnswer, choices, study
from anabranch.studies.fabrics.answer import HEAD, Value, _cell, _written

SMALL = Fabric(
    leaves=2, spines=2, hosts=4, permutation_bytes=200_000, incast_bytes=100_000, incast_senders=4, ring_bytes=100_000
)
KINDS = ["permutation", "incast", "all-reduce", "slow-spine"]


@pytest.fixture(scope="module")
def answer() -> FabricAnswer:
    return study(SMALL, seeds=2, show_progress=False)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's fabric is small."""
    monkeypatch.setattr(fabrics.answer, "Fabric", lambda: SMALL)


def test_every_row_is_measured_under_every_kind_of_traffic(answer: FabricAnswer) -> None:
    assert list(answer.cells) == KINDS
    assert (answer.planned, answer.complete, answer.interrupted) == (len(KINDS) * len(ROWS) * 2, answer.planned, False)
    for kind in KINDS:
        table = answer.table(kind)
        assert [len(row) for row in table.rows] == [len(HEAD)] * len(ROWS)
        assert list(answer.cells[kind]) == [row.name for row in ROWS]
        assert {cell.unfinished for cell in answer.cells[kind].values()} == {0}


def test_nothing_is_faster_than_the_least_time(answer: FabricAnswer) -> None:
    """The bound of an incast counts the bytes of all messages on the receiver's line; that of a ring, its steps one after another."""
    for cells in answer.cells.values():
        for cell in cells.values():
            assert cell.times_least is not None
            assert cell.last_us is not None
            assert cell.median_us is not None
            assert cell.times_least.mean > 0.999
            assert cell.median_us.mean <= cell.last_us.mean


def test_the_least_times_are_those_of_worked_numbers() -> None:
    """Four messages of 100 kB are 25 packets each: 101,600 bytes on the wire, 8.128 us at 100 Gbit/s."""
    assert SMALL.least_s("incast", [10e-6, 12e-6]) == pytest.approx(10e-6 + 3 * 8.128e-6)
    assert SMALL.least_s("all-reduce", [1e-6, 3e-6]) == pytest.approx(2 * 7 * 2e-6)
    assert SMALL.least_s("permutation", [1e-6, 3e-6]) == 3e-6


def test_a_flow_on_one_path_is_not_reordered_and_a_sprayed_one_is(answer: FabricAnswer) -> None:
    cells = answer.cells["slow-spine"]
    for row in ROWS:
        if row.entropy == "flow":
            assert cells[row.name].extent == 0
        elif row.entropy == "oblivious":
            assert cells[row.name].extent > 0


def test_the_slow_spine_costs_time_and_messages_that_learn_avoid_it(answer: FabricAnswer) -> None:
    def last(kind: str, row: str) -> float:
        value = answer.cells[kind][row].last_us
        assert value is not None
        return value.mean

    assert last("slow-spine", "linux-cubic-over-oblivious") > last("permutation", "linux-cubic-over-oblivious")
    assert last("slow-spine", "uet-nscc-over-mixed") < last("slow-spine", "uet-nscc-over-oblivious")


def with_times_least(answer: FabricAnswer, times: dict[str, list[Value | None]]) -> FabricAnswer:
    """The answer with these rows alone, and these multiples of the least time under the kinds of traffic."""
    cells = {
        kind: {
            name: replace(next(iter(answer.cells[kind].values())), times_least=values[number])
            for name, values in times.items()
        }
        for number, kind in enumerate(KINDS)
    }
    return replace(answer, cells=cells, rows=tuple(row for row in ROWS if row.name in times))


def test_a_transport_gets_the_policy_whose_worst_multiple_is_least(answer: FabricAnswer) -> None:
    """A policy that is best under three kinds of four loses by the fourth; one with unfinished messages is no choice."""
    one, close, far = (Value(mean, 0.2) for mean in (1.0, 1.3, 3.0))
    times: dict[str, list[Value | None]] = {
        "linux-dctcp-over-flow": [one, one, one, far],
        "linux-dctcp-over-plb": [close, close, close, close],
        "linux-dctcp-over-reps": [close, close, Value(1.4, 0.2), close],
        "mprc-over-oblivious": [one, None, one, one],
        "uet-nscc-over-mixed": [one, one, one, one],
    }
    nscc, dctcp = choices(with_times_least(answer, times))
    assert (nscc.transport, nscc.entropy, nscc.level) == ("uet-nscc", "mixed", ())
    assert (dctcp.transport, dctcp.entropy, dctcp.worst, dctcp.level) == ("linux-dctcp", "plb", close, ("reps",))
    times["linux-dctcp-over-flow"][2] = Value(4.0, 0.2)
    del times["linux-dctcp-over-plb"], times["linux-dctcp-over-reps"]
    assert choices(with_times_least(answer, times))[-1].kind == "all-reduce", "where the multiple is greatest"


def test_one_seed_does_not_say_which_policies_are_level(answer: FabricAnswer) -> None:
    times: dict[str, list[Value | None]] = {"mprc-over-oblivious": [Value(1.0, None)] * len(KINDS)}
    (choice,) = choices(with_times_least(answer, times))
    assert choice.level is None


def test_scenarios_have_no_warnings() -> None:
    for document in Fabric().scenarios().values():
        assert Scenario(document).warnings.as_records() == []


def test_seeds_make_means_with_intervals() -> None:
    value = Value.of([1.0, 3.0])
    assert value.mean == 2
    assert value.interval == pytest.approx(12.706, rel=1e-3), "Student's t with one degree of freedom, times 1"
    assert Value.of([4.0]) == Value(4.0, None)


@pytest.mark.usefixtures("small")
def test_the_command_prints_a_table_for_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["study", "fabrics", "--seeds", "1"]) == 0
    said = capsys.readouterr().out
    for title in ("Permutation of 0.2 MB", "Incast of 4 times 0.1 MB", "All-reduce of 0.1 MB in a ring", "slow spine"):
        assert title in said
    assert said.count("linux-cubic         flow") >= len(KINDS)
    assert said.count("unknown for one seed") == len({row.transport for row in ROWS})


@pytest.mark.usefixtures("small")
def test_the_json_has_the_cells_and_the_directory_has_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["study", "fabrics", "--seeds", "1", "--json", "--out", str(tmp_path / "study")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["complete_runs"] == document["planned_runs"] == len(document["cells"]) == len(KINDS) * len(ROWS)
    assert {cell["median_us"]["interval"] for cell in document["cells"]} == {None}
    assert {choice["transport"] for choice in document["choices"]} == {row.transport for row in ROWS}
    for kind in KINDS:
        assert (tmp_path / "study" / kind / "flows.parquet").is_file()


@pytest.mark.usefixtures("small")
def test_an_interruption_gives_the_rows_that_are_complete_and_the_command_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The request to stop comes as the twentieth run begins."""
    begun = 0
    simulation = execution._simulation

    def counted(engine: Any, threads: int, stop: Event, spec: packet.CompiledRun) -> packet.Simulation:
        nonlocal begun
        begun += 1
        if begun == 20:
            stop.set()
        return simulation(engine, threads, stop, spec)

    command = ["study", "fabrics", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path / "study")]
    with monkeypatch.context() as patched:
        patched.setattr(execution, "_simulation", counted)
        assert status([*command, "--json"]) == 130
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["interrupted"]
    assert 0 < document["complete_runs"] == len(document["cells"]) < document["planned_runs"]
    assert f"Interrupted: {document['complete_runs']} of {document['planned_runs']} runs complete" in err
    assert status([*command, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [cell for cell in again["cells"] if cell in document["cells"]] == document["cells"]
    assert not again["interrupted"]


def test_a_message_that_does_not_finish_leaves_the_times_unknown() -> None:
    """One of two finishes: its time is no median. What was lost and sent again is known."""
    counts = {name: [1, 2] for name in ("retransmits", "spurious_retransmits", "timeouts")}
    most = {"reordering_extent_max": [3, 4], "reassembly_peak_bytes": [5, 6]}
    times = {"fct_s": [1e-6, None], "start_s": [0.0, 0.0], "end_s": [1e-6, None], "idle_fct_s": [1e-6, 1e-6]}
    links = pl.DataFrame({"trimmed": [7, 0], "queue_drops": [0, 8]})
    cell = _cell(SMALL, "incast", [(pl.DataFrame({**counts, **most, **times}), links)])
    assert (cell.median_us, cell.p99_us, cell.last_us, cell.times_least) == (None,) * 4
    assert (cell.lost.mean, cell.retransmits.mean, cell.extent, cell.held_bytes) == (15, 3, 4, 6)
    assert _written(cell)[:5] == ("1 unfinished", "-", "-", "-", "15")


def test_rows_without_a_run_are_marked(answer: FabricAnswer) -> None:
    cells = {kind: {name: cell for name, cell in row.items() if "uet" in name} for kind, row in answer.cells.items()}
    table = replace(answer, cells=cells, complete=1).table("incast")
    assert set(table.rows[0][2:]) == {"-"}
    assert "-" not in table.rows[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["clouds"], "clouds"),
        ([], "NAME"),
        (["fabrics", "--seeds", "0"], "--seeds 0: must be from 1 to 1,000"),
        (["fabrics", "--seeds", "2000"], "--seeds 2000: must be from 1 to 1,000"),
        (["fabrics", "--seeds", "many"], "--seeds many"),
        (["fabrics", "--jobs", "0"], "--jobs 0: must be at least 1"),
    ],
)
def test_bad_arguments_are_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["study", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "file"
    place.write_text("")
    assert status(["study", "fabrics", "--out", str(place)]) == 1
    assert str(place) in capsys.readouterr().err
