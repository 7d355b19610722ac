"""Scripts in packetdrill's language: the output of the command and its exit status. Tests in Rust cover the meaning of scripts."""

import json
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.engines import drill
from bench import drill as table

SCRIPTS = Path(__file__).parents[1] / "drill"
BEGIN = """
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop>
   +0 > S. 0:0(0) ack 1 <...>
  +.1 < . 1:1(0) ack 1 win 20000
   +0 accept(3, ..., ...) = 4
   +0 write(4, ..., 2000) = 2000
"""


def script(directory: Path, lines: str, name: str = "one.pkt") -> Path:
    path = directory / name
    path.write_text(BEGIN + lines)
    return path


def test_all_of_ours_pass(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(str(path) for path in SCRIPTS.glob("*.pkt"))
    assert status(["drill", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [f"{file}: passed" for file in files]
    assert lines[-1] == f"{len(files)} passed"


def test_a_failure_shows_file_line_both_segments_and_the_difference_in_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script(tmp_path, "   +0 > . 1:1001(1000) ack 1\n  +.1 > . 1001:2001(1000) ack 1\n")
    assert status(["drill", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    # Both segments go at once: the second is 100 ms early, where 12.5 % of 100 ms are allowed.
    assert lines[0] == f"{path}:11: FAILED: 0.100000 s too early, with a tolerance of 0.012500 s"
    assert lines[1].split() == ["expected", ">", ".", "1001:2001(1000)", "ack", "1", "at", "0.200000", "s"]
    assert lines[2].split() == ["got", ">", ".", "1001:2001(1000)", "ack", "1", "at", "0.100000", "s"]
    marked = [line.split() for line in lines if line.lstrip().startswith("!")]
    assert [(row[1], row[-1]) for row in marked] == [("11", "-0.100000")]


def test_relative_times_count_from_when_a_segment_was_sent_not_from_when_it_was_due(tmp_path: Path) -> None:
    """As packetdrill's `adjust_relative_event_times`. The timeout of 1 s is 50 ms later than the script says, within its tolerance."""
    lines = """   +0 > P. 1:2001(2000) ack 1
 +.95 > . 1:1001(1000) ack 1
  +.1 < . 1:1(0) ack 2001 win 20000
   +0 write(4, ..., 1000) = 1000
   +0 > P. 2001:3001(1000) ack 1
"""
    outcome = drill.run(script(tmp_path, lines), "rfc")
    assert outcome.verdict == "passed"
    assert [row.sent_s for row in outcome.rows[1:]] == [0.1, 1.1, 1.2]


def test_segments_that_are_expected_as_one_come_when_the_last_of_them_does(tmp_path: Path) -> None:
    """As packetdrill's `aggregate_packets`. The short second segment waits 100 ms for the ACK of the first (Nagle)."""
    begin = BEGIN.replace("write(4, ..., 2000) = 2000", "write(4, ..., 300) = 300\n   +0 write(4, ..., 300) = 300")
    path = tmp_path / "joined.pkt"
    path.write_text(begin + "  +.1 < . 1:1(0) ack 301 win 20000\n   +0 > P. 1:601(600) ack 1\n")
    outcome = drill.run(path, "rfc")
    assert (outcome.verdict, outcome.rows[-1].sent_s) == ("passed", 0.2), outcome.text


def test_what_nothing_asked_for_is_listed_too(tmp_path: Path) -> None:
    outcome = drill.run(script(tmp_path, "   +0 > . 1:1001(1000) ack 2\n"))
    assert outcome.verdict == "failed"
    assert [row.sent for row in outcome.rows if row.expected is None] == [". 1001:2001(1000) ack 1"]
    assert any(line.lstrip().startswith("+") for line in drill.describe(outcome))


def test_refusals_and_mistakes_are_named_and_have_a_status_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = script(tmp_path, "   +0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n", "refused.pkt")
    invalid = script(tmp_path, "   +0 > . 1:1001(999) ack 1\n", "invalid.pkt")
    assert status(["drill", str(refused), str(invalid)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{refused}:10: refused, not modelled: the socket option SO_ZEROCOPY"
    assert lines[1].startswith(f"{invalid}:10: INVALID: 1:1001(999): the end is not the start and the length together")
    assert lines[2] == "1 refused, 1 invalid"


@pytest.mark.parametrize(
    ("line", "verdict", "text"),
    [
        ("+0 shutdown(4, SHUT_WR) = 0\n +0 write(4, ..., 9) = 9", "failed", "write() returned -1 EPIPE, not 9"),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = -1 EINVAL (Invalid argument)",
            "refused",
            "the error EINVAL of setsockopt()",
        ),
        ("+0 close(7) = 0", "invalid", "close(7): open descriptors are: 3, 4"),
        ("+0 listen(four, 1) = 0", "invalid", "listen() needs a descriptor"),
        ("+0 close(4) = 3", "refused", "close() that returns 3: it succeeds here, with 0"),
        ("+0 fcntl(4, F_GETFL) = 2 (flags O_RDWR)\n +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0", "passed", ""),
        (
            "+0 write(4, ..., 9) = 9 EAGAIN (Resource temporarily unavailable)",
            "failed",
            "write() returned 9, not 9 EAGAIN",
        ),
        ("+0 shutdown(4, SHUT_WR) = 0\n +0 write(4, ..., 9) = -1", "passed", ""),
        ("+0 close(4) = 0\n +0 read(4, ..., 9) = 0", "invalid", "read(4): open descriptors are: 3"),
        ("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0", "failed", "there is no error: SO_ERROR is 0"),
        (
            "+0 < R. 1:1(0) ack 1 win 9\n +0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0",
            "refused",
            "SO_ERROR of a",
        ),
        ("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0", "passed", ""),
    ],
)
def test_a_call_has_the_result_that_it_would_have(tmp_path: Path, line: str, verdict: str, text: str) -> None:
    outcome = drill.run(script(tmp_path, f" +0 > P. 1:2001(2000) ack 1\n {line}\n"))
    assert (outcome.verdict, text in outcome.text) == (verdict, True), outcome.text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("+0 write(4, ..., 2147483647) = 2147483647", "100000 segments that no line expects"),
        ("+0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [87], 4) = 0", "TCP_MAXSEG needs a size from 88 to 32767"),
    ],
)
def test_what_would_take_too_much_memory_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "flood.pkt"
    begin = BEGIN.replace("mss 1000,sackOK", "mss 1,sackOK,nop,wscale 14").replace("win 20000", "win 65535")
    path.write_text(f"// anabranch: initial_window=1000000\n{begin}   {line}\n")
    outcome = drill.run(path)
    assert outcome.verdict in ("refused", "invalid")
    assert problem in outcome.text


def test_a_socket_of_another_protocol_than_tcp_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mptcp.pkt"
    path.write_text(BEGIN.replace("IPPROTO_TCP", "IPPROTO_MPTCP"))
    outcome = drill.run(path)
    assert (outcome.verdict, outcome.text) == ("refused", "a socket of IPPROTO_MPTCP")


def test_segments_have_at_least_the_48_bytes_that_linux_sends(tmp_path: Path) -> None:
    """Whatever the peer announces (`tcp_min_snd_mss`)."""
    path = tmp_path / "short.pkt"
    path.write_text(
        BEGIN.replace("mss 1000", "mss 1") + "   +0 > . 1:481(480) ack 1\n   +0 %{ assert tcpi_snd_mss == 48 }%\n"
    )
    assert drill.run(path).verdict == "passed"
    path.write_text("--mss=47\n" + BEGIN)
    assert "--mss=47: must be a whole number from 48 to 65495" in drill.run(path).text


def test_a_file_that_is_not_there_and_a_stack_that_there_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["drill", str(tmp_path / "none.pkt")]) == 1
    assert "none.pkt" in capsys.readouterr().err
    assert status(["drill", str(script(tmp_path, "")), "--stack", "bsd"]) == 2
    with pytest.raises(ValueError, match="stack bsd: must be one of linux, rfc"):
        drill.run(script(tmp_path, ""), "bsd")


def test_json_has_every_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script(tmp_path, "   +0 > . 1:2001(2000) ack 1\n")
    assert status(["drill", str(path), "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)["scripts"]
    assert document["verdict"] == "passed"
    assert [row["expected_s"] for row in document["rows"]] == [0.0, 0.1]


def test_the_script_of_the_documentation_passes_and_its_failure_looks_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "validation" / "drill.md").read_text(encoding="utf-8")
    good, shown = (block.removeprefix("\n") for block in page.split("```")[3:6:2])
    path = Path("my.pkt")
    path.write_text(good)
    assert drill.run(path).verdict == "passed"
    path.write_text(good.replace("10000) = 10000", "12000) = 12000").replace("1001:4001", "1001:3001"))
    assert "\n".join(drill.describe(drill.run(path))) + "\n" == shown


def test_a_directory_of_scripts_is_tabulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "first").mkdir()
    script(tmp_path / "first", "   +0 > . 1:2001(2000) ack 1\n", "good.pkt")
    script(tmp_path / "first", "   +0 > . 1:2001(2000) ack 2\n", "bad.pkt")
    assert table.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "| first | 1 | 1 | 0 |" in out
    assert "| first/bad.pkt | 10 | another acknowledgement was sent; expected > . 1:2001(2000) ack 2" in out
