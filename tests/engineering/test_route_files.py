"""Routes of all pairs as text and in files, against the same routes as objects in memory."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path as File

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.cli import status
from anabranch.engineering.routes import Path, Route, Routes, Search, search, tables, writing
from anabranch.engineering.routes.search import PathQuery
from anabranch.engineering.routes.writing import COLUMNS, FORMATS, RouteStream
from anabranch.foundation.text_table import TextTable, print_table
from anabranch.network.topologies import Link, Node, Topology

NAMES = ("=x", "a,b", '"q"', "東京", "d e", "é", "-m", "z")

QUESTIONS: dict[str, Callable[[Search], PathQuery]] = {
    "best": lambda search: search.for_best("tcpbp-exact"),
    "tree": lambda search: search.for_best("delay"),
    "shortest": lambda search: search.for_shortest("delay", 3),
    "disjoint": lambda search: search.for_disjoint("hop-count", 2),
    "within": lambda search: search.for_within("delay", 1.0, 9),
    "pareto": lambda search: search.for_pareto(),
}


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Networks with ties, links of one direction only, nodes out of reach, and links without loss."""
    ends = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] != pair[1])
    links = [
        Link(*pair, draw(st.sampled_from([10**8, 10**9])), draw(st.sampled_from([1e-3, 2e-3])), loss=draw(st.sampled_from([0.0, 0.1])))
        for pair in draw(st.lists(ends, min_size=1, max_size=24, unique=True))
    ]  # fmt: skip
    return Topology("random", tuple(map(Node, NAMES)), tuple(links), in_parts=True)


def text(pieces: Iterator[str]) -> str:
    return "".join(pieces)


def ignore(pairs: int) -> None:
    pass


def printed(routes: Routes) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_table(TextTable(*tables.routes_table(routes)))
    return out.getvalue()


@pytest.mark.parametrize(
    ("metric", "heading"),
    [
        ("goodput:linux-cubic", "goodput, bit/s"),
        ("widest", "least rate, bit/s"),
        ("hop-count,widest", "cost"),
        ("delay", "cost"),
    ],
)
def test_the_last_column_of_a_rate_names_it_and_its_unit(metric: str, heading: str) -> None:
    assert tables.routes_head(metric, True)[-1] == heading


def test_the_column_of_the_least_rate_has_it_in_bits_per_second() -> None:
    links = (Link("a", "b", 3 * 10**8, 1e-3), Link("b", "c", 2 * 10**8, 1e-3), Link("a", "c", 10**8, 1e-3))
    network = Topology("triangle", tuple(map(Node, "abc")), links)
    head, rows = tables.routes_table(Search(network).routes("widest", ["a"], ["c"]))
    assert dict(zip(head, rows[0], strict=True))["least rate, bit/s"] == "2e+08"


