"""A run directory never loses a result: not by a refusal, a full disk, a kill, or a second process. A stopped command continues."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from anabranch.engines.packet import CompiledRun
from anabranch.foundation import checksums, output_files
from anabranch.foundation.locks import Lock
from anabranch.foundation.output_files import FileError
from anabranch.pages import report
from anabranch.results.manifest import FORMAT, ManifestError
from anabranch.results.result import Result
from anabranch.runs import RunError, default_directory, directory, execute, tables
from anabranch.runs.kept import KeptRuns
from anabranch.scenario import Scenario
from tests.fake_simulation import FakeSimulation, interrupt_runs
from tests.report_fixture import write_run_directory
from tests.scenarios import DESIGN, LINE


def design(path: Path, make: Callable[[CompiledRun], FakeSimulation] = FakeSimulation) -> Result:
    return execute(Scenario.from_toml(DESIGN), directory=path, jobs=1, make=make, show_progress=False)


def line(path: Path, make: Callable[[CompiledRun], FakeSimulation] = FakeSimulation) -> Result:
    return execute(Scenario.from_toml(LINE), directory=path, jobs=1, make=make, show_progress=False)


def names(path: Path) -> list[str]:
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*"))


def contents(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def refuse(spec: CompiledRun) -> FakeSimulation:
    raise ValueError("no")


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileError, match="neither empty nor a run directory"):
        line(tmp_path)
    assert names(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize(
    "manifest",
    [
        b'{"name": "a web application"}',
        b"[]",
        b"{",
        checksums.sealed_json({"format": FORMAT, "runs": []}),
        *(
            checksums.sealed_json({"format": FORMAT, "files": ["flows.parquet", name]})
            for name in (
                *("../precious.txt", "series/../../precious.txt", "..", ".", "", "series/", "series//mine.txt"),
                *("/precious.txt", "/", "//precious.txt", "precious\0.txt", "series/deep/mine.txt"),
                *(".anabranch/lock", "manifest.json", 3, None),
            )
        ),
    ],
)
def test_a_directory_with_a_manifest_of_something_else_is_left_alone(tmp_path: Path, manifest: bytes) -> None:
    """Such as a web application's, which has its own series/ and captures/."""
    place = tmp_path / "out"
    for folder in ("series", "captures"):
        (place / folder).mkdir(parents=True)
        (place / folder / "mine.txt").write_text("mine")
    (place / "manifest.json").write_bytes(manifest)
    (tmp_path / "precious.txt").write_text("mine")
    former = contents(tmp_path)
    with pytest.raises(FileError, match=r"manifest\.json: is not the manifest of a run that lists its files"):
        line(place)
    assert contents(tmp_path) == former


def test_a_former_result_is_replaced_and_what_is_not_its_own_stays(tmp_path: Path) -> None:
    design(tmp_path)
    (tmp_path / "series" / "notes.txt").write_text("mine")
    (tmp_path / "plot.svg").write_text("mine")
    result = line(tmp_path)
    assert result.series_flows.is_empty()
    assert Result.load(tmp_path).flows.height == 1
    assert names(tmp_path) == sorted(
        ["flows.parquet", "links.parquet", "manifest.json", "plot.svg", "series", "series/notes.txt"]
    )


def test_a_refusal_keeps_the_former_result(tmp_path: Path) -> None:
    line(tmp_path)
    former = contents(tmp_path)
    with pytest.raises(RunError, match="no"):
        design(tmp_path, refuse)
    assert contents(tmp_path) == former


def test_an_interrupted_result_does_not_replace_a_complete_one(tmp_path: Path) -> None:
    """The tables of the interrupted one are at hand nevertheless, and the same call continues it."""
    line(tmp_path)
    former = contents(tmp_path)
    result = design(tmp_path, interrupted_in_run(3))
    assert result.interrupted
    assert result.flows.height == 3
    assert result.directory != tmp_path
    assert {name: data for name, data in contents(tmp_path).items() if not name.startswith(".")} == former
    again = design(tmp_path)
    assert again.kept_runs == 2
    assert Result.load(tmp_path).flows.height == 20


