"""The replay of a run: its packets are those of the run's tables, and the page plays them."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anabranch.engines.packet import CompiledRun, Simulation, new_simulation
from anabranch.pages.replay import Recording, ReplayError, record, write
from anabranch.runs import execute
from anabranch.scenario import Scenario
from tests.browser import Browser, violations
from tests.report_fixture import change_manifest

ROOT = Path(__file__).parents[2]


def run(directory: Path, **changes: Any) -> Path:
    """A run of two flows over a bottleneck, with losses on the wire and drops in its queue."""
    document = {
        "title": "Two flows",
        "topology": {
            "generate": {"kind": "dumbbell", "pairs": 2, "bottleneck": "10Mbps"},
            "queue": {"limit": "20 packets"},
        },
        "impairments": [{"link": "all", "loss": 0.003}],
        "traffic": [{"from": ["s1", "s2"], "to": ["d1", "d2"], "pattern": "pairs", "bulk": True, "stack": "cubic"}],
        "run": {"duration": "2s"},
    }
    Scenario(document | changes).run(directory=directory)
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("replay") / "run")


@pytest.fixture(scope="module")
def recording(directory: Path) -> Recording:
    return record(directory, at_s=0.5, for_s=0.2)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "topology": {"from": "dumbbell", "queue": {"discipline": "codel"}},
            "traffic": [{"from": "left", "to": "right", "flows": 4}],
        },
        {"events": [{"at": "1s", "fail": ["left", "right"]}, {"at": "1.2s", "repair": ["left", "right"]}]},
    ],
    ids=["drop-tail", "codel", "failure"],
)
def test_a_recording_of_the_whole_run_has_the_counts_of_the_links_table(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """The table comes from the default event loop, the recording from the other one."""
    directory = run(tmp_path / "run", **changes)
    found = record(directory, at_s=0, for_s=2)
    table = pl.read_parquet(directory / "links.parquet").sort("link")
    link, fate = np.asarray(found.crossings["link"]), np.asarray(found.crossings["fate"])

    def counts(*fates: str) -> list[int]:
        return [int(np.sum((link == number) & np.isin(fate, fates))) for number in table["link"]]

    assert counts("dropped") == table["queue_drops"].to_list()
    assert counts("lost") == table["losses"].to_list()
    assert sum(counts("lost")) > 0
    # Packets that a failing link holds or refuses have not crossed it.
    crossed = counts("arrived") if "events" in changes else counts("arrived", "lost")
    assert crossed == pytest.approx(table["packets"].to_list(), abs=20 if "events" in changes else 0)
    assert sum(crossed) > 1000


def test_a_packet_crosses_no_faster_than_its_link(recording: Recording) -> None:
    columns = recording.crossings
    arrived = np.asarray(columns["fate"]) == "arrived"
    link = np.asarray(columns["link"])[arrived]
    least = (
        np.array([one["delay_s"] for one in recording.links])[link]
        + np.asarray(columns["bytes"])[arrived] * 8 / np.array([one["rate_bps"] for one in recording.links])[link]
    )
    took = np.asarray(columns["left_s"])[arrived] - np.asarray(columns["entered_s"])[arrived]
    assert (took >= least - 1e-9).all()
    assert (np.asarray(columns["left_s"])[arrived] >= 0.5).all()


def test_packets_depart_at_a_trace_s_opportunities_and_take_the_delay_of_that_instant(tmp_path: Path) -> None:
    """One packet departs at each millisecond of the trace at most, and the delay's table says when it arrives."""
    (tmp_path / "down").write_text("2\n3\n5\n9\n")
    (tmp_path / "delay.csv").write_text("time,delay\n0s,30ms\n0.5s,10ms\n0.8s,40ms\n")
    directory = run(
        tmp_path / "run",
        topology={
            "links": [{"source": "a", "target": "b"}],
            "override": [
                {
                    "link": ["a", "b"],
                    "one_way": True,
                    "capacity": {"trace": str(tmp_path / "down")},
                    "delay": {"table": str(tmp_path / "delay.csv"), "repeat": "1s"},
                }
            ],
        },
        traffic=[{"from": "a", "to": "b", "bulk": True, "stack": "cubic"}],
    )
    found = record(directory, at_s=0, for_s=2)
    columns = {name: np.asarray(values) for name, values in found.crossings.items()}
    varies = [link["src"] for link in found.links].index("a")
    arrived = (columns["link"] == varies) & (columns["fate"] == "arrived")
    departs, left = columns["departs_s"][arrived], columns["left_s"][arrived]
    milliseconds = departs * 1e3
    assert len(set(np.round(milliseconds))) == len(milliseconds) > 500
    assert milliseconds == pytest.approx(np.round(milliseconds), abs=1e-6)
    assert set(np.round(milliseconds) % 9) == {2, 3, 5, 0}
    second = departs % 1
    delay = np.where(second < 0.5, 0.03, np.where(second < 0.8, 0.01, 0.04))
    # Where the delay falls, a packet waits for the one ahead.
    assert left == pytest.approx(np.maximum.accumulate(departs + delay), abs=1e-8)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"run": 7}, "--run 7: .* has the runs 0$"),
        ({"at_s": 9.0}, "--at 9s: the run lasts 2 s"),
        ({"for_s": 0.0}, "--for 0s: must be longer than 0 s"),
    ],
)
def test_what_cannot_be_replayed_is_refused(directory: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ReplayError, match=problem):
        record(directory, **options)


