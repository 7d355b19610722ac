"""The shell completes commands, options, topologies, formats of routes, and figures: bash itself asks, by the installed script."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.engineering.routes.export import FORMATS
from anabranch.network import topologies
from anabranch.pages.report.figure_files import figures
from tests.report_fixture import write_run_directory

Complete = Callable[[str], Sequence[str]]


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """What bash offers for the last word of a line, in an empty directory."""
    home = tmp_path / "home"
    program = tmp_path / "bin" / "anabranch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m anabranch "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert status(["--install-completion", "--shell", "bash"]) == 0
    (script,) = home.glob(".local/share/bash-completion/completions/anabranch")
    desk = tmp_path / "desk"
    desk.mkdir()
    monkeypatch.chdir(desk)

    def asked(line: str) -> Sequence[str]:
        words = line.split(" ")
        code = (
            f"source {shlex.quote(str(script))}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
            f"COMP_LINE={shlex.quote(line)}; $(complete -p anabranch | sed 's/.*-F \\([^ ]*\\).*/\\1/') anabranch; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        return sorted(done.stdout.split())

    return asked


def test_bash_completes_commands_and_options(complete: Complete) -> None:
    assert complete("anabranch robu") == ["robust"]
    assert complete("anabranch robust --ho") == ["--hose"]


@pytest.mark.parametrize("command", ["routes", "robust", "plan", "weights", "topology show"])
def test_bash_completes_topologies_and_files(command: str, complete: Complete) -> None:
    assert complete(f"anabranch {command} topozoo/Abil") == [
        name for name in topologies.names() if name.startswith("topozoo/Abil")
    ]
    Path("nsfnet-of-mine.csv").touch()
    Path("maps").mkdir()
    Path("maps/mine.gml").touch()
    assert complete(f"anabranch {command} nsf") == ["nsfnet", "nsfnet-1050", "nsfnet-of-mine.csv", "nsfnet-v2"]
    assert complete(f"anabranch {command} map") == ["maps/"]
    assert complete(f"anabranch {command} maps/") == ["maps/mine.gml"]


@pytest.mark.parametrize("command", ["routes", "robust", "plan", "weights", "advise"])
def test_bash_completes_every_format_of_routes(command: str, complete: Complete) -> None:
    assert complete(f"anabranch {command} nsfnet --export ") == sorted(FORMATS)
    assert complete(f"anabranch {command} nsfnet --export openflow") == ["openflow13", "openflow15"]


def test_bash_completes_the_figures_of_the_named_run(complete: Complete) -> None:
    found = write_run_directory(Path("mine"), stacks=["cubic", "bbr"], routings=["ospf"], seeds=2, flows=4)
    assert complete("anabranch figure mine --figure ") == sorted(figures([found]))
    assert complete("anabranch figure none --figure ") == []
