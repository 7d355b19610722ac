"""Names and titles cannot control a terminal, execute in a spreadsheet, or break a figure."""

import json
import re
import unicodedata
from pathlib import Path
from xml.dom import minidom

import polars as pl
import pytest

from anabranch.cli import status
from anabranch.foundation.csv_text import unguarded
from anabranch.foundation.printable import printable, printable_json, printable_line
from anabranch.results.csv import guarded
from anabranch.scenario.trace import parse

HOSTILE = "\x1b]0;owned\x07\x9b2J\u202egnp.\r [bold]"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose title, stacks and traffic have control characters, and whose nodes look like formulas."""
    directory = tmp_path_factory.mktemp("hostile")
    text = f"""
title = {json.dumps(HOSTILE)}
[topology]
links = [{{ source = "=cmd|A", target = "@B", capacity = "10Mbps", delay = "5ms" }}]
[stacks]
{json.dumps(HOSTILE)} = {{ preset = "newreno" }}
[[traffic]]
name = {json.dumps("-" + HOSTILE)}
from = "=cmd|A"
to = "@B"
stack = [{json.dumps(HOSTILE)}, "cubic"]
[run]
duration = "2s"
"""
    (directory / "hostile.toml").write_text(text, encoding="utf-8")
    assert status(["run", str(directory / "hostile.toml"), "--out", str(directory / "out"), "--no-report"]) == 0
    return directory / "out"


def test_every_control_of_unicode_is_escaped_and_all_else_stays() -> None:
    """Unicode's own categories and directions say which characters are controls. All are in the first plane."""
    directions = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    for code in range(0x10000):
        one = chr(code)
        is_control = (
            unicodedata.category(one) in ("Cc", "Zl", "Zp")
            or unicodedata.bidirectional(one) in directions
            or one in "\u200e\u200f\u061c"
        )
        assert (printable_line(one) != one) == is_control, hex(code)
        assert (printable(one) != one) == (is_control and one not in "\n\t"), hex(code)
        if is_control:
            assert printable_line(one).isascii()
            assert json.loads(printable_json(json.dumps(one, ensure_ascii=False))) == one


@pytest.mark.parametrize(
    "command",
    [
        ["run", "{run}.toml", "--out", "{run}"],
        ["run", "{run}.toml", "--out", "{run}", "--json"],
        ["run", "{run}.toml", "--set", "run.duration='\x1b[31m'"],
        ["check", "{run}.toml"],
        ["check", "no\x1b[31m.toml"],
        ["figure", "{run}"],
        ["\x1b[31m"],
    ],
    ids=str,
)
def test_no_command_prints_control_characters(
    run: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = run.parent / "hostile.toml"
    status([part.replace("{run}.toml", str(scenario)).replace("{run}", str(run)) for part in command])
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert not CONTROLS.search(printed.out + printed.err)
    if "--json" in command:
        assert json.loads(printed.out)["runs"][0]["scenario"] == HOSTILE


def test_figures_with_such_names_are_drawn(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "goodput.svg"
    assert status(["figure", str(run), "--figure", "goodput", "--output", str(file)]) == 0
    assert "owned" in "".join(node.toxml() for node in minidom.parse(str(file)).getElementsByTagName("text"))


def test_a_text_that_looks_like_a_formula_is_guarded_in_csv_and_reads_back(run: Path, tmp_path: Path) -> None:
    assert status(["export", str(run), "-o", str(tmp_path)]) == 0
    table = pl.read_csv(tmp_path / "flows.csv")
    assert set(table["src"]) == {"'=cmd|A"}
    assert set(table["dst"]) == {"'@B"}
    assert set(table["traffic"].str.head(2)) == {"'-"}
    flow = table.row(0, named=True)
    trace = parse(f"src,dst,start,size\n{flow['src']},{flow['dst']},1s,30kB\n", "flows.csv")
    assert (trace.sources, trace.targets) == (("=cmd|A",), ("@B",))


def test_the_guard_changes_texts_only_and_is_removed_exactly() -> None:
    texts = ["=1", "+1", "-1", "@a", "\ta", "\ra", "'=1", "''", "plain", "a=b", "", None]
    table = guarded(pl.DataFrame({"text": texts, "number": [-3.0] * len(texts)}))
    assert [one if one is None else unguarded(one) for one in table["text"]] == texts
    assert [one for one in table["text"] if one and one[0] in "=+-@\t\r"] == []
    assert set(table["number"]) == {-3.0}