def test_a_run_over_a_file_that_has_changed_is_not_replayed(tmp_path: Path) -> None:
    """Its packets would be those of another network than its tables and its report show."""
    network = tmp_path / "network.csv"
    text = "source,target,capacity,delay\na,b,10Mbps,5ms\n"
    network.write_text(text)
    traffic = [{"from": "a", "to": "b", "bulk": True}]
    found = run(tmp_path / "run", topology={"from": str(network)}, impairments=[], traffic=traffic)
    assert record(found, for_s=0.1).links[0]["rate_bps"] == 10e6
    network.write_text(text.replace("10Mbps", "20Mbps"))
    with pytest.raises(ReplayError, match="a file that its scenario names has changed since"):
        record(found, for_s=0.1)
    network.write_text(text.replace("\n", "\r\n"))
    assert record(found, for_s=0.1).links[0]["rate_bps"] == 10e6


def test_a_run_of_another_variant_than_its_scenario_has_is_not_replayed(tmp_path: Path) -> None:
    traffic = [{"from": "a", "to": "b", "bulk": True, "stack": ["newreno", "cubic"]}]
    found = run(tmp_path / "run", topology={"links": [{"source": "a", "target": "b"}]}, impairments=[], traffic=traffic)
    runs = json.loads((found / "manifest.json").read_text())["runs"]
    change_manifest(found, runs=[runs[0], runs[1] | {"variant": {"stack": "kubic"}}])
    with pytest.raises(ReplayError, match=r"run 1 is of \{'stack': 'kubic'\}, which the scenario"):
        record(found, run=1, for_s=0.1)


def test_the_first_run_is_that_of_the_first_variant_that_the_engine_takes(tmp_path: Path) -> None:
    """Refused variants leave gaps between the numbers: here from 0 to 9, and from 20 to 29."""

    def refuse(spec: CompiledRun) -> Simulation:
        if {stack["name"] for stack in spec["stacks"]} & {"newreno", "vegas"}:
            raise ValueError("refused")
        return new_simulation(spec)

    document = {
        "topology": {"from": "dumbbell"},
        "traffic": [{"from": "left", "to": "right", "bulk": True, "stack": ["newreno", "cubic", "vegas", "westwood"]}],
        "run": {"duration": "100ms", "seeds": 10},
    }
    execute(Scenario(document), directory=tmp_path, make=refuse, leave_out=True, show_progress=False)
    assert record(tmp_path).variant == "cubic"
    with pytest.raises(ReplayError, match=r"--run 0: .* has the runs 10, 11, 12, 13, 14, 15, 16, 17 and 12 more$"):
        record(tmp_path, run=0)