@pytest.mark.parametrize("kind", QUESTIONS)
@given(network=networks(), paths=st.sampled_from([1, 5, 2**15]))
@settings(max_examples=25, deadline=None)
def test_what_is_written_in_parts_is_the_answer_as_a_whole(kind: str, network: Topology, paths: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_PATHS_AT_ONCE", paths)
        asked = Search(network)
        question = QUESTIONS[kind](asked)
        stream = RouteStream(asked, question)
        whole = asked.answer(question)
        pairs = [(route.source, route.target) for route in whole.routes]
        assert pairs == [(source, target) for source in NAMES for target in NAMES if source != target]
        assert text(stream.json(ignore)) == json.dumps(whole.document(), indent=1, ensure_ascii=False) + "\n"
        lines = text(stream.json_lines(ignore)).splitlines()
        assert [json.loads(line) for line in lines] == whole.document()["routes"]
        assert text(stream.table(ignore)) == printed(whole)
        rows = list(csv.reader(io.StringIO(text(stream.csv(ignore)))))
        assert rows[0] == list(COLUMNS)
        assert [_unguarded(row) for row in rows[1:]] == [row for route in whole.routes for row in _rows(route)]
        assert pl.concat(stream.tables(ignore)).rows() == [
            tuple([*row[:3], *map(float, row[3:])] if row[2] else [*row[:2], *[None] * 5])
            for route in whole.routes
            for row in _rows(route)
        ]


def _rows(route: Route) -> list[list[str]]:
    """The cells of CSV, by Python."""

    def numbers(path: Path) -> list[str]:
        return [repr(number) for number in (path.weight, path.delay_s, path.loss, path.cost)]

    ends = [route.source, route.target]
    return [[*ends, " > ".join(path.nodes), *numbers(path)] for path in route.paths] or [[*ends, *[""] * 5]]


def _unguarded(row: list[str]) -> list[str]:
    assert not any(cell.startswith(("=", "-")) for cell in row[:3])
    return [cell.removeprefix("'") for cell in row[:3]] + row[3:]


def test_a_column_of_a_long_table_gets_wider_where_a_wider_cell_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a chain, the paths from its end are longer than those from its middle."""
    monkeypatch.setattr(search, "_PATHS_AT_ONCE", 1)
    names = [f"n{place}" for place in (3, 1, 2, 4, 5)]
    ends = [(f"n{place}", f"n{place + step}") for place in range(1, 6) for step in (-1, 1) if 1 <= place + step <= 5]
    chain = Search(Topology("chain", tuple(map(Node, names)), tuple(Link(*pair, delay_s=1e-3) for pair in ends)))
    stream = RouteStream(chain, chain.for_best("delay"))
    one_width = text(stream.table(ignore))
    monkeypatch.setattr(writing, "HELD_PATHS", 1)
    lines = text(stream.table(ignore)).splitlines()
    assert [line.split() for line in lines] == [line.split() for line in one_width.splitlines()]
    assert [len(line) for line in lines] == sorted(len(line) for line in lines)
    assert len(lines[0]) < len(lines[-1]) == len(one_width.splitlines()[-1])


def test_a_share_is_in_all_of_a_long_table_or_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first rows may be of pairs with one path each."""
    monkeypatch.setattr(search, "_PATHS_AT_ONCE", 1)
    ends = ("AB", "BC", "BD", "CE", "DE")
    square = Search(Topology("square", tuple(map(Node, "ABCDE")), tuple(Link(*pair, delay_s=1e-3) for pair in ends)))
    stream = RouteStream(square, square.for_shortest("delay", 2), sources=["A", "B"], targets=["C", "E"])
    assert [len(line.split()) for line in text(stream.table(ignore)).splitlines()[1:]] == [11, 13, 13, 9, 11, 11]
    monkeypatch.setattr(writing, "HELD_PATHS", 1)
    assert "share" in text(stream.table(ignore)).splitlines()[0]
    one_each = RouteStream(square, square.for_shortest("delay", 2), sources=["A"], targets=["B", "C"])
    monkeypatch.setattr(writing, "HELD_PATHS", 100)
    assert "share" not in text(one_each.table(ignore))


def test_parts_of_several_paths_are_small_and_begin_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PATHS_AT_ONCE", 20)
    asked = Search(_mesh(9))
    done: list[int] = []
    parts = asked.stream(asked.for_shortest("delay", 5), progress=done.append)
    sizes = [len(next(parts)["hops"])]
    assert sum(done) < 9 * 9
    sizes += [len(part["hops"]) for part in parts]
    assert (sum(sizes), sum(done)) == (9 * 8 * 5, 9 * 9)
    assert max(sizes) <= 20 + 5


def _mesh(nodes: int) -> Topology:
    names = [f"n{place}" for place in range(nodes)]
    links = [Link(one, other, delay_s=1e-3) for one in names for other in names if one != other]
    return Topology("mesh", tuple(map(Node, names)), tuple(links))


@pytest.fixture
def star(tmp_path: File) -> File:
    """Its 4,000,000 pairs were once too many."""
    file = tmp_path / "star.csv"
    file.write_text("source,target,delay\n" + "".join(f"hub,n{place},1ms\n" for place in range(1999)))
    return file


def test_the_rows_of_millions_of_pairs_come_while_they_are_found(star: File) -> None:
    command = [sys.executable, "-m", "anabranch", "routes", str(star), "--metric", "delay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline().split() for _ in range(3)]
        process.stdout.close()  # as head does
        assert process.wait(60) == 0
        assert process.stderr.read() == ""
    assert lines[1:] == [
        ["hub", "n0", "hub", ">", "n0", "1", "-", "0.001"],
        ["hub", "n1", "hub", ">", "n1", "1", "-", "0.001"],
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_is_not_complete_has_no_name(
    ending: str, tmp_path: File, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Search(_mesh(40))
    stream = RouteStream(asked, asked.for_best("delay"))
    file = tmp_path / f"routes{ending}"
    file.write_text("former")

    def stop(pairs: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream.write(file, stop)
    assert file.read_text() == "former"
    assert [*tmp_path.iterdir()] == [file]
    stream.write(file, ignore)
    assert [*tmp_path.iterdir()] == [file]
    lengths = {".csv": 40 * 39 + 1, ".txt": 40 * 39 + 1, ".jsonl": 40 * 39}
    if ending in lengths:
        assert len(file.read_text().splitlines()) == lengths[ending]
    elif ending == ".parquet":
        assert pl.read_parquet(file).height == 40 * 39
    else:
        assert len(json.loads(file.read_text())["routes"]) == 40 * 39


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_ctrl_c_leaves_nothing(ending: str, star: File, tmp_path: File) -> None:
    file = tmp_path / f"routes{ending}"
    command = [sys.executable, "-m", "anabranch", "routes", str(star), "--metric", "delay", "--out", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        partial = file.with_name(file.name + ".partial")
        while process.poll() is None and not (partial.exists() and partial.stat().st_size):
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert [*tmp_path.iterdir()] == [star]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "routes.xls"], "--out routes.xls: must end in one of .csv, .parquet, .jsonl, .json, .txt"),
        (["--out", "routes"], "or be the directory of an --export"),
        (["--out", "r.csv", "--json"], "--out and --json do not go together without --export; --out FILE.json writes the same"),
        (["--out", "r.csv", "--picture", "map.svg"], "--out and --picture do not go together without --export"),
        (["--out", "r.csv", "--compare"], "--out and --compare do not go together without --export"),
        (["--out", "r.csv", "--certify"], "--out and --certify do not go together without --export"),
        (["--out", "r.csv", "--source-port", "5001=delay"], "--source-port goes with --export"),
    ],
)  # fmt: skip
def test_a_file_that_could_not_be_written_is_refused_before_the_search(
    arguments: list[str],
    message: str,
    tmp_path: File,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status(["routes", "tcpbp10", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
    assert status(["routes", "tcpbp10", "--out", "missing/routes.csv"]) == 1
    assert "missing/routes.csv: cannot be written" in capsys.readouterr().err


def test_a_file_has_the_routes_of_the_table(tmp_path: File, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["routes", "tcpbp10", "--within", "20%", "--from", "1"]
    assert status([*asked, "--out", str(tmp_path / "routes.txt")]) == 0
    assert f"Wrote {tmp_path}/routes.txt" in capsys.readouterr().err
    assert status(asked) == 0
    for written, shown in zip_longest(
        (tmp_path / "routes.txt").read_text().splitlines(), capsys.readouterr().out.splitlines()
    ):
        assert written == shown
