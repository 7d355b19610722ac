"""Captures of a run: what Wireshark's own analysis makes of them must be what the result tables say."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch import Result, Scenario
from anabranch.results.captures import CaptureFiles

MSS, HEADER, WINDOW = 1460, 40, 64_000_000
SIZE = 1_000_001
"""Payload bytes: the last segment is shorter than the others."""

SPRAYED = """
[topology]
links = [
    { source = "Client", target = "In" },
    { source = "In", target = "North" }, { source = "North", target = "Out" },
    { source = "In", target = "South" }, { source = "South", target = "Out" },
    { source = "Out", target = "Server" },
]
capacity = "10Mbps"
delay = "2ms"
queue = { discipline = "drop-tail", limit = "40 packets" }
override = [{ link = ["In", "South"], delay = "12ms" }, { link = ["Client", "In"], capacity = "30Mbps" }]

[routing.spray]
paths = [
    ["Client", "In", "North", "Out", "Server"], ["Client", "In", "South", "Out", "Server"],
    ["Server", "Out", "North", "In", "Client"],
]
select = "round-robin"
per = "packet"

[[impairments]]
link = ["In", "North"]
one_way = true    # ACKs must not be lost: what the sender learns is compared
loss = 0.02

[[traffic]]
from = "Client"
to = "Server"
size = "1000001 bytes"
stack = "newreno"
routing = "spray"