def test_an_interrupted_result_replaces_one_that_has_no_more(tmp_path: Path) -> None:
    """An interrupted result: it is replaced by the next one, be that interrupted or complete."""
    first = design(tmp_path, interrupted_in_run(3))
    assert (first.directory, first.flows.height) == (tmp_path, 3)
    second = design(tmp_path, interrupted_in_run(2))
    assert second.directory == tmp_path
    assert Result.load(tmp_path).flows.height == second.flows.height == 4
    assert design(tmp_path).directory == tmp_path
    assert not Result.load(tmp_path).interrupted


def interrupted_in_run(number: int) -> Callable[[CompiledRun], FakeSimulation]:
    """Ctrl-C comes in this run, counted from 1, which continues once the signal has been taken."""
    begun = []

    def at_step(simulation: FakeSimulation) -> None:
        if len(begun) == number and simulation.steps == 3:
            interrupt_runs()

    def make(spec: CompiledRun) -> FakeSimulation:
        begun.append(spec)
        return FakeSimulation(spec, at_step)

    return make


def test_an_interrupted_command_goes_on_to_the_same_result(tmp_path: Path) -> None:
    """Tables, series and manifest are those of a run without an interruption. No finished run is repeated."""
    whole = design(tmp_path / "whole")
    stopped = design(tmp_path / "out", interrupted_in_run(4))
    assert [run["status"] for run in stopped.manifest["runs"]] == ["complete"] * 3 + ["interrupted"]
    begun = []
    again = design(tmp_path / "out", lambda spec: begun.append(spec) or FakeSimulation(spec))
    assert len(begun) == 17
    assert again.kept_runs == 3
    assert again.manifest == whole.manifest
    assert again.hash == whole.hash
    assert again.series_flows.equals(whole.series_flows)
    assert names(tmp_path / "out") == names(tmp_path / "whole")


