"""Flipped bits anywhere in the directory of a run or a sweep: no reader takes them for a value. FLIPS says how many copies (default 100 of each)."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.foundation import output_files
from anabranch.results.manifest import ManifestError
from anabranch.results.result import Result, ResultError
from anabranch.runs import execute, tables
from anabranch.scenario import Scenario
from anabranch.studies.sweep import SweepError, SweepResult
from anabranch.studies.sweep.store import Store
from tests.fake_simulation import FakeSimulation
from tests.scenarios import LINE
from tests.sweep_plans import sweep

FLIPS = int(os.environ.get("FLIPS", "100"))
SAMPLED = Scenario.from_toml(LINE.replace("[run]", '[run]\nsample = "100ms"\nseeds = 3'))
PLAIN = Scenario.from_toml(LINE.replace("[run]", "[run]\nseeds = 3"))
"""Its runs have no series, so all finished runs are in one file."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "run"
    SAMPLED.run(directory=folder)
    return folder


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With results of a former plan."""
    folder = tmp_path_factory.mktemp("damaged")
    sweep(folder, links=True, seeds=2).execute(folder / "swept", jobs=1)
    sweep(folder, links=True, seeds=1).execute(folder / "swept", jobs=1)
    return folder / "swept"


def of_run(directory: Path) -> list[Any]:
    result = Result.load(directory)
    return [result.manifest, result.flows, result.links, result.series_flows, result.series_links]


def of_sweep(directory: Path) -> list[Any]:
    result = SweepResult.load(directory)
    return [result.document, result.flows, result.links]


def flip(path: Path, draw: random.Random) -> bytes:
    """Flip one to three bits of a file; its former contents."""
    whole = path.read_bytes()
    changed = bytearray(whole)
    for place in draw.sample(range(8 * len(whole)), draw.randint(1, 3)):
        changed[place // 8] ^= 1 << place % 8
    path.write_bytes(changed)
    return whole


def same(found: list[Any], expected: list[Any]) -> bool:
    return all(
        one == other if isinstance(one, dict) else one.equals(other) for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize(("name", "read"), [("run", of_run), ("swept", of_sweep)])
def test_flipped_bits_are_never_read_as_values(
    name: str, read: Callable[[Path], list[Any]], request: pytest.FixtureRequest
) -> None:
    """The reader refuses the directory by the name of the file, or the flipped file is none that it reads."""
    directory: Path = request.getfixturevalue(name)
    expected, draw = read(directory), random.Random(1)
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    sizes = [path.stat().st_size for path in files]
    refused = 0
    for _ in range(FLIPS):
        (path,) = draw.choices(files, sizes if draw.random() < 0.5 else None)
        whole = flip(path, draw)
        said = ""
        try:
            assert same(read(directory), expected), path
        except (ManifestError, ResultError, SweepError) as error:
            said = str(error)
        assert str(path) in said or (not said and ".anabranch" in path.parts), path
        refused += bool(said)
        path.write_bytes(whole)
    assert refused > FLIPS / 2


def test_a_sweep_runs_the_runs_of_damaged_files_again(swept: Path, tmp_path: Path) -> None:
    """Also those of a former plan, which the plan takes up again. No file is damaged afterwards, and none is lost."""
    plan = sweep(tmp_path, links=True, seeds=2)
    expected = plan.execute(tmp_path / "whole", jobs=1)
    files = sorted(path.relative_to(swept) for path in swept.rglob("*.parquet"))
    assert {file.parts[0] for file in files} == {".anabranch", "flows", "links"}
    draw = random.Random(2)
    for file in files:
        out = tmp_path / "out"
        shutil.copytree(swept, out)
        flip(out / file, draw)
        with Store(out, plan) as store:
            assert store.damaged == [out / file]
        found = plan.execute(out, jobs=1)
        assert found.flows.equals(expected.flows), file
        assert found.links.equals(expected.links), file
        assert not list(out.glob(".anabranch/*"))
        shutil.rmtree(out)


@pytest.mark.parametrize("scenario", [SAMPLED, PLAIN])
def test_a_damaged_finished_run_is_run_again(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever file of it is damaged. Here all three runs were finished, and the command was stopped before it wrote the result."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    place = tmp_path / "out"
    expected = of_run(execute(scenario, directory=tmp_path / "whole", make=FakeSimulation).directory)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "write_manifest", stopped)
        with pytest.raises(KeyboardInterrupt):
            execute(scenario, directory=place, make=FakeSimulation)
    (run, *_) = sorted(place.glob(".anabranch/finished/*"))
    draw = random.Random(3)
    for file in sorted(path.relative_to(place) for path in (run, *run.rglob("*")) if path.is_file()):
        copy = tmp_path / "copy"
        shutil.copytree(place, copy)
        flip(copy / file, draw)
        result = execute(scenario, directory=copy, make=FakeSimulation)
        assert result.kept_runs == 2, file
        assert same(of_run(copy), expected), file
        shutil.rmtree(copy)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_other_readers_take_the_parts_of_a_sweep(swept: Path, library: str) -> None:
    """The checksum is where readers of Parquet do not look."""
    reader = pytest.importorskip(library)
    (part,) = (swept / "flows").iterdir()
    assert len(reader.read_parquet(part)) == SweepResult.load(swept).flows.height


def test_a_sealed_file_without_a_table_is_refused(swept: Path, tmp_path: Path) -> None:
    """Somebody else can make a right checksum."""
    shutil.copytree(swept, tmp_path / "swept")
    from anabranch.foundation.checksums import sealed_parquet

    (part,) = (tmp_path / "swept" / "flows").iterdir()
    data = output_files.parquet(SweepResult.load(swept).flows)
    for broken in (b"", b"PAR1", data[:-9] + b"\xff" + data[-8:], data[:100] + bytes(50) + data[150:]):
        part.write_bytes(sealed_parquet(broken))
        with pytest.raises(SweepError, match=r"cannot be read|is damaged"):
            of_sweep(tmp_path / "swept")
