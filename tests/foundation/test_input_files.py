"""Any file that a user names is read, or refused at once with the file's name and the reason; never a traceback."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch import cli
from anabranch.foundation import input_files
from anabranch.foundation.toml_text import TomlError, parse
from anabranch.scenario import LARGEST_FILE
from tests.scenarios import LINE

NESTED = "[" * 100_000 + "]" * 100_000
NETWORK = "source,target,capacity,delay\nA,B,10Mbps,1ms\nB,C,10Mbps,1ms\n"

READERS: dict[str, Callable[[Path], list[str]]] = {
    "scenario": lambda file: ["check", str(file)],
    "scenario with a value": lambda file: ["check", str(file), "--set", "run.duration=1s"],
    "topology": lambda file: ["topology", "show", str(file)],
    "hose": lambda file: ["robust", "line", "--hose", str(file)],
    "matrix": lambda file: ["robust", "line", "--matrix", str(file)],
    "paths": lambda file: ["robust", "line", "--hose", "1Mbps", "--paths", str(file)],
    "failures": lambda file: ["robust", "line", "--hose", "1Mbps", "--fail", str(file)],
    "tolerant pairs": lambda file: ["plan", "line", "--hose", "1Mbps", "--tolerant", str(file)],
    "script": lambda file: ["drill", str(file)],
}


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a command that is refused; nothing else is printed, and nothing raised."""
    assert cli.status(arguments) == cli.FAILED
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["device", "pipe", "directory", "large file", "no text", "nested"])
def test_what_cannot_be_read_is_refused_by_name(
    reader: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix = {"scenario": ".toml", "topology": ".json", "matrix": ".csv", "hose": ".toml"}.get(reader.split()[0], ".x")
    file = Path("/dev/zero") if kind == "device" else tmp_path / f"input{suffix}"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    elif kind == "large file":
        with file.open("wb") as opened:
            opened.truncate(2**31)  # a hole: it claims its size and holds nothing
    elif kind == "no text":
        file.write_bytes(b"\xff\xfe\xff")
    elif kind == "nested":
        file.write_text(f"a = {NESTED}" if suffix == ".toml" else NESTED)
    if (reader, kind) == ("script", "nested"):
        return  # its verdict is that of any other script
    message = refusal(READERS[reader](file), capsys)
    assert str(file) in message
    assert "Traceback" not in message


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ('routing.x]\nfrom = "file"', "routing.x"),
        ('topology]\nfrom = "file.json"', "topology"),
    ],
)
def test_nested_json_that_a_scenario_names_is_refused(section: str, key: str, tmp_path: Path) -> None:
    name = section.split('"')[1]
    (tmp_path / name).write_text('{"nodes":' + NESTED + "}")
    text = LINE if key != "topology" else LINE[: LINE.index("[topology]")] + LINE[LINE.index("[[traffic]]") :]
    (tmp_path / "x.toml").write_text(f"{text}\n[{section}\n")
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "check", "x.toml"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == cli.FAILED
    assert name in done.stderr
    assert "nested too deep" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scenario_of_a_few_more_levels_than_the_parser_takes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.toml"
    for depth in (30, 200, 400):
        file.write_text("title = " + "[" * depth + "]" * depth + "\n" + LINE.partition("\n")[2])
        assert "nested more than 20 deep" in refusal(["check", str(file)], capsys)


def test_the_size_of_a_scenario_is_limited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(LINE + "#" * LARGEST_FILE)
    assert "is too large" in refusal(["check", str(file)], capsys)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    mark = "\ufeff"
    (tmp_path / "net.csv").write_text(mark + NETWORK)
    (tmp_path / "hose.csv").write_text(mark + "node,rate\nA,1Mbps\nB,1Mbps\nC,1Mbps\n")
    (tmp_path / "paths.json").write_text(mark + '[["A", "B"], ["B", "A"]]')
    (tmp_path / "x.toml").write_text(mark + LINE)
    assert cli.status(["check", str(tmp_path / "x.toml")]) == cli.DONE
    assert cli.status(["check", str(tmp_path / "x.toml"), "--set", "run.duration=1s"]) == cli.DONE
    network, hose = str(tmp_path / "net.csv"), str(tmp_path / "hose.csv")
    assert cli.status(["robust", network, "--hose", hose]) == cli.DONE
    assert input_files.json_document(tmp_path / "paths.json") == [["A", "B"], ["B", "A"]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = 1\nb = 2\na = 3", "a appears twice, in lines 1 and 3"),
        ("[b]\nc = 1\nd.e = 1\nd.f = 2\nd.e = 2", "b.d.e appears twice, in lines 3 and 5"),
        ("[b]\nc = 1\n[d]\n[b]\n", "b appears twice, in lines 1 and 4"),
        ("[[t]]\nx = 1\n[[t]]\nx = 1\ny = 2\nx = 3", "t[1].x appears twice, in lines 4 and 6"),
        ("[[t]]\n[t]\n", "t[0] appears twice, in lines 1 and 2"),
        ("a = 1\na.b = 2", "a appears twice, in lines 1 and 2"),
        ("a.b = 1\n[a]", "a appears twice, in lines 1 and 2"),
        ("[a.b]\n[a]\nb = 3", "a.b appears twice, in lines 1 and 3"),
        ('"x y" = """\n"x y" = 1\n"""\n"x y" = 2', '"x y" appears twice, in lines 1 and 4'),
        ("a = [ # [\n  '[',\n]\nb = 1\na = 2", "a appears twice, in lines 1 and 5"),
        ("x = { a = 1, a = 2 }", "'a' (at line 1"),
        ("a = " + "9" * 5000, "is not TOML"),
    ],
)
def test_a_key_that_stands_twice_is_named_with_its_lines(text: str, says: str) -> None:
    with pytest.raises(TomlError, match="is not TOML") as refused:
        parse(text)
    assert says in str(refused.value)
