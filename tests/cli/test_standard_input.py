"""Scenarios and plans from standard input and from pipes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.results.result import Result
from tests.scenarios import LINE

NETWORK = "source,target,capacity,delay\nA,B,10Mbps,5ms\nB,C,1Gbps,5ms\n"
SCENARIO = '[topology]\nfrom = "network.csv"\n' + LINE[LINE.index("[[traffic]]") :]
"""Its file is looked for in the current directory."""


def anabranch(directory: Path, command: str, written: str = "") -> subprocess.CompletedProcess[str]:
    """A command line of the shell, in a directory with the network."""
    (directory / "network.csv").write_text(NETWORK)
    (directory / "scenario.txt").write_text(SCENARIO)
    shell = f'anabranch() {{ {sys.executable} -m anabranch "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", shell], cwd=directory, input=written, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["run -", "run /dev/stdin", "run <(cat scenario.txt)"])
def test_a_scenario_is_read_from_standard_input_or_a_pipe(tmp_path: Path, command: str) -> None:
    done = anabranch(tmp_path, f"anabranch {command} --no-report", SCENARIO)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stdin\n" if "<(" in command else "standard input\n")
    result = Result.load(tmp_path / "runs" / "stdin")
    assert result.manifest["scenario"]["topology"] == {"from": "network.csv"}
    assert result.manifest["directory"] == "."
    assert result.flows["delivered_bytes"].min() > 0
    again = anabranch(tmp_path, f"anabranch {command} --no-report", SCENARIO)
    assert "Run directory: runs/stdin-2" in again.stderr


def test_a_run_of_standard_input_is_replayed_from_its_manifest(tmp_path: Path) -> None:
    assert anabranch(tmp_path, "anabranch run - --no-report --out out", SCENARIO).returncode == 0
    done = anabranch(tmp_path, "anabranch replay out --for 10ms")
    assert done.returncode == 0, done.stderr


def test_check_compare_and_sweep_read_it_too(tmp_path: Path) -> None:
    checked = anabranch(tmp_path, "anabranch check -", SCENARIO)
    assert (checked.returncode, checked.stdout) == (0, "standard input: 1 variant x 1 seed, no problems\n")
    compared = anabranch(tmp_path, "anabranch compare - --engines packet,predict", SCENARIO)
    assert compared.returncode == 0, compared.stderr
    assert (tmp_path / "runs" / "stdin-engines" / "report.html").exists()
    plan = 'scenario = "scenario.txt"\nseeds = 2\n'
    swept = anabranch(tmp_path, "anabranch sweep - -j 1", plan)
    assert swept.returncode == 0, swept.stderr
    assert (tmp_path / "runs" / "stdin").is_dir()


def test_a_named_pipe_is_read_and_refused_if_no_process_writes_into_it(tmp_path: Path) -> None:
    """A writer blocks until the pipe has a reader, and may come a little later."""
    os.mkfifo(tmp_path / "pipe.toml")
    read = anabranch(tmp_path, "(sleep 0.7; cat scenario.txt > pipe.toml) & anabranch check pipe.toml")
    assert (read.returncode, read.stdout) == (0, "pipe.toml: 1 variant x 1 seed, no problems\n")
    refused = anabranch(tmp_path, "anabranch check pipe.toml")
    assert (refused.returncode, "into which no process writes" in refused.stderr) == (1, True)


def test_problems_name_standard_input_and_the_line(tmp_path: Path) -> None:
    done = anabranch(tmp_path, "anabranch check -", SCENARIO.replace('"2s"', '"2 parsecs"'))
    assert done.returncode == 1
    assert "standard input:" in done.stderr
    assert "parsecs" in done.stderr
    assert anabranch(tmp_path, "anabranch check --json - ", "\n").returncode == 1
    closed = anabranch(tmp_path, "anabranch check - <&-")
    assert (closed.returncode, "cannot be read" in closed.stderr, "Traceback" in closed.stderr) == (1, True, False)


def test_other_files_are_still_no_pipes(tmp_path: Path) -> None:
    """A topology is read more than once: a pipe would be empty the second time."""
    os.mkfifo(tmp_path / "pipe.csv")
    done = anabranch(tmp_path, "anabranch topology show pipe.csv --json")
    assert done.returncode == 1
    assert "is a directory, a device or a pipe" in done.stderr
    assert json.dumps("pipe.csv")[1:-1] in done.stderr
