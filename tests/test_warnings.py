"""What a scenario may say but its author may not mean: ``check`` and ``run`` warn, with the place and the remedy."""

import json
from pathlib import Path

import pytest

from anabranch.cli import DONE, status
from anabranch.scenario import Scenario
from scenarios import LINE


def warnings(text: str) -> dict[str, str]:
    """The message of each warning by its field."""
    return {record["field"]: record["message"] for record in Scenario.from_toml(text).warnings.as_records()}


TWICE = LINE.replace("]\n\n[[", '    { source = "B", target = "A", capacity = "2Mbps", delay = "5ms" },\n]\n\n[[', 1)
ADDED = "1 parallel link added to the capacity of the first link between their nodes: links[2] (B -> A)"


def test_without_a_trap_there_is_no_warning() -> None:
    assert warnings(LINE) == {}


def test_parallel_links_are_a_warning_of_check_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(TWICE)
    assert status(["check", str(file)]) == DONE
    printed = capsys.readouterr()
    assert printed.err == f"warning: {file}:3: topology: {ADDED}\n"
    assert printed.out.endswith("no problems\n")
    assert status(["check", str(file), "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["problems"] == []
    assert [warning["message"] for warning in document["warnings"]] == [ADDED]
    assert status(["run", str(file), "--json"]) == DONE
    assert ADDED in capsys.readouterr().err


BETWEEN_ALL = """
topology = {{ generate = "{kind}" }}
traffic = [{{ from = "all", to = {to}, size = "1kB", stack = "cubic" }}]
"""


def test_all_nodes_of_a_network_with_switches_are_a_warning() -> None:
    fat_tree = BETWEEN_ALL.format(kind="fat-tree", to='["all", "hosts"]')
    message = 'includes 20 nodes that only forward, such as c1; "hosts" are the other 16'
    assert warnings(fat_tree) == {"traffic[0].from": message}
    assert warnings(fat_tree.replace('from = "all"', 'from = "hosts"')) == {}
    assert set(warnings(BETWEEN_ALL.format(kind="dumbbell", to='"all"'))) == {"traffic[0].from", "traffic[0].to"}
    assert warnings(BETWEEN_ALL.format(kind="grid", to='"all"')) == {}


@pytest.mark.parametrize("command", ["routes", "topology show", "robust --hose 1Mbps"])
def test_commands_on_topologies_warn_as_well(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.csv"
    file.write_text("source,target,capacity,delay,loss\nA,B,1Mbps,1ms,1%\nA,B,1Mbps,1ms,1%\n")
    name, *options = command.split()
    words = [name, str(file), *options] if name != "topology" else ["topology", "show", str(file)]
    assert status(words) == DONE
    assert f"{file}: warning: 1 parallel link added" in capsys.readouterr().err