[run]
duration = "60s"
"""
CAPTURE = 'capture = [["Client", "In"], ["In", "Client"], ["North", "Out"]]\n'

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark (Debian package tshark)")


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return Scenario.from_toml(CAPTURE + SPRAYED).run(seed=1, directory=tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def both_directions(captured: Result) -> Path:
    """The two directions at the client, merged in the order of time."""
    merged = captured.directory / "both.pcapng"
    parts = [captured.directory / "captures" / name for name in ("0-Client-In.pcapng", "0-In-Client.pcapng")]
    subprocess.run(["mergecap", "-w", merged, *parts], check=True)
    return merged


def frames(file: Path, *fields: str) -> list[dict[str, str]]:
    """Every frame of a capture, as tshark reads it."""
    options = [option for field in fields for option in ("-e", field)]
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    command = ["tshark", "-r", str(file), "-n", *checks, "-T", "fields", *options]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in lines]


def link_row(result: Result, source: str, target: str) -> dict[str, Any]:
    return result.links.row(by_predicate=(pl.col("src") == source) & (pl.col("dst") == target), named=True)


@needs_tshark
def test_volume_is_that_of_the_links_table_and_nothing_is_malformed(captured: Result) -> None:
    records = captured.manifest["runs"][0]["captures"]
    assert [(one["src"], one["dst"]) for one in records] == [("Client", "In"), ("In", "Client"), ("North", "Out")]
    for one in records:
        rows = frames(captured.directory / one["file"], "tcp.len", "_ws.malformed", "ip.checksum.status", "frame.len")
        link = link_row(captured, one["src"], one["dst"])
        assert len(rows) == link["packets"] + link["queue_drops"] > 100
        assert link["queue_drops"] == 0, "or the bytes would differ by those of the dropped"
        assert sum(int(row["tcp.len"]) + HEADER for row in rows) == link["bytes"]
        assert not any(row["_ws.malformed"] for row in rows)
        assert {row["ip.checksum.status"] for row in rows} == {"1"}


@needs_tshark
def test_linux_s_syns_and_acks_are_longer_by_their_options(tmp_path: Path) -> None:
    text = CAPTURE + SPRAYED.replace('stack = "newreno"', 'stack = "linux-reno"')
    result = Scenario.from_toml(text).run(seed=1, directory=tmp_path)
    rows = frames(tmp_path / "captures" / "0-In-Client.pcapng", "tcp.options.sack_le")
    syn = 12  # MSS, SACK permitted, window scale and three NOPs
    blocks = [len(row["tcp.options.sack_le"].split(",")) if row["tcp.options.sack_le"] else 0 for row in rows]
    assert max(blocks) == 3, "a fourth does not fit beside timestamps"
    options = [2 + 2 + 8 * count if count else 0 for count in blocks]  # two NOPs, kind and length
    assert syn + sum(HEADER + option for option in options) == link_row(result, "In", "Client")["bytes"]
    data = frames(tmp_path / "captures" / "0-Client-In.pcapng", "tcp.len")
    assert syn + sum(int(row["tcp.len"]) + HEADER for row in data) == link_row(result, "Client", "In")["bytes"]


@needs_tshark
def test_sequence_numbers_cover_the_payload_once_and_in_steps_of_the_mss(both_directions: Path) -> None:
    rows = frames(both_directions, "tcp.seq", "tcp.ack", "tcp.len", "tcp.flags.syn", "tcp.srcport", "tcp.window_size")
    data = [(int(row["tcp.seq"]), int(row["tcp.len"])) for row in rows if row["tcp.len"] != "0"]
    reached = 1
    for sequence, length in data:
        assert sequence <= reached, "a sender begins each new segment where the last one ended"
        assert (sequence - 1) % MSS == 0
        assert length == min(MSS, SIZE + 1 - sequence)
        reached = max(reached, sequence + length)
    assert reached == SIZE + 1
    assert max(int(row["tcp.ack"]) for row in rows) == SIZE + 1
    syns = [row for row in rows if row["tcp.flags.syn"] in ("1", "True")]
    assert [(row["tcp.seq"], row["tcp.ack"], row["tcp.srcport"]) for row in syns] == [
        ("0", "0", "49152"),
        ("0", "1", "40001"),
    ]
    # The window's scale was understood: what 16 bits hold of it, rounded down.
    windows = {int(row["tcp.window_size"]) for row in rows[2:]}
    assert len(windows) == 1
    assert WINDOW * 0.999 < windows.pop() <= WINDOW


@needs_tshark
def test_retransmissions_are_those_of_the_flows_table(captured: Result, both_directions: Path) -> None:
    kinds = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    fields = [f"tcp.analysis.{kind}" for kind in kinds]
    rows = frames(
        both_directions, "tcp.seq", "tcp.len", "tcp.analysis.lost_segment", "tcp.analysis.window_full", *fields
    )
    [flow] = captured.flows.to_dicts()
    recognised, repeated, reached = [], [], 0
    for number, row in enumerate(rows):
        if any(row[field] for field in fields):
            recognised.append(number)
        if row["tcp.len"] != "0":
            if int(row["tcp.seq"]) < reached:
                repeated.append(number)
            reached = max(reached, int(row["tcp.seq"]) + int(row["tcp.len"]))
        assert not row["tcp.analysis.window_full"], "the window advertised is the one the sender keeps to"
        assert not row["tcp.analysis.lost_segment"], "all that left the client was captured"
    assert recognised == repeated
    assert len(repeated) == flow["retransmits"] > 5


@needs_tshark
def test_sack_blocks_lie_inside_the_window_and_the_first_may_report_a_duplicate(
    captured: Result, both_directions: Path
) -> None:
    fields = ("tcp.seq", "tcp.len", "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re")
    reached, blocks_seen, duplicates = 1, 0, 0
    for row in frames(both_directions, *fields):
        reached = max(reached, int(row["tcp.seq"]) + int(row["tcp.len"]))
        if not row["tcp.options.sack_le"]:
            continue
        edges = [[int(edge) for edge in row[field].split(",")] for field in fields[3:]]
        blocks = list(zip(*edges, strict=True))
        acknowledged = int(row["tcp.ack"])
        first = blocks[0]
        if first[1] <= acknowledged or any(low <= first[0] and first[1] <= high for low, high in blocks[1:]):
            duplicates += 1
            blocks = blocks[1:]
        for low, high in blocks:
            assert acknowledged < low < high <= reached
            assert (low - 1) % MSS == 0
            assert (high - 1) % MSS == 0 or high == SIZE + 1
        assert len(blocks) <= 3, "what is left beside a timestamp (RFC 2018, section 3)"
        blocks_seen += len(blocks)
    [flow] = captured.flows.to_dicts()
    assert blocks_seen > 100
    assert duplicates == flow["spurious_retransmits"] > 0


def test_a_capture_changes_no_result_and_is_the_same_each_time(captured: Result, tmp_path: Path) -> None:
    without = Scenario.from_toml(SPRAYED).run(seed=1)
    assert without.hash == captured.hash
    assert without.manifest["runs"][0]["captures"] == []
    again = Scenario.from_toml(CAPTURE + SPRAYED).run(seed=1, directory=tmp_path)
    for one in captured.manifest["runs"][0]["captures"]:
        assert (again.directory / one["file"]).read_bytes() == (captured.directory / one["file"]).read_bytes()


def test_file_names_are_safe_and_never_shared(tmp_path: Path) -> None:
    nodes = ["New York/1", "New York:1", "../../etc", "Ü" * 300, "Ziel"]
    links = [{"src": node, "dst": 4} for node in range(4)]
    files = CaptureFiles(tmp_path, {"nodes": nodes, "links": links, "captures": [0, 1, 2, 3]})
    for link in (0, 1, 2, 3, 0):
        files.append(link, b"%d" % link)
    records = files.records()
    assert [record["link"] for record in records] == [0, 1, 2, 3]
    assert records[1]["src"] == "New York:1"
    assert records[0]["file"] == "New_York_1-Ziel.pcapng"
    folder = tmp_path / "captures"
    assert {path.name for path in folder.iterdir()} == {record["file"] for record in records}
    assert [(folder / record["file"]).read_bytes() for record in records] == [b"00", b"1", b"2", b"3"]
