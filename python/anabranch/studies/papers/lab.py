"""Runs studies: all experiments together, then the findings. Finished runs are reused."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import anabranch
from anabranch.foundation.extras import require
from anabranch.foundation.folders import Folder
from anabranch.foundation.locks import Lock
from anabranch.foundation.output_files import unwritable, write_json
from anabranch.foundation.progress import Computing
from anabranch.results.result import Result
from anabranch.runs import RunPlan, execute_all
from anabranch.runs.kept import KeptRuns, engine_build
from anabranch.studies.papers import findings as documents
from anabranch.studies.papers import published, readme, registry, statements
from anabranch.studies.papers.study import Findings, Lab

RUNS, FINISHED, KEPT, LOCK, SPENT = "runs", "finished", "kept", ".lock", "cpu.json"


def lab(name: str, directory: Path, *, quick: bool, seeds: int | None = None) -> Lab:
    """The lab of a paper; its results go to ``directory/name``."""
    folder = registry.folder(name)
    return Lab(name, quick, folder, directory / name, published.load(folder), seeds)


def run(
    place: Lab, *, jobs: int | None = None, command: Sequence[str] = (), show_progress: bool = True
) -> Findings | None:
    """Run a study and write its findings, figures and README; ``None`` if it was interrupted.

    Finished runs are kept: after an interruption, the same call continues. Only one process at a time may use the directory.

    Raises:
        FileError: the directory is in use, or cannot be written.
        MissingExtraError: packages of papers are not installed.
    """
    require(f"paper {place.name}", "figures", "te", "topologies")
    _make(place)
    with Lock(place.directory / LOCK):
        return _run(place, jobs, command, show_progress)


def _make(place: Lab) -> None:
    """Make the study's directory. What it has already may be another's: directories in it must not be links."""
    root = place.directory.parent
    try:
        root.mkdir(parents=True, exist_ok=True)
        own = Folder(root, place.directory.name)
        own.make()
        inside = [name for name in (RUNS, FINISHED, KEPT, readme.FIGURES) if own.exists(name)]
        inside += [f"{RUNS}/{name}" for name in (own.inside(RUNS).entries() if RUNS in inside else [])]
        for name in inside:
            with own.inside(name).opened():
                pass
    except OSError as error:
        raise unwritable(Path(error.filename or root), error) from None


def _run(place: Lab, jobs: int | None, command: Sequence[str], show_progress: bool) -> Findings | None:
    study = registry.study(place.name)
    with _timed(place.directory / SPENT):
        experiments = study.experiments(place)
    kept = KeptRuns(place.directory / FINISHED)
    plans = [RunPlan(experiment.scenario, place.directory / RUNS / experiment.name) for experiment in experiments]
    with _timed(place.directory / SPENT):
        results = execute_all(plans, jobs=jobs, command=command, show_progress=show_progress, kept=kept)
    if any(result.interrupted for result in results):
        return None
    by_name: Mapping[str, Result] = {
        experiment.name: result for experiment, result in zip(experiments, results, strict=True)
    }
    with _timed(place.directory / SPENT) as spent_s:
        found = study.findings(place, by_name)
    found = replace(found, cpu_s=spent_s())
    if place.quick:
        found = replace(found, claims=statements.load(place.folder).for_quick(found.claims))
    readme.write(place, found)
    documents.write(place, found)  # last: the page of all papers includes a paper once this file exists
    return found


@contextmanager
def _timed(path: Path) -> Iterator[Callable[[], float]]:
    """Add the CPU time of a part to that of all calls with this build, which use one another's runs; it gives the sum in seconds."""
    start_s, build = time.process_time(), engine_build()
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    try:
        yield lambda: float(known[build])
    finally:
        known = {build: known.get(build, 0.0) + time.process_time() - start_s}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, known)


def kept(directory: Path, name: str, inputs: Any, compute: Callable[[], Any]) -> Any:
    """The result of ``compute``, as JSON has it: a kept one, if inputs, build of the engine and code of the package are the same."""
    text = json.dumps([engine_build(), _code(), inputs], sort_keys=True, default=str)
    path = directory / KEPT / f"{name}-{sha256(text.encode()).hexdigest()[:16]}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with Computing(name):
            result = compute()
        write_json(path, {"inputs": inputs, "result": result})
    return json.loads(path.read_text(encoding="utf-8"))["result"]


def _code() -> str:
    """Hash of all modules of the package: a result may come from any of them, as from `anabranch.engineering.robust`."""
    package = Path(anabranch.__file__).parent
    return sha256(b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))).hexdigest()
