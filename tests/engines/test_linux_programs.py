"""Congestion controls in eBPF in the running Linux, which accepts ours and says why it refuses others."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch import programs
from anabranch.cli.entry import status
from anabranch.engines.kernel.linux_programs import libbpf, loaded, namespaces

SOURCES = Path(__file__).parents[2] / "bpf"
OURS = {
    "anabranch_reno": "anabranch_reno",
    "anabranch_cubic": "anabranch_cubic",
    "anabranch_kikolo": "kikolo",
    "anabranch_mprc": "mprc",
}


def path_of(name: str) -> Path:
    path = programs.find(name)
    assert path is not None
    return path


def assert_goes(name: str) -> None:
    """Linux frees a link in the background."""
    ends = time.monotonic() + 30
    while name in loaded.available():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize("name", OURS)
def test_linux_accepts_our_programs_and_forgets_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["congestion-control", "check", str(path_of(name))]) == 0
    assert f"accepts {OURS[name]} (" in capsys.readouterr().out
    assert_goes(OURS[name])


@pytest.mark.usefixtures("linux")
@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")
def test_a_refused_program_shows_the_verifiers_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, compiled = tmp_path / "my.bpf.c", tmp_path / "my.bpf.o"
    text = (SOURCES / "anabranch_reno.bpf.c").read_text()
    source.write_text(text.replace("	stop_pacing(sk);", "	tcp_sk(sk)->srtt_us = 0;"))
    command = ["clang", "-target", "bpf", "-mcpu=v3", "-O2", "-g", f"-I{SOURCES}", "-c", source, "-o", compiled]
    subprocess.run(command, check=True)
    assert status(["congestion-control", "check", str(compiled)]) == 1
    said = capsys.readouterr().err
    assert "in reno_init:" in said
    assert "tcp_sk(sk)->srtt_us = 0" in said


@pytest.mark.usefixtures("linux")
def test_a_name_that_is_taken_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = path_of("anabranch_reno")
    with loaded.LoadedObject(path) as first:
        assert list(first.register()) == ["anabranch_reno"]
        assert status(["congestion-control", "check", str(path)]) == 1
        assert "already: unload that one" in capsys.readouterr().err


@pytest.mark.usefixtures("linux")
def test_a_persistent_control_is_listed_until_it_is_unloaded(capsys: pytest.CaptureFixture[str]) -> None:
    if not os.path.ismount(loaded.PINS.parent):
        pytest.skip(f"needs a bpf file system at {loaded.PINS.parent}")
    assert status(["congestion-control", "load", str(path_of("anabranch_mprc")), "--persist"]) == 0
    try:
        assert status(["congestion-control", "list"]) == 0
        assert "mprc  loaded with --persist" in capsys.readouterr().out
    finally:
        assert status(["congestion-control", "unload", "mprc"]) == 0
    assert_goes("mprc")


@pytest.fixture
def namespace() -> Iterator[str]:
    name = f"anabranch-test-{os.getpid()}"
    if not shutil.which("ip") or subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        pytest.skip("needs ip netns and privileges")
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.usefixtures("linux")
def test_a_namespace_has_the_control_until_the_command_is_interrupted(namespace: str) -> None:
    former = namespaces.default_control(namespace)
    command = [sys.executable, "-m", "anabranch", "congestion-control", "load", str(path_of("anabranch_cubic"))]
    process = subprocess.Popen([*command, "--namespace", namespace], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "loaded: anabranch_cubic\n"
        assert namespaces.default_control(namespace) == "anabranch_cubic"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert namespaces.default_control(namespace) == former
    assert_goes("anabranch_cubic")


@pytest.mark.usefixtures("linux")
@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")
def test_a_control_that_a_namespace_does_not_take_is_not_kept(
    namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, compiled = tmp_path / "my.bpf.c", tmp_path / "my.bpf.o"
    text = (SOURCES / "anabranch_reno.bpf.c").read_text()
    source.write_text(
        text.replace("	.flags = TCP_CONG_NON_RESTRICTED,\n", "").replace('"anabranch_reno"', '"for_root"')
    )
    command = ["clang", "-target", "bpf", "-mcpu=v3", "-O2", "-g", f"-I{SOURCES}", "-c", source, "-o", compiled]
    subprocess.run(command, check=True)
    assert status(["congestion-control", "load", str(compiled), "--persist", "--namespace", namespace]) == 1
    assert "needs .flags = TCP_CONG_NON_RESTRICTED" in capsys.readouterr().err
    assert "for_root" not in loaded.pinned()
    assert_goes("for_root")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["unload", "unknown"], "unknown: no control of this name was loaded with --persist (there are: "),
        (["load", "my.bpf.o", "--namespace", "unknown"], "--namespace unknown: no such network namespace (there are: "),
        (["check", "my.bpf.o"], "my.bpf.o: cannot be read (No such file or directory)"),
    ],
)
def test_what_does_not_exist_is_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        libbpf.libbpf()
    except libbpf.LinuxError as error:
        pytest.skip(str(error))
    assert status(["congestion-control", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_object_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my.bpf.o").write_text("text")
    assert status(["congestion-control", "check", str(tmp_path / "my.bpf.o")]) == 1
    assert "ELF" in capsys.readouterr().err


def test_a_missing_libbpf_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(libbpf.LinuxError, match="apt-get install libbpf1"):
        libbpf.Libbpf()


def test_a_kernel_without_btf_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(libbpf, "KERNEL_BTF", tmp_path / "vmlinux")
    with pytest.raises(libbpf.LinuxError, match=r"libbpf\.so\.1|CONFIG_DEBUG_INFO_BTF"):
        libbpf.Libbpf()


def test_where_linux_cannot_be_asked_check_says_what_the_simulator_knows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(libbpf, "KERNEL_BTF", tmp_path / "vmlinux")
    libbpf.libbpf.cache_clear()
    try:
        assert status(["congestion-control", "check", str(path_of("anabranch_reno"))]) == 0
    finally:
        libbpf.libbpf.cache_clear()
    said = capsys.readouterr().out
    assert "simulator   has all that it needs" in said
    assert "Linux could not be asked: " in said