def test_the_command_writes_the_page_beside_the_tables(directory: Path) -> None:
    command = [sys.executable, "-m", "anabranch", "replay", str(directory), "--at", "0.1s", "--for", "20ms"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{directory / 'replay.html'}\n"
    command[-1] = "20"
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "--for 20: must be a duration with its unit" in failed.stderr


READY = "document.documentElement.dataset.player === 'ready'"


def test_the_player_shows_what_is_on_the_links_and_plays_on(
    browser: Browser, recording: Recording, tmp_path: Path
) -> None:
    """When most packets wait, as many move and wait as the columns say; then playing moves the clock."""
    columns = {name: np.asarray(values) for name, values in recording.crossings.items()}
    links = recording.links
    transfer = np.array([links[link]["delay_s"] for link in columns["link"]]) + columns["bytes"] * 8 / np.array(
        [links[link]["rate_bps"] for link in columns["link"]]
    )
    begun = columns["left_s"] - transfer
    known = np.isin(columns["fate"], ["arrived", "lost"])
    instants = range(10_000, 150_000, 10_000)
    waiting_at = [
        (known & (columns["entered_s"] <= 0.5 + at / 1e6) & (begun > 0.5 + at / 1e6)).sum() for at in instants
    ]
    sought = instants[int(np.argmax(waiting_at))]
    at = 0.5 + sought / 1e6
    moving = known & (begun <= at) & (columns["left_s"] >= at)
    waiting = known & (columns["entered_s"] <= at) & (begun > at)
    browser.open(write(recording, tmp_path / "replay.html"), until=READY)
    now, moves, waits = browser.evaluate(
        f"""(() => {{
            const seek = document.getElementById("seek");
            seek.value = {sought};
            seek.dispatchEvent(new Event("input"));
            return ["now", "moving", "waiting"].map(name => Number(document.body.dataset[name]));
        }})()"""
    )
    browser.evaluate("document.getElementById('play').click()")
    browser.wait(f"Number(document.body.dataset.now) > {sought}")
    browser.evaluate("document.getElementById('play').click()")
    assert browser.evaluate("document.documentElement.dataset.errors") == ""
    assert now == sought
    assert abs(moves - moving.sum()) <= 2, "times on the page are rounded to microseconds"
    assert abs(waits - waiting.sum()) <= 2
    assert waits > 3


def test_the_recording_ends_where_the_page_is_full(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.pages.replay.recording.MOST_CROSSINGS", 500)
    monkeypatch.setattr("anabranch.pages.replay.recording._EVENTS", 100)
    found = record(directory, at_s=0.5, for_s=1)
    assert found.is_cut
    assert 0.5 < found.until_s < 1.5


def test_hostile_names_are_only_text(browser: Browser, tmp_path: Path) -> None:
    bad = "</script><script>document.documentElement.dataset.errors='pwned'</script>"
    directory = run(tmp_path / "run", title=bad)
    browser.open(write(record(directory, at_s=0.5, for_s=0.01), tmp_path / "replay.html"), until=READY)
    assert browser.evaluate("document.documentElement.dataset.errors") == ""
    assert browser.evaluate("document.querySelector('h1').textContent") == bad


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (400, True)])
def test_the_player_fits_requests_nothing_and_axe_finds_nothing(
    browser: Browser, recording: Recording, tmp_path: Path, width: int, dark: bool
) -> None:
    browser.open(write(recording, tmp_path / "replay.html"), width, dark=dark, until=READY)
    assert browser.messages == []
    assert len(browser.requests) == 1
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(browser) == []


def test_the_commands_of_the_page_for_teaching_work(tmp_path: Path) -> None:
    """All commands of docs/guide/teaching.md, in a directory of their own."""
    text = (ROOT / "docs" / "guide" / "teaching.md").read_text()
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(commands) == 11
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "anabranch"
        subprocess.run([sys.executable, "-m", program, *words], cwd=tmp_path, check=True, capture_output=True)
    pages = sorted(page.name for page in tmp_path.rglob("*.html") if page.name != "report.html")
    replays = [line for line in commands if " replay " in line and "--film" not in line]
    assert len(pages) == len(replays), "no command overwrites the page of another"
    late = [record(tmp_path / "runs" / "spraying", run=number, at_s=3, for_s=0.3) for number in range(2)]
    again = [int(np.sum(one.crossings["retransmission"])) for one in late]
    assert again[0] > again[1], "newreno sends again what was only late; mprc waits"
