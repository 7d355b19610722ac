"""The command line: what goes to standard output and error, and the exit status."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len

from anabranch.cli import run as run_command
from anabranch.cli import status
from anabranch.cli.app import app
from anabranch.cli.overview import COMMANDS
from anabranch.foundation.text_table import TextTable, print_table, quantity
from anabranch.results.result import Result
from tests.scenarios import DESIGN, LINE


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "line.toml"
    path.write_text(LINE)
    return path


def test_the_columns_of_a_table_are_below_each_other_in_every_script(capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal gives an East Asian character two columns, and none to a combining accent: as rich counts them, too."""
    rows = [["北京", "1"], ["Sa\u0303o Paulo", "10"], ["شنغهاي", "100"]]
    print_table(TextTable(["node", "flows"], rows, text_columns=1))
    lines = capsys.readouterr().out.splitlines()
    assert [cell_len(line) for line in lines] == [len("São Paulo") + 2 + len("flows")] * 4


def test_check_accepts_and_refuses(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["check", str(scenario)]) == 0
    assert "1 variant x 1 seed, no problems" in capsys.readouterr().out
    scenario.write_text(LINE.replace("bulk", "bluk").replace("10Mbps", "10"))
    assert status(["check", str(scenario)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len([line for line in captured.err.splitlines() if line.startswith(f"{scenario}:")]) == 2
    assert status(["check", str(scenario), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {"file", "line", "field", "value", "message"} == set(document["problems"][0])


def test_run_prints_a_table_and_writes_a_run_directory(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["run", str(scenario), "--seeds", "1..3", "--set", 'traffic[0].stack=["newreno", "cubic"]']) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == "A line"
    assert lines[1].split()[:3] == ["stack", "runs", "goodput"]
    assert [line.split()[:2] for line in lines[2:4]] == [["newreno", "3"], ["cubic", "3"]]
    assert lines[4].startswith("Goodput: payload counted once")
    for name in ("manifest.json", "flows.parquet", "links.parquet", "report.html"):
        assert (Path("runs/line") / name).is_file()
    assert "runs/line/report.html" in captured.err
    assert status(["run", str(scenario), "--no-report"]) == 0
    assert Path("runs/line-2").is_dir()


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", ".", "-o", "missing/x.html"],
        ["report", "none", "-o", "missing/x.html"],
        ["figure", "none", "-o", "missing/x.svg"],
        ["routes", "none", "--picture", "missing/x.svg"],
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A replay may take minutes, which would be lost."""
    assert status(arguments) == 1
    assert capsys.readouterr().err == f"{arguments[-1]}: cannot be written (No such file or directory)\n"


FINITE = LINE.replace("bulk = true", 'size = ["10 kB", "3 MB"]').replace('stack = "newreno"', 'stack = "cubic"')


def test_flows_that_finish_have_completion_times_and_no_goodput(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A flow that finishes has no goodput over the duration: that would not say how long the flow took."""
    scenario.write_text(FINITE.replace("3 MB", "1 MB"))
    assert status(["run", str(scenario), "--no-report", "--out", "out"]) == 0
    out = capsys.readouterr().out
    assert "bit/s" not in out
    assert "goodput" not in out
    rows = [line.split() for line in out.splitlines()]
    head = rows.index(
        ["size", "size", "finished", "mean", "median", "95th", "99th", "slowdown", "median", "95th", "99th"]
    )
    times = Result.load("out").flows["fct_s"]
    assert rows[head + 1][:8] == ["10", "kB", "all", "1", "of", "1", *quantity(times[0], "s").split()]
    assert rows[head + 1][-4:] == ["1"] * 4, "alone in the network, the flow takes as long as it must"
    assert rows[head + 2][:8] == ["1", "MB", "all", "1", "of", "1", *quantity(times[1], "s").split()]
    assert "at least" not in out


def test_a_flow_that_does_not_finish_has_both(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """3 MB need more than the 2 s: 2.4 s at the line's 10 Mbit/s, and the headers."""
    scenario.write_text(FINITE)
    assert status(["run", str(scenario), "--no-report", "--out", "out"]) == 0
    out = capsys.readouterr().out
    goodput = Result.load("out").flows["goodput_bps"][1]
    rows = [line.split() for line in out.splitlines()]
    assert ["10", "kB", "1", "-", "-"] in [row[:5] for row in rows]
    assert ["3", "MB", "1", *quantity(goodput, "bit/s").split()] in [row[:5] for row in rows]
    idle = Result.load("out").flows["idle_fct_s"][1]
    assert idle > 2
    assert ["3", "MB", "all", "0", "of", "1", "≥", *quantity(idle, "s").split()] in [row[:9] for row in rows]
    assert "at least" in out


def test_the_json_document_has_completion_times_with_typed_keys(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario.write_text(FINITE)
    assert status(["run", str(scenario), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    first, second = (row for row in document["completion_times"] if row["size_below_bytes"] is None)
    flow = document["runs"][0]["flows"][0]
    assert (first["size"], first["fct_p99_s"], first["unfinished"]) == (10_000, flow["fct_s"], 0)
    assert (second["size"], second["fct_p99_s"], second["unfinished"]) == (3_000_000, None, 1)
    assert second["slowdown_p99_at_least"] == 1.0
    assert flow["slowdown"] == pytest.approx(1.0)
    assert document["runs"][1]["flows"][0]["slowdown"] is None


@pytest.mark.skipif(sys.platform != "linux", reason="paths elsewhere are text")
def test_a_path_that_is_no_text_loses_no_results(scenario: Path) -> None:
    path = scenario.rename(os.fsdecode(os.fsencode(scenario.parent) + b"/bad\xff.toml"))
    run = subprocess.run([sys.executable, "-m", "anabranch", "run", path, "--out", "here"], capture_output=True)
    assert run.returncode == 0, run.stderr
    assert {"manifest.json", "flows.parquet", "report.html"} <= {file.name for file in Path("here").iterdir()}
    assert json.loads(Path("here/manifest.json").read_text())["command"][2].endswith("/bad\\xff.toml")


@pytest.mark.skipif(sys.platform != "linux", reason="paths elsewhere are text")
@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
def test_a_directory_named_after_a_path_that_is_no_text_is_text(scenario: Path, command: str) -> None:
    """So are the titles and sources in its files."""
    folder = scenario.parent
    path = scenario.rename(os.fsdecode(os.fsencode(folder) + b"/bad\xff.toml"))
    path.write_text(re.sub("title = .*", "", path.read_text()))
    words = [path, "--engines", "packet,predict"] if command == "compare" else [path]
    if command == "sweep":
        (folder / "plain.toml").write_bytes(path.read_bytes())
        path.write_text('scenario = "plain.toml"')
    done = subprocess.run([sys.executable, "-m", "anabranch", command, *words], capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    (made,) = (folder / "runs").iterdir()
    assert made.name == ("bad\\xff-engines" if command == "compare" else "bad\\xff")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (4.5e-8, "bit/s", "0 bit/s"),
        (0.66, "bit/s", "0 bit/s"),
        (1.0, "bit/s", "1 bit/s"),
        (9.731e6, "bit/s", "9.731 Mbit/s"),
        (0.0012, "s", "1.2 ms"),
        (5e-10, "s", "500 ps"),
        (999.96, "s", "1000 s"),
        (2000.0, "s", "2000 s"),
        (3600.0, "s", "1 h"),
        (9999.6, "s", "2.778 h"),
        (-72000.0, "s", "-20 h"),
        (None, "s", "-"),
    ],
)
def test_quantities_have_a_readable_prefix(value: float | None, unit: str, shown: str) -> None:
    assert quantity(value, unit) == shown


def test_the_lateness_of_all_packets_is_no_less_than_that_of_most(capsys: pytest.CaptureFixture[str]) -> None:
    late = {"mean_s": 22e-6, "p99_s": 40e-6, "max_s": 45e-6}
    manifest = {"runs": [{"run": 0, "lateness": late, "scheduling": "SCHED_FIFO"}]}
    run_command._say_of_engine(Result(Path(), manifest))
    assert capsys.readouterr().err == (
        "Run 0: packets left 22 us late in the mean, 99 % within 40 us, all within 45 us (SCHED_FIFO).\n"
    )


def test_run_prints_one_json_document(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["run", str(scenario), "--json", "--seed", "7"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["seed"] == 7
    assert document["flows"][0]["dst"] == "C"
    assert not Path("runs").exists()


def test_report_of_several_runs(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        assert status(["run", str(scenario), "--no-report", "--out", name]) == 0
    capsys.readouterr()
    assert status(["report", "a", "b", "-o", "both.html"]) == 0
    assert capsys.readouterr().out == "both.html\n"
    assert "<html" in Path("both.html").read_text()


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range_is_named_with_its_option(
    scenario: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["run", str(scenario), "--seed", str(seed)]) == 2
    assert capsys.readouterr().err.startswith(f"--seed {seed}: must be a whole number from 0 to 9223372036854775807\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "line.toml", "--seed", "1.6"], "--seed 1.6: must be a whole number"),  # not 2
        (["run", "line.toml", "-j", "two"], "-j two: must be a whole number"),
        (["routes", "nsfnet", "--shortest", "2.5"], "--shortest 2.5: must be a whole number"),
        (["replay", "runs/line", "--run", "9" * 5000], f"--run {'9' * 5000}: must be a whole number"),
        (["robust", "nsfnet", "--gap", "x"], "--gap x: must be a number"),
        (["routes", "nsfnet", "--loss", "x"], '--loss x: must be a share such as "0.01" or "1%"'),
    ],
)
def test_a_number_that_is_none_is_named_with_its_option(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(arguments) == 2
    assert capsys.readouterr().err.startswith(f"{message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "run: SCENARIO is missing. A scenario file (TOML)"),
        (["run", "line.toml", "--set"], "run: --set has no value. Replace the value of a key"),
        (
            ["predict", "line.toml"],
            "predict: --rtt is missing, and line.toml is not taken. Round-trip time, such as 50ms.",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_help(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(arguments) == 2
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize(
    "arguments",
    [
        ["rum"],
        ["run"],
        ["run", "line.toml", "--engine", "abacus"],
        ["run", "line.toml", "--seed", "1", "--seeds", "2"],
        ["run", "line.toml", "--seeds", "5..1"],
        ["run", "line.toml", "--seeds", "1,1"],
        ["run", "line.toml", "--seeds", "1..10001"],
        ["run", "line.toml", "--seeds", "1..9999999999"],  # more than fit into memory
        ["run", "line.toml", "--seeds", "9223372036854775807,9223372036854775808"],
        ["run", "line.toml", "--seeds", "x"],
        ["run", "line.toml", "--set", "x"],
        ["run", "line.toml", "--jobs", "0"],
        ["run", "line.toml", "--max-lateness", "1ms"],  # only the kernel engine is late
        ["topology", "shwo"],
        ["run", "line.toml", "--engine", "kernel", "--jobs", "2"],
        ["replay", "runs/line", "--for", "0s"],
    ],
)
def test_wrong_usage_is_status_2(scenario: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert status(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "none.toml"],
        ["run", "line.toml", "--out", "/proc/none"],
        ["run", "line.toml", "--out", "."],
        ["run", "line.toml", "--set", "run.duration=0s"],
        ["report", "."],
        ["topology", "show", "topozoo/Abilne"],
    ],
)
def test_what_is_refused_is_status_1_with_a_message(
    scenario: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["robust", "tcpbp10", "--hose", "-1Mbps"],
            "--hose -1Mbps: is neither a file nor a rate: it must be a rate that is not negative",
        ),
        (["plan", "tcpbp10", "--pipe", "-1Mbps", "--capacity", "1Gbps"], "--pipe -1Mbps: is neither a file nor a rate"),
        (["plan", "nsfnet", "--hose", "1Mbps", "--capacity", "-10Gbps"], "--capacity -10Gbps: must be a rate"),
        (["predict", "--rtt", "-50ms", "--loss", "0.001"], "--rtt -50ms: must be a duration that is not negative"),
    ],
)
def test_a_negative_quantity_is_a_value(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(arguments) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("random", "is_random"), [("", False), ("\n[[impairments]]\nloss = 0.01\n", True)], ids=["nothing", "losses"]
)
def test_seeds_without_effect_are_named(
    random: str, is_random: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(LINE + random)
    assert status(["run", str(path), "--seeds", "1..2", "--no-report", "--out", str(tmp_path / "out")]) == 0
    flows = pl.read_parquet(tmp_path / "out" / "flows.parquet").drop("run", "seed")
    assert flows.is_duplicated().all() != is_random
    assert ("All seeds gave the same runs" in capsys.readouterr().out) != is_random
    assert status(["run", str(path), "--seed", "1", "--no-report", "--out", str(tmp_path / "out")]) == 0
    assert "All seeds" not in capsys.readouterr().out


def test_topologies(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["topology", "list", "abilene"]) == 0
    assert "topozoo/Abilene" in capsys.readouterr().out.splitlines()
    assert status(["topology", "list", "atlantis"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", 'No name contains "atlantis"; without a pattern all are listed.\n')
    assert status(["topology", "show", "dumbbell"]) == 0
    assert "10 ms" in capsys.readouterr().out
    assert status(["topology", "show", "topozoo/Abilene", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["links"]) == 28
    assert status(["topology", "plot", "dumbbell"]) == 0
    assert capsys.readouterr().out.startswith("<svg")


@pytest.mark.parametrize(
    "command",
    [
        ["topology", "plot", "dumbbell", "--output"],
        ["routes", "tcpbp10", "--picture"],
        ["robust", "nsfnet", "--hose", "1Mbps", "--capacity", "1Gbps", "--sweep", "--picture"],
    ],
)
def test_a_drawing_is_never_written_into_a_file_of_another_format(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status([*command, f"{tmp_path}/map.pdf"]) == 2
    assert f"{command[-1]} {tmp_path}/map.pdf: must end in .svg" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_schema_and_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Anabranch scenario"
    status(["doctor", "--json"])
    assert {"name", "ok", "detail"} <= set(json.loads(capsys.readouterr().out)["checks"][0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_kill_write_what_there_is(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "long.toml"
    path.write_text(DESIGN.replace('"30s"', '"50000s"'))
    command = [sys.executable, "-c", "from anabranch.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "run", str(path), "--no-report", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out/.anabranch/finished/*/series/*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(number)
    table, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted: 0 of 20 runs complete" in messages
    assert re.search(r"ospf +0 of \d+ ", table)
    assert re.search(r"Not among them: \d+ of 20 runs, which were interrupted", table)
    statuses = {run["status"] for run in json.loads((tmp_path / "out" / "manifest.json").read_text())["runs"]}
    assert statuses == {"interrupted"}


GROUPS = {
    "run": ["Scenario", "Work", "Output"],
    "check": ["Scenario", "Output"],
    "compare": ["Comparison", "Scenario", "Work", "Output"],
    "report": ["Output"],
    "sweep": ["Work", "Output"],
    "figure": ["Output"],
    "export": ["Output"],
    "replay": ["Scenario", "Output"],
    "routes": ["Topology", "Paths", "Comparison", "Export", "Output"],
    "robust": ["Topology", "Traffic", "Paths", "Failures", "Search", "Export", "Output"],
    "plan": ["Topology", "Traffic", "Paths", "Failures", "Export", "Output"],
    "weights": ["Topology", "Traffic", "Failures", "Search", "Export", "Output"],
    "advise": ["Topology", "Traffic", "Search", "Export", "Output"],
    "predict": ["Path", "Transport", "Output"],
    "paper": ["Work", "Output"],
    "study": ["Work", "Output"],
    "testbed": ["Topology", "Traffic", "Paths", "Work", "Output"],
    "controller": ["Network", "Scenario", "Output"],
    "drill": ["Scenario", "Output"],
    "schema": [],
    "doctor": ["Output"],
    "congestion-control new": [],
    "congestion-control check": [],
    "congestion-control load": ["Linux"],
    "congestion-control unload": [],
    "congestion-control list": ["Output"],
    "congestion-control trace": ["Path", "Linux", "Output"],
    "topology list": ["Output"],
    "topology show": ["Topology", "Output"],
    "topology plot": ["Topology", "Output"],
}


@pytest.mark.parametrize("command", GROUPS)
def test_the_help_page_of_each_command_has_its_options_in_groups(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status([*command.split(), "--help"]) == 0
    headings = re.findall("^╭─ ([A-Z][a-z]+) ", capsys.readouterr().out, re.MULTILINE)
    assert [heading for heading in headings if heading != "Arguments"] == GROUPS[command]


def test_every_command_is_on_the_first_page_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["--help"]) == 0
    said = re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", capsys.readouterr().out, re.MULTILINE)
    assert said == sorted(COMMANDS)


def test_the_first_page_says_of_each_command_what_its_own_page_says() -> None:
    pages = {name: app([name])[name].help.partition("\n\n")[0].replace("\n", " ") for name in COMMANDS}
    assert pages == COMMANDS


def test_without_a_command_the_first_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert status([]) == 0
    assert capsys.readouterr().out.startswith("Usage: anabranch COMMAND\n")


def test_two_signals_at_once_are_one(tmp_path: Path) -> None:
    """``timeout`` sends one to the process and one to its group; the solver's thread must not be torn down by the second."""
    code = (
        "import os, signal, threading, time; from anabranch.cli import entry\n"
        "def status():\n"
        "    twice = lambda: [(os.kill(os.getpid(), signal.SIGINT), time.sleep(0.05)) for _ in range(2)]\n"
        "    threading.Timer(0.1, twice).start()\n"
        "    try: time.sleep(30)\n"
        "    except KeyboardInterrupt: time.sleep(0.2); print('kept'); return 130\n"
        "entry.status = status; entry.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "kept\n", "")


def test_heavy_libraries_wait_until_they_are_needed() -> None:
    heavy = ("polars", "pydantic", "altair", "topohub", "networkx", "numpy", "tomlkit")
    code = f"import sys, anabranch, anabranch.cli; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def command_line(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python code with the program's ``main``; temporary files are in a folder of their own."""
    code = f"import gc, sys\nfrom anabranch.__main__ import main\n{code}"
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=environment
    )


def test_a_command_leaves_without_teardown_but_with_its_exit_handlers(scenario: Path, tmp_path: Path) -> None:
    """The teardown of modules and objects costs a tenth of a second; temporary folders are removed by an exit handler."""
    code = (
        "class Lasting:\n    def __del__(self): print('torn down', file=sys.stderr)\n"
        "lasting = Lasting()\n"
        "from tempfile import TemporaryDirectory\n"
        "sys.modules['tempfile'].kept = TemporaryDirectory(prefix='kept-')\n"
        "main()"
    )
    folder = tmp_path / "temporary"
    folder.mkdir()
    done = command_line(code.replace("main()", ""), folder=folder)
    assert done.stderr.startswith("torn down")
    done = command_line(code, "check", str(scenario), folder=folder)
    assert (done.returncode, done.stdout.endswith("no problems\n"), done.stderr) == (0, True, "")
    assert list(folder.iterdir()) == []
    assert command_line("main()", "run", "missing.toml", folder=folder).returncode == 1


def test_a_small_run_does_not_look_for_garbage_among_modules(scenario: Path, tmp_path: Path) -> None:
    code = (
        "import atexit\n"
        "count = lambda: sum(each['collections'] for each in gc.get_stats())\n"
        "first = count()\n"
        "atexit.register(lambda: print(count() - first))\n"
        "main()"
    )
    done = command_line(code, "run", str(scenario), "--out", str(tmp_path / "out"), folder=tmp_path)
    assert int(done.stdout.splitlines()[-1]) == 0


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "run --help",
        "--version",
        "schema",
        "topology list",
        "topology show topozoo/Abilene",
        "check {scenario}",
        "run {scenario} --out out",
        "run {scenario} --json",
        "sweep {plan} --out swept -j 1",
        "predict --rtt 10ms --loss 0.01",
        "routes topozoo/Abilene --from Seattle --to Atlanta --loss 0.01 --json",
        "drill --help",
        "doctor",
    ],
)
def test_results_that_cannot_be_printed_are_an_error_that_says_so(scenario: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "plan.toml").write_text(f'scenario = "{scenario}"\nseeds = 1\n')
    words = command.format(scenario=scenario, plan=tmp_path / "plan.toml").split()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "anabranch", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 1
    assert "standard output cannot be written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("output", "expected"), [("/dev/full", 1), ("/dev/null", 0)])
def test_output_that_cannot_be_written_fails(scenario: Path, output: str, expected: int) -> None:
    command = [sys.executable, "-m", "anabranch", "check", str(scenario)]
    with open(output, "w") as target:
        done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "No space left" in done.stderr) == (expected, bool(expected))


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_failure(scenario: Path, tmp_path: Path, closed: str) -> None:
    command = f"{sys.executable} -m anabranch run {scenario} --out {tmp_path / 'out'} {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr, "runs" in done.stdout) == (0, False, closed == "2>&-")
    assert (tmp_path / "out" / "report.html").exists()


def test_a_terminal_of_ascii_shows_the_table(scenario: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(tmp_path / "out")]
    encodings = ({"PYTHONIOENCODING": "utf-8"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"})
    tables = [
        subprocess.run(command, env=os.environ | encoding, capture_output=True, check=True).stdout
        for encoding in encodings
    ]
    assert "\xb1".encode() in tables[0]
    assert tables[1] == tables[2] == tables[0].decode().encode("ascii", "backslashreplace")


def test_a_reader_that_has_read_enough_is_no_failure() -> None:
    command = f"{sys.executable} -m anabranch topology list | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 1, "")


def test_an_output_never_replaces_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "source,target,rate\n1,2,60Mbps\n"
    (tmp_path / "demands.csv").write_text(text)
    assert status(["robust", "nsfnet", "--capacity", "1Gbps", "--pipe", "demands.csv", "-o", "./demands.csv"]) == 2
    assert "--out demands.csv: is the file of --pipe" in capsys.readouterr().err
    assert (tmp_path / "demands.csv").read_text() == text


def test_the_names_of_the_api_complete() -> None:
    import anabranch

    assert set(anabranch.__all__) <= set(dir(anabranch))
