"""The directory that ``congestion-control new`` makes holds a control that compiles, runs and is accepted by Linux."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from anabranch import programs
from anabranch.cli import status

SOURCES = Path(__file__).parents[2] / "bpf"
HEADERS = {"anabranch.bpf.h", "trace.bpf.h", "trace_fields.h"}


def test_the_repository_has_each_header_once() -> None:
    """The package has the file, for wheels; the sources have a link to it."""
    for name in HEADERS:
        packaged = Path(programs.__file__).with_name(name)
        assert not packaged.is_symlink()
        assert (SOURCES / name).is_symlink()
        assert (SOURCES / name).resolve() == packaged.resolve()


def test_its_files_have_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status(["congestion-control", "new", "swift_2"]) == 0
    assert capsys.readouterr().out == "swift_2\n"
    made = {path.name: path.read_text() for path in (tmp_path / "swift_2").iterdir()}
    assert made.keys() == {"swift_2.bpf.c", "Makefile", "scenario.toml", *HEADERS}
    assert "my_cc" not in "".join(text for name, text in made.items() if name not in HEADERS)
    assert status(["congestion-control", "new", "swift_2"]) == 1
    assert capsys.readouterr().err == "swift_2: cannot be made (File exists)\n"


@pytest.mark.parametrize("name", ["my-cc", "1st", "", "a/b", "sixteen_letters_", "größe"])
def test_a_name_that_linux_or_c_does_not_take_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["congestion-control", "new", name]) == 2
    assert "must be at most 15 letters, digits and _" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")
@pytest.mark.skipif(not Path("/usr/include/bpf/bpf_helpers.h").exists(), reason="needs libbpf-dev")
def test_what_it_makes_compiles_runs_and_outdoes_reno_under_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It keeps 70 % of its window after a loss and Reno 50 %: by the square-root law its goodput is higher at 1 % loss."""
    monkeypatch.chdir(tmp_path)
    assert status(["congestion-control", "new", "mine"]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    subprocess.run(["make", "mine.bpf.o"], check=True, capture_output=True)
    assert status(["check", "scenario.toml"]) == 0
    capsys.readouterr()
    assert status(["run", "scenario.toml", "--set", "impairments.0.loss=0.01", "--seeds", "1..3", "--json"]) == 0
    goodput: dict[str, float] = {}
    for run in json.loads(capsys.readouterr().out)["runs"]:
        for flow in run["flows"]:
            goodput[flow["stack"]] = goodput.get(flow["stack"], 0) + flow["goodput_bps"]
    assert goodput["mine"] > 1.05 * goodput["linux-reno"]


@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")
def test_linux_accepts_what_it_makes_and_calls_it_with_the_simulators_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from anabranch.engines.kernel.linux_programs import trace_file
    from anabranch.engines.kernel.linux_programs.libbpf import LinuxError
    from anabranch.engines.kernel.linux_programs.loaded import LoadedObject

    reno = programs.find("anabranch_reno")
    assert reno
    try:
        LoadedObject(reno).close()
    except LinuxError as error:
        pytest.skip(f"needs eBPF in Linux: {error}")
    monkeypatch.chdir(tmp_path)
    assert status(["congestion-control", "new", "fifteen_letters"]) == 0
    monkeypatch.chdir(tmp_path / "fifteen_letters")
    subprocess.run(["make"], check=True, capture_output=True)
    assert status(["congestion-control", "check", "fifteen_letters.bpf.o"]) == 0
    assert "accepts fifteen_letters" in capsys.readouterr().out
    subprocess.run(["make", "fifteen_letters.trace.o"], check=True, capture_output=True)
    if not shutil.which("ip") or not Path("/dev/net/tun").exists():
        pytest.skip("its calls were not recorded: needs ip and /dev/net/tun")
    assert status(["congestion-control", "trace", "fifteen_letters.trace.o", "calls", "--calls", "100"]) == 0
    capsys.readouterr()
    assert status(["congestion-control", "replay", "fifteen_letters.bpf.o", "calls"]) == 0
    assert ", 0 of them different" in capsys.readouterr().out
    assert trace_file.read_header(Path("calls"))["control"] == "fifteen_letters"
