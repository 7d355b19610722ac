"""Calls that were recorded in Linux 6.18, executed again: the machine and the functions of TCP do what Linux does."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from anabranch import programs
from anabranch.cli.entry import status
from anabranch.engines.kernel.linux_programs.layouts import Btf
from anabranch.engines.kernel.linux_programs.replay import replay
from anabranch.engines.kernel.linux_programs.trace_file import Records, read_header, read_records

CALLS = Path(__file__).parents[1] / "calls"
"""Some hundred of the calls that docs/validation/index.md speaks of, of each control."""


def program(name: str) -> Path:
    found = programs.find(f"anabranch_{name}")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["reno", "cubic", "kikolo", "mprc"])
def test_recorded_calls_give_the_sockets_and_results_of_linux(name: str) -> None:
    comparison = replay(program(name), CALLS / f"{name}.calls.gz")
    assert comparison.calls > 70
    assert (comparison.differing, comparison.first) == (0, [])


def write(path: Path, header: dict[str, object], records: Records) -> Path:
    path.write_bytes(gzip.compress(json.dumps(header).encode() + b"\n" + records.tobytes()))
    return path


def test_a_byte_that_linux_would_have_left_otherwise_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = CALLS / "reno.calls.gz"
    (records,) = read_records(source)
    changed = np.copy(records)
    offset = 0
    try:
        offset = Btf(programs.LAYOUT).fields("tcp_sock")["snd_cwnd_cnt"].bit_offset // 8
    except Exception as error:  # libbpf is optional
        pytest.skip(str(error))
    changed["exit"][5][offset] ^= 1
    trace = write(tmp_path / "changed.gz", read_header(source), changed)
    assert status(["congestion-control", "replay", str(program("reno")), str(trace)]) == 1
    printed = capsys.readouterr().out
    assert "1 of them different from Linux" in printed
    assert "call 5: " in printed
    assert "snd_cwnd_cnt is" in printed


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        # The application's SO_MAX_PACING_RATE stays: `init` changes nothing.
        ("init", {"sk_max_pacing_rate": 500_000, "sk_pacing_rate": 500_000, "sk_pacing_status": 1}),
        # A window that was the limit grows in slow start, whatever was outstanding (`tcp_is_cwnd_limited` since Linux 6.1).
        ("cong_avoid", {"max_packets_out": 0}),
    ],
)
def test_a_control_heeds_fields_that_the_recorded_flows_did_not_have(
    tmp_path: Path, function: str, fields: dict[str, int]
) -> None:
    source = CALLS / "reno.calls.gz"
    (records,) = read_records(source)
    (first, *_) = np.flatnonzero(records["function"] == read_header(source)["functions"].index(function))
    call = np.copy(records[first : first + 1])
    try:
        places = Btf(programs.LAYOUT).fields("tcp_sock")
    except Exception as error:  # libbpf is optional
        pytest.skip(str(error))
    for name, value in fields.items():
        (place,) = (one for one in places.values() if one.name.rpartition(".")[2] == name)
        at = place.bit_offset // 8
        for side in ("entry", "exit"):
            call[side][0][at : at + place.bits // 8] = list(value.to_bytes(place.bits // 8, "little"))
    comparison = replay(program("reno"), write(tmp_path / "changed.gz", read_header(source), call))
    assert (comparison.calls, comparison.differing, comparison.first) == (1, 0, [])


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ({"format": 2}, "has another format"),
        ({"layout_sha256": "0"}, "was recorded with another layout"),
        ({"control": "cubic"}, "has anabranch_reno, but the trace is of cubic"),
        ({"functions": ["release"]}, "of a function that the program lacks"),
        ({"functions": [1]}, "its first line has no valid functions"),
        *(
            ({key: None}, f"its first line has no valid {key}")
            for key in ("control", "hz", "layout_sha256", "functions", "record")
        ),
    ],
)
def test_a_trace_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], header: dict[str, object], problem: str
) -> None:
    source = CALLS / "reno.calls.gz"
    (records,) = read_records(source)
    trace = write(tmp_path / "trace.gz", read_header(source) | header, records)
    assert status(["congestion-control", "replay", str(program("reno")), str(trace)]) == 1
    assert problem in capsys.readouterr().err


def test_a_file_without_a_first_line_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.gz"
    for content in (b"[1]\n", b"\0" * 5_000_000):
        trace.write_bytes(gzip.compress(content))
        assert status(["congestion-control", "replay", str(program("reno")), str(trace)]) == 1
        assert "is not what congestion-control trace writes" in capsys.readouterr().err


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.gz"
    trace.write_bytes((CALLS / "reno.calls.gz").read_bytes()[:4000])
    assert status(["congestion-control", "replay", str(program("reno")), str(trace)]) == 1
    assert "is damaged after 0 calls" in capsys.readouterr().err
