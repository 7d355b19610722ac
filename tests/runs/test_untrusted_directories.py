"""Directories that somebody else has filled: commands change nothing outside of them, execute no code from them, and always end.

Each way of filling meets the commands that came to harm, and one of NTH others, which take turns. NTH=1 tries all (about two minutes).
"""

import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch.cli import status
from anabranch.foundation import checksums
from anabranch.foundation.output_files import FileError
from anabranch.results.manifest import ManifestError
from anabranch.results.result import Result, ResultError
from anabranch.scenario import Scenario
from anabranch.studies.sweep import SweepError, SweepResult
from anabranch.studies.sweep.store import Store
from tests.scenarios import LINE
from tests.sweep_plans import plan, sweep

LONGEST_S = 60
NTH = int(os.environ.get("NTH", "10"))
SAMPLED = LINE.replace("[run]", '[run]\nsample = "100ms"')
PRECIOUS = "years of work\n"
Plant = Callable[[Path, Path], object]
"""Puts something into a directory that leads outside; the second path is the folder outside."""


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory, and the directory of a sweep."""
    folder = tmp_path_factory.mktemp("originals")
    Scenario.from_toml(SAMPLED).run(directory=folder / "run")
    sweep(folder, links=True, seeds=1, losses=(0.01, 0.02)).execute(folder / "swept", jobs=1)
    return folder


@pytest.fixture
def place(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with copies of both, inputs of commands, and somebody's files outside of the two."""
    for name in ("run", "swept"):
        shutil.copytree(originals / name, tmp_path / name)
    outside = tmp_path / "outside"
    (outside / "folder.partial").mkdir(parents=True)
    for name in (
        "precious",
        "x",
        "flows.csv",
        "links.csv",
        "states.csv",
        "routes.csv",
        "report.html",
        "folder.partial/x",
    ):
        (outside / name).write_text(PRECIOUS)
    (tmp_path / "line.toml").write_text(LINE)
    plan(tmp_path, losses=(0.01,), stacks=("cubic",), seeds=1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def ends() -> Iterator[None]:
    """Fails if the block waits for a pipe, or reads a device without end."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"does not end within {LONGEST_S} s")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def link(name: str, target: str = "precious") -> Plant:
    """A symbolic link outside."""

    def plant(directory: Path, outside: Path) -> None:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(outside / target)

    return plant


def hard_link(name: str) -> Plant:
    """Another name of a file outside."""

    def plant(directory: Path, outside: Path) -> None:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.link(outside / "precious", path)

    return plant


def unfinished(more: Plant) -> Plant:
    """As if a command had been killed while it replaced the result: the folder of the new one is there, and empty."""

    def plant(directory: Path, outside: Path) -> None:
        (directory / ".anabranch" / "result").mkdir(parents=True)
        more(directory, outside)

    return plant


def listed(names: list[str]) -> Plant:
    """A manifest that says that these files are the result's, with a right checksum."""

    def plant(directory: Path, outside: Path) -> None:
        path = directory / "manifest.json"
        if path.exists():
            document = json.loads(path.read_text())
            del document["checksum"]
            path.write_bytes(checksums.sealed_json(document | {"files": names}))

    return plant


def both(*plants: Plant) -> Plant:
    return lambda directory, outside: [plant(directory, outside) for plant in plants]


def replacing(names: list[str]) -> Plant:
    """A replacement that was killed after the former manifest, which lists these files, was moved."""

    def plant(directory: Path, outside: Path) -> None:
        if not (directory / "manifest.json").exists():
            return
        workspace = directory / ".anabranch"
        shutil.copytree(directory, directory.with_name("copy"), symlinks=True)
        listed(names)(directory, outside)
        workspace.mkdir()
        (directory / "manifest.json").rename(workspace / "replaced.json")
        directory.with_name("copy").rename(workspace / "result")
        link("series", ".")(directory, outside)

    return plant


WRITE, READ, PAGES = ("run", "sweep"), ("export", "run"), ("report .", "replay")
PLANTED: dict[str, tuple[str, Plant, tuple[str, ...]]] = {
    "lock is a link": ("run", link(".anabranch/lock"), WRITE),
    "lock of a sweep is a link": ("swept", link(".anabranch/lock"), WRITE),
    "lock is a link, and a replacement is unfinished": ("run", unfinished(link(".anabranch/lock")), (*READ, "report")),
    "lock is a hard link": ("run", hard_link(".anabranch/lock"), WRITE),
    "lock of a sweep is a hard link": ("swept", hard_link(".anabranch/lock"), WRITE),
    "workspace is a link": ("run", link(".anabranch", "."), READ),
    "workspace of a sweep is a link": ("swept", link(".anabranch", "."), WRITE),
    "purpose is a link": ("run", link(".anabranch/purpose"), ("run",)),
    "finished runs are a link": ("run", link(".anabranch/finished", "."), ("run",)),
    "unfinished result is a link": ("run", link(".anabranch/result.partial", "."), ("run",)),
    "result is a link": ("run", link(".anabranch/result", "."), READ),
    "new part is a link": ("swept", link(".anabranch/new.parquet"), ("sweep",)),
    "new part is a hard link": ("swept", hard_link(".anabranch/new.parquet.partial"), ("sweep",)),
    "kept results are a link": ("swept", link(".anabranch/kept", "."), ("sweep",)),
    "plan is being written to a link": ("swept", link("sweep.json.partial"), ("sweep",)),
    "plan is being written to a hard link": ("swept", hard_link("sweep.json.partial"), ("sweep",)),
    "series are outside": ("run", both(link("series", "."), listed(["series/x"])), READ),
    "names lead outside": ("run", listed(["../outside/x", "series/../../outside/x"]), READ),
    "former series are outside": ("run", replacing(["series/x"]), READ),
    "flows are outside": ("swept", link("flows", "."), ("export", "sweep")),
    "links are outside": ("swept", link("links", "."), ("export", "sweep")),
    "table is a link": ("run", link("flows.parquet"), READ),
    "manifest is a link": ("run", link("manifest.json"), READ),
    "plan is a link": ("swept", link("sweep.json"), ("export", "sweep")),
    "CSV files go outside": ("run", link("csv", "."), ("export",)),
    "CSV files of a sweep go outside": ("swept", link("csv", "."), ("export",)),
    "CSV file is a link": ("run", link("csv/flows.csv"), ("export",)),
    "CSV file is being written to a link": ("run", link("csv/flows.csv.partial"), ("export",)),
    "CSV file is being written to a hard link": ("run", hard_link("csv/flows.csv.partial"), ("export",)),
    "pages are links": ("run", both(link("replay.html"), link("report.html")), PAGES),
    "pages are hard links": ("run", both(hard_link("report.html"), hard_link("replay.html.partial")), PAGES),
    "engine's directory is a link": ("run", link("packet", "."), ("compare",)),
}
"""The directory, what is in it, and the beginnings of the commands that came to harm."""


def commands(directory: str, other: str) -> list[tuple[str, list[str]]]:
    """Commands on a directory, and where each is given."""
    scenario, swept = "line.toml", "plan.toml"
    return [
        (".", ["report", directory, "-o", "page.html"]),
        (".", ["report", directory, other, "-o", "page.html"]),
        (directory, ["report", "."]),
        (".", ["export", directory]),
        (".", ["export", directory, "-o", f"{directory}/csv"]),
        (".", ["figure", directory]),
        (".", ["figure", directory, "-o", "figure.svg"]),
        (".", ["replay", directory, "--for", "10ms"]),
        (".", ["replay", directory, "--for", "10ms", "-o", "replay.html"]),
        (".", ["run", scenario, "--out", directory, "--no-report"]),
        (".", ["run", scenario, "--seeds", "1,2", "--out", directory, "--no-report"]),
        (".", ["run", scenario, "--out", directory, "--json"]),
        (".", ["sweep", swept, "--out", directory, "-j", "1"]),
        (".", ["sweep", swept, "--out", directory, "-j", "1", "--until", "ci < 50 %", "--max-seeds", "2"]),
        (".", ["sweep", swept, "--out", directory, "--dry-run"]),
        (".", ["compare", scenario, "--engines", "packet,predict", "--out", directory]),
        (".", ["check", scenario]),
        (".", ["plan", "dumbbell", "--hose", "1Mbps", "--out", directory]),
        (".", ["robust", "dumbbell", "--hose", "1Mbps", "--out", f"{directory}/robust.json"]),
        (".", ["routes", "dumbbell"]),
    ]


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("name", ["run", "swept"])
def test_a_command_changes_nothing_outside(
    place: Path, name: str, planted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, plant, verbs = PLANTED[planted]
    turn = list(PLANTED).index(planted) % NTH
    chosen = [
        words
        for number, words in enumerate(commands(name, "swept" if name == "run" else "run"))
        if number % NTH == turn
        or (name == own and f"{' '.join(words[1])} ".startswith(tuple(f"{verb} " for verb in verbs)))
    ]
    assert chosen
    try_commands(place, name, plant, monkeypatch, capsys, chosen)


def try_commands(
    place: Path,
    name: str,
    plant: Plant,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chosen: list[tuple[str, list[str]]],
) -> None:
    """These commands, each on a new copy of the directory."""
    outside, directory = place / "outside", place / name
    before = contents(outside)
    original = shutil.copytree(directory, place / "original")
    for where, words in chosen:
        plant(directory, outside)
        inside = snapshot(directory)
        monkeypatch.chdir(place / where)
        with ends():
            code = status(words)
        printed = capsys.readouterr()
        assert code in (0, 1, 2), words
        assert "Traceback" not in printed.err, words
        assert contents(outside) == before, (words, printed.err)
        if words[0] in ("report", "figure", "check", "routes") and where == ".":
            assert snapshot(directory) == inside, (words, "a command that reads has written")
        shutil.rmtree(directory)
        shutil.copytree(original, directory)


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {path.as_posix(): (status.st_mode, status.st_ino, status.st_mtime_ns) for path, status in found}


def refused(directory: Path) -> list[str]:
    """What readers and writers of the two directories say, and those that take it as it is."""
    said = []
    line, swept = Scenario.from_toml(LINE), sweep(directory.parent, links=True, seeds=1, losses=(0.01, 0.02))
    for act in (
        lambda: tables(Result.load(directory)),
        lambda: tables(SweepResult.load(directory)),
        lambda: line.run(directory=directory),
        lambda: Store(directory, swept).__enter__().__exit__(),
    ):
        try:
            act()
        except (FileError, SweepError, ResultError, ManifestError) as error:
            said.append(str(error))
    return said


def tables(result: Any) -> list[pl.DataFrame]:
    """All tables of a result, read whole."""
    names = ("flows", "links", "states", "routes", "series_flows", "series_links", "link_state")
    return [getattr(result, name) for name in names if hasattr(result, name)]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    former = Path.cwd()
    os.chdir(path.parent)  # a name of a socket has 107 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(former)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


FILES = {
    "run": [
        *("manifest.json", "flows.parquet", "links.parquet", "series/flows-0-0.parquet", "series"),
        *(".anabranch", ".anabranch/lock", ".anabranch/purpose", ".anabranch/result/manifest.json"),
        ".anabranch/finished",
    ],
    "swept": [
        *("sweep.json", "flows/part-00000.parquet", "links/part-00000.parquet", "flows", "links"),
        *(".anabranch", ".anabranch/lock", ".anabranch/kept", ".anabranch/kept/flows-00.parquet"),
    ],
}


@pytest.mark.parametrize("make", [pipe, bound_socket, device, Path.mkdir], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("name", "file"), [(name, file) for name, files in FILES.items() for file in files])
def test_what_is_no_regular_file_is_named(place: Path, name: str, file: str, make: Callable[[Path], None]) -> None:
    """A pipe, a socket, a device or a directory in the place of a file: whoever needs that file says so, and nobody waits."""
    path = place / name / file
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    make(path)
    with ends():
        said = refused(place / name)
    is_folder = file in ("series", "flows", "links", ".anabranch", ".anabranch/kept", ".anabranch/finished")
    if not (make is Path.mkdir and (is_folder or ".anabranch" in file)):
        assert any(str(path) in text for text in said), said


def test_replay_executes_no_control_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The manifest names the file, which anybody may have put there. The message says what would be executed."""
    mark, directory = tmp_path / "executed", tmp_path / "run"
    (tmp_path / "control.py").write_text(
        f"from pathlib import Path\nfrom anabranch.engines.control import Control\nPath({str(mark)!r}).touch()\nclass Mine(Control):\n    pass\n"
    )
    text = (
        LINE.replace('stack = "newreno"', 'stack = "mine"') + '[stacks]\nmine.congestion.python = "control.py:Mine"\n'
    )
    (tmp_path / "line.toml").write_text(text)
    Scenario.load(tmp_path / "line.toml").run(directory=directory)
    mark.unlink()
    words = ["replay", str(directory), "--for", "10ms"]
    assert status(words) == 1
    assert f"run 0 would execute the Python control Mine of {tmp_path / 'control.py'};" in capsys.readouterr().err
    for more in (
        ["report", str(directory), "-o", str(tmp_path / "a.html")],
        ["export", str(directory)],
        ["figure", str(directory)],
    ):
        assert status(more) == 0
    assert not mark.exists()
    assert status([*words, "--run-control"]) == 0
    assert mark.exists()


def test_a_result_is_saved_only_below_its_place(place: Path) -> None:
    listed(["../outside/x"])(place / "run", place / "outside")
    before = contents(place / "outside")
    with pytest.raises(ManifestError, match="does not name a file below"):
        Result.load(place / "run").save(place / "saved")
    assert contents(place / "outside") == before


def test_a_link_that_the_user_names_is_followed(place: Path) -> None:
    """As an output, and as a run directory."""
    (place / "page.html").symlink_to("elsewhere.html")
    (place / "linked").symlink_to("run")
    assert status(["report", "linked", "-o", "page.html"]) == 0
    assert (place / "elsewhere.html").read_text().rstrip().endswith("</html>")
    assert (place / "page.html").is_symlink()


def test_the_name_of_a_directory_is_no_pattern(place: Path) -> None:
    """Polars would take ``ru[n]`` for ``run``: a result that is read there is that of another directory."""
    Scenario.from_toml(SAMPLED.replace("10Mbps", "20Mbps")).run(directory=place / "ru[n]", seed=2)
    shutil.copytree(place / "swept", place / "swep[t]")
    one, other = Result.load(place / "ru[n]"), Result.load(place / "run")
    assert set(one.flows["seed"]) == {2}
    assert not one.series_flows.equals(other.series_flows)
    assert [*one.runs.flows["seed"].unique()] == [2]
    sampled = one.runs.flow_series
    assert sampled is not None
    assert sampled.collect()["goodput_bps"].equals(one.series_flows["goodput_bps"])
    found = sweep(place, links=True, seeds=1, losses=(0.05,)).execute(place / "swept", jobs=1)
    assert {*found.flows["loss"]} == {0.05}
    assert {*SweepResult.load(place / "swep[t]").flows["loss"]} == {0.01, 0.02}
