"""Calls of real flows in Linux are recorded as they happened."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch import programs
from anabranch.cli.entry import status
from anabranch.engines.kernel.linux_programs import libbpf
from anabranch.engines.kernel.linux_programs.layouts import Btf, Field
from anabranch.engines.kernel.linux_programs.loaded import available
from anabranch.engines.kernel.linux_programs.trace_file import RECORD, SOCKET_BYTES, read_header, read_records
from tests.linux_leftovers import assert_nothing_left, network_namespaces

SOURCES = Path(__file__).parents[2] / "bpf"


@pytest.fixture
def layout() -> Btf:
    try:
        return Btf(programs.LAYOUT)
    except libbpf.LinuxError as error:
        pytest.skip(str(error))


def test_the_copies_are_of_the_layout_of_today(layout: Btf) -> None:
    command = [sys.executable, SOURCES / "trace_fields.py", programs.LAYOUT]
    written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert (SOURCES / "trace_fields.h").read_text() == written, "run: make -C bpf fields"
    assert layout.size("tcp_sock") == SOCKET_BYTES


@pytest.mark.usefixtures("linux")
def test_an_object_that_does_not_record_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(programs.find("anabranch_reno")), str(tmp_path / "trace.gz")]
    assert status(["congestion-control", "trace", *arguments]) == 1
    assert "does not record its calls: compile it with clang -include" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--loss", "2"), '--loss 2: must be a share of at most 1, such as 0.05; write "2%" for per cent'),
        (("--loss", "100%"), "--loss 1: must be at least 0 and less than 1"),
        (("--calls", "0"), "--calls 0: must be at least 1"),
        (("--duration", "0s"), "--duration 0s: must be more than 0"),
    ],
)
def test_an_option_that_would_record_nothing_is_refused(
    option: tuple[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(programs.find("anabranch_reno")), str(tmp_path / "trace.gz"), *option]
    assert status(["congestion-control", "trace", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def recording(tmp_path: Path, linux: None) -> Path:
    """The object of Reno that records its calls."""
    if not shutil.which("clang"):
        pytest.skip("needs clang")
    if not shutil.which("ip") or not Path("/dev/net/tun").exists():
        pytest.skip("needs ip and /dev/net/tun")
    compiled = tmp_path / "reno.bpf.o"
    flags = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-include", SOURCES / "trace.bpf.h"]
    subprocess.run(["clang", *flags, "-c", SOURCES / "anabranch_reno.bpf.c", "-o", compiled], check=True)
    return compiled


def test_a_full_disk_ends_the_recording_with_its_reason(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    assert status(["congestion-control", "trace", str(recording), "/dev/full", "--duration", "5s"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "/dev/full: cannot be written (No space left on device)"


def test_ctrl_c_ends_a_recording_whatever_it_does_at_that_moment(recording: Path, tmp_path: Path) -> None:
    """The calls come so fast that most interrupts meet the function that takes them."""
    output = tmp_path / "trace.gz"
    path = ["--rate", "1Gbit/s", "--delay", "0s", "--calls", "100000000"]
    for _ in range(5):
        output.unlink(missing_ok=True)
        command = [sys.executable, "-m", "anabranch", "congestion-control", "trace", recording, output, *path]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            while not output.exists() or output.stat().st_size < 20_000:
                assert process.poll() is None
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=20) == 130
        finally:
            process.terminate()  # which ends it the second time
        assert sum(map(len, read_records(output))) > 0


def test_a_recording_that_is_killed_leaves_nothing_behind(recording: Path, tmp_path: Path) -> None:
    """Neither the processes that send and forward, nor their namespaces, nor the control in Linux."""
    output = tmp_path / "trace.gz"
    before = network_namespaces()
    command = [sys.executable, "-m", "anabranch", "congestion-control", "trace", str(recording), str(output)]
    process = subprocess.Popen([*command, "--calls", "100000000"], stderr=subprocess.DEVNULL)
    ends = time.monotonic() + 20
    while not output.exists() or output.stat().st_size < 20_000:
        assert process.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert_nothing_left(str(output), before)
    while "anabranch_reno" in available():  # Linux frees it in the background
        assert time.monotonic() < ends + 20
        time.sleep(0.05)


def test_a_value_that_linux_does_not_take_is_named(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tcp_max_reordering` is 300."""
    setting = ["--sysctl", "net.ipv4.tcp_reordering=1000000"]
    assert status(["congestion-control", "trace", str(recording), str(tmp_path / "calls"), *setting]) == 1
    said = capsys.readouterr().err
    assert said == "--sysctl net.ipv4.tcp_reordering=1000000: Linux does not take this value\n"


@pytest.fixture
def recorded(recording: Path, tmp_path: Path) -> Path:
    """Some calls of Reno over a lossy path."""
    output = tmp_path / "reno.gz"
    path = ["--rate", "50Mbit/s", "--delay", "2ms", "--loss", "2%", "--sysctl", "net.ipv4.tcp_timestamps=0"]
    arguments = [
        "congestion-control",
        "trace",
        str(recording),
        str(output),
        *path,
        "--calls",
        "2000",
        "--duration",
        "5s",
    ]
    assert status(arguments) == 0
    return output


def test_a_recorded_flow_is_renos(recorded: Path, layout: Btf) -> None:
    """RFC 5681 by hand: a loss halves the window, an ACK in slow start adds what it acknowledges, and the socket's times ascend."""
    header = read_header(recorded)
    assert header["control"] == "anabranch_reno"
    assert header["functions"] == ["init", "ssthresh", "cong_avoid", "undo_cwnd"]
    assert header["layout_sha256"] == hashlib.sha256(programs.LAYOUT.read_bytes()).hexdigest()
    records = np.concatenate(list(read_records(recorded, 300)))
    assert records.dtype == np.dtype(RECORD)
    fields = layout.fields("tcp_sock")

    def column(when: str, name: str, rows: Any) -> Any:
        return number(records[when][rows], fields[name])

    loss = records["function"] == 1
    assert loss.any()
    assert (records["result"][loss] == np.maximum(column("entry", "snd_cwnd", loss) // 2, 2)).all()
    acks = records["function"] == 2
    before, after = column("entry", "snd_cwnd", acks), column("exit", "snd_cwnd", acks)
    threshold = column("entry", "snd_ssthresh", acks)
    slow_start = (after > before) & (after < threshold)
    assert slow_start.any()
    assert (after - before == records["arguments"][acks, 1])[slow_start].all()
    assert (after >= before).all()
    assert (records["exit_time_ns"] >= records["entry_time_ns"]).all()
    assert (np.diff(column("entry", "tcp_mstamp", records["flow"] == 0).astype(np.int64)) >= 0).all()


def number(memory: Any, field: Field) -> Any:
    """A whole field of each struct."""
    at = field.bit_offset // 8
    return np.ascontiguousarray(memory[:, at : at + field.bits // 8]).view(f"<u{field.bits // 8}")[:, 0]