def test_captures_of_finished_runs_are_kept(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(LINE.replace("title =", 'capture = [["A", "B"]]\ntitle =') + "seeds = 3\n")
    make = interrupted_in_run(2)
    stopped = execute(scenario, directory=tmp_path, jobs=1, make=make, show_progress=False)
    assert stopped.interrupted
    again = execute(scenario, directory=tmp_path, jobs=1, make=FakeSimulation, show_progress=False)
    assert again.kept_runs == 1
    assert [capture["file"] for run in again.manifest["runs"] for capture in run["captures"]] == [
        f"captures/{run}-A-B.pcapng" for run in range(3)
    ]
    assert {file.read_bytes() for file in (tmp_path / "captures").iterdir()} == {b"1,2,3,4,5,6,7,8,9,10,"}


def test_a_second_interrupt_keeps_what_is_finished_and_leaves_no_other_debris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the tables of all runs are written."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tables, "write_manifest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            design(tmp_path / "out")
    left = tmp_path / "out" / ".anabranch"
    assert sorted(path.name for path in left.iterdir()) == ["finished", "purpose"]
    assert len(KeptRuns(left / "finished").finished()) == 20
    assert design(tmp_path / "out").kept_runs == 20
    assert not left.exists()


def test_a_kill_between_any_two_steps_of_a_replacement_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every change of the file system is the last one in turn. Then a reader finds the whole new result, and writes nothing."""
    line(tmp_path / "old")
    scenario = Scenario.from_toml(DESIGN)
    expected = execute(scenario, seeds=[1], directory=tmp_path / "new", make=FakeSimulation, show_progress=False)
    place = tmp_path / "old"
    shutil.copytree(tmp_path / "new", place / ".anabranch" / "result")
    for allowed in range(100):
        tried = tmp_path / f"tried-{allowed}"
        shutil.copytree(place, tried)
        with monkeypatch.context() as patch:
            ended = kill_after(patch, allowed, lambda tried=tried: put_in_place(tried))
        found = contents(tried)
        result = Result.load(tried)
        assert result.manifest == expected.manifest
        assert result.flows.equals(expected.flows)
        assert result.series_links.equals(expected.series_links)
        result.save(tmp_path / f"copy-{allowed}")
        assert contents(tmp_path / f"copy-{allowed}") == contents(tmp_path / "new")
        assert contents(tried) == found, "a reader has changed something"
        put_in_place(tried)
        assert names(tried) == names(tmp_path / "new")
        if ended:
            break
    assert allowed > 15


def put_in_place(path: Path) -> None:
    """What each command that writes to a run directory does first."""
    with directory.RunDirectory(path, ""):
        pass


class Killed(BaseException):
    pass


def kill_after(patch: pytest.MonkeyPatch, allowed: int, act: Callable[[], None]) -> bool:
    """Act until this number of files was renamed or removed. Returns whether the action ended before."""
    count = 0

    def counted(function: Callable) -> Callable:
        def call(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count > allowed:
                raise Killed
            return function(*arguments, **options)

        return call

    for name in ("replace", "unlink", "rmdir"):
        patch.setattr(os, name, counted(getattr(os, name)))
    try:
        act()
    except Killed:
        return False
    return True


def test_a_file_of_the_user_is_not_overwritten(tmp_path: Path) -> None:
    """It came while the runs went on; the result waits until the user has moved it."""

    def make(spec: CompiledRun) -> FakeSimulation:
        (tmp_path / "links.parquet").write_text("mine")
        return FakeSimulation(spec)

    with pytest.raises(FileError, match=r"links\.parquet: is in the way of the result"):
        line(tmp_path, make)
    assert (tmp_path / "links.parquet").read_text() == "mine"
    (tmp_path / "links.parquet").unlink()
    assert Result.load(tmp_path).links.height == 4


def test_a_second_process_is_refused_by_name(tmp_path: Path) -> None:
    """It begins while the first one runs, which is not disturbed."""
    refusals = []

    def make(spec: CompiledRun) -> FakeSimulation:
        code = (
            "from anabranch.scenario import Scenario\nfrom scenarios import LINE\n"
            f"Scenario.from_toml(LINE).run(directory={str(tmp_path / 'out')!r})"
        )
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        refusals.append(second.stderr.splitlines()[-1])
        return FakeSimulation(spec)

    assert line(tmp_path / "out", make).flows.height == 1
    assert f"{tmp_path / 'out'}: in use by process {os.getpid()} on {os.uname().nodename};" in refusals[0]


def test_the_default_directory_is_the_one_where_the_same_runs_are_unfinished(tmp_path: Path) -> None:
    scenario, other = Scenario.from_toml(DESIGN), Scenario.from_toml(LINE)
    wanted = tmp_path / "design"
    assert default_directory(wanted, scenario, None) == wanted
    design(wanted, interrupted_in_run(2))
    assert default_directory(wanted, scenario, None) == wanted
    assert default_directory(wanted, scenario, [1]) == tmp_path / "design-2"
    assert default_directory(wanted, other, None) == tmp_path / "design-2"
    design(wanted)
    assert default_directory(wanted, scenario, None) == tmp_path / "design-2"


def test_a_kill_while_finished_runs_are_removed_leaves_no_half_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose series are gone already must not be taken for a finished one."""

    remove = shutil.rmtree

    def killed(name: str, **options: Any) -> None:
        if not name.startswith("finished"):
            remove(name, **options)
            return
        for file in tmp_path.rglob("finished*/*/series/*"):
            file.unlink()
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(Killed):
            design(tmp_path)
    again = design(tmp_path)
    assert again.series_flows.height == 20 * 10
    assert not list(tmp_path.glob(".anabranch"))


@pytest.mark.parametrize("arguments", [{"threads": 0}, {"jobs": 0}, {"jobs": -1}, {"seeds": []}, {"seeds": [1, 1]}])
def test_arguments_that_cannot_be_used_are_refused(arguments: dict) -> None:
    with pytest.raises(RunError, match=f"^{next(iter(arguments))} = "):
        execute(Scenario.from_toml(LINE), **arguments)


def test_a_table_whose_checksum_is_wrong_is_refused(tmp_path: Path) -> None:
    """Before the Parquet reader sees it, which for some bytes panics or ends the process."""
    design(tmp_path)
    for path in (tmp_path / "flows.parquet", tmp_path / "series" / "links-3-0.parquet"):
        whole = path.read_bytes()
        path.write_bytes(whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
        with pytest.raises(ManifestError, match=rf"{path.name}: is damaged"):
            Result.load(tmp_path)
        with pytest.raises(ManifestError, match=rf"{path.name}: is damaged"):
            report.write([tmp_path], tmp_path / "page.html")
        path.write_bytes(whole)
    assert Result.load(tmp_path).flows.height == 20


def test_work_after_a_fork_is_refused_instead_of_hanging() -> None:
    code = (
        "import os\nfrom anabranch.scenario import Scenario\nfrom scenarios import LINE\n"
        "Scenario.from_toml(LINE).run()\n"
        "child = os.fork()\n"
        "if child == 0:\n    try:\n        Scenario.from_toml(LINE).run()\n"
        "    except ValueError as error:\n        print(error, flush=True)\n    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert "was forked after its parent had used polars" in done.stdout


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    output_files.write_json(path, {"a": 1})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match=r"a\.json: cannot be written \(No space left on device\)"):
            output_files.write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert names(tmp_path) == ["a.json"]
    (tmp_path / "a.json.partial").write_text("left by a kill")
    output_files.write_json(path, {"a": 3})
    assert contents(tmp_path) == {"a.json": b'{\n "a": 3\n}\n'}


def test_what_is_no_regular_file_is_written_to_and_not_replaced() -> None:
    output_files.write_text(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(FileError, match="/dev/full: cannot be written"):
        output_files.write_text(Path("/dev/full"), "x")


FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
"""Files may have 1000 bytes, which no result fits into; the system says so as it says that a disk is full."""
PERMISSIONS_HOLD = "import ctypes; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)"
"""Nothing is read-only for root, unless its right to override permissions (PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) is dropped."""


def command(folder: Path, *words: str, first: str = "") -> subprocess.CompletedProcess[str]:
    """A command that fails with a message, after some Python code in the process that becomes the command."""
    become = f"{first}\nimport os, sys; os.execv(sys.executable, [sys.executable, '-m', 'anabranch', *sys.argv[1:]])"
    # Under a limit Python would leave compiled modules of ours cut off.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", become, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_a_disk_that_is_full_in_the_middle_of_a_table_is_named(tmp_path: Path) -> None:
    """Wherever its file ends: in a column, or in the metadata behind them."""
    code = (
        "import sys, resource, polars\nfrom pathlib import Path\n"
        "from anabranch.foundation.output_files import FileError, parquet, write_new_table\n"
        "table = polars.DataFrame({f'column {number}': [0.5 * row for row in range(50)] for number in range(40)})\n"
        "for size in range(4, len(parquet(table)), 500):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))\n"
        "    try:\n        write_new_table(Path(sys.argv[1]), table)\n"
        "    except FileError as error:\n        print(error)\n        Path(sys.argv[1]).unlink()\n"
        "    else:\n        print('written', size)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.parquet"], capture_output=True, text=True)
    assert done.stderr == ""
    assert set(done.stdout.splitlines()) == {f"{tmp_path / 'a.parquet'}: cannot be written (File too large)"}


WRITING = {
    "run": (["run", "line.toml", "--out", "out"], "out"),
    "robust": (["robust", "dumbbell", "--hose", "1Mbps", "--out", "out.json"], "out.json"),
    "plan": (["plan", "dumbbell", "--hose", "1Mbps", "--out", "out"], "out"),
    "report": (["report", "run", "-o", "out.html"], "out.html"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "line.toml").write_text(LINE.replace("[run]", '[run]\nsample = "1ms"'))
    write_run_directory(tmp_path / "run")
    return tmp_path


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_keeps_the_former_result(name: str, folder: Path) -> None:
    words, place = WRITING[name]
    former = write_former(folder / place)

    message = command(folder, *words, first=FULL_DISK).stderr
    assert "cannot be written (File too large)" in message
    assert read_former(folder / place) == former
    assert not list(folder.rglob("*.partial"))


@pytest.mark.parametrize("name", WRITING)
def test_a_read_only_directory_keeps_the_former_result(name: str, folder: Path) -> None:
    words, place = WRITING[name]
    former = write_former(folder / place)
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    message = command(folder, *words, first=PERMISSIONS_HOLD).stderr
    assert "cannot be written (Permission denied)" in message
    assert read_former(folder / place) == former


@pytest.mark.parametrize("name", ["robust", "plan"])
def test_a_result_that_cannot_be_written_is_printed_all_the_same(name: str, folder: Path) -> None:
    words, _ = WRITING[name]
    done = command(folder, *words, "--json", first=FULL_DISK)
    assert len(json.loads(done.stdout)["splits"]) > 0


def write_former(place: Path) -> dict[str, bytes]:
    if place.suffix:
        place.write_text("former")
    else:
        line(place)
    return read_former(place)


def read_former(place: Path) -> dict[str, bytes]:
    return {"": place.read_bytes()} if place.is_file() else contents(place)


def test_two_processes_do_not_write_to_the_study_of_one_paper(folder: Path) -> None:
    place = folder / "papers" / "mprc"
    place.mkdir(parents=True)
    with Lock(place / ".lock"):
        message = command(folder, "paper", "mprc", "--quick", "--out", "papers").stderr
    assert f"{place.relative_to(folder)}: in use by process {os.getpid()}" in message
    assert names(place) == []


def test_a_command_that_begins_while_another_ends_has_the_directory_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tries to begin after each file and folder that the other one removes at its end."""
    second = directory.RunDirectory(tmp_path / "out", "second")
    begun = False

    def then_begin(remove: Callable[..., None]) -> Callable[..., None]:
        def removed(*arguments: object, **options: object) -> None:
            nonlocal begun
            remove(*arguments, **options)
            if not begun:
                with suppress(FileError):
                    second.__enter__()
                    begun = True

        return removed

    with monkeypatch.context() as patch, directory.RunDirectory(tmp_path / "out", "first"):
        for name in ("unlink", "rmdir"):
            patch.setattr(os, name, then_begin(getattr(os, name)))
    assert begun
    with pytest.raises(FileError, match="in use by process"):
        directory.RunDirectory(tmp_path / "out", "third").__enter__()
    assert names(tmp_path / "out") == [".anabranch", ".anabranch/lock", ".anabranch/purpose"]
    second.__exit__()
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("is_held", [True, False])
def test_a_lock_is_never_on_a_file_that_another_process_removes(
    tmp_path: Path, is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was opened and before it is locked: its holder ends, or another process takes the new file for one that was left."""
    lock, path = fcntl.flock, tmp_path / "lock"
    if is_held:
        path.write_text("its holder ends at this moment\n")
    removed = []

    def remove_first(descriptor: int, operation: int) -> None:
        if not removed:
            path.unlink()
            removed.append(path)
        lock(descriptor, operation)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", remove_first)
        held = Lock(path).__enter__()
    with pytest.raises(FileError, match=f"in use by process {os.getpid()}"):
        Lock(path).__enter__()
    held.__exit__()
    assert names(tmp_path) == []


def test_a_lock_that_a_killed_process_has_left_is_replaced_and_not_written_to(tmp_path: Path) -> None:
    """It may be another name of somebody's file."""
    (tmp_path / "mine").write_text("mine")
    os.link(tmp_path / "mine", tmp_path / "lock")
    with Lock(tmp_path / "lock"):
        assert (tmp_path / "lock").read_text().startswith(f"{os.getpid()} on ")
    assert contents(tmp_path) == {"mine": b"mine"}


def test_a_second_run_without_a_directory_takes_the_next_one(tmp_path: Path) -> None:
    """The first one still runs; the second does not wait for it, and is not refused."""
    scenario, wanted, found = Scenario.from_toml(LINE), tmp_path / "line", []

    def make(spec: CompiledRun) -> FakeSimulation:
        found.append(default_directory(wanted, scenario, None))
        return FakeSimulation(spec)

    line(wanted, make)
    assert found == [tmp_path / "line-2"]
