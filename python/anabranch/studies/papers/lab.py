"""Runs studies: all experiments together, then the findings. Finished runs are reused."""

import json
from collections.abc import Callable, Mapping, Sequence
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

RUNS, FINISHED, KEPT, LOCK = "runs", "finished", "kept", ".lock"


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
    experiments = study.experiments(place)
    kept = KeptRuns(place.directory / FINISHED)
    plans = [RunPlan(experiment.scenario, place.directory / RUNS / experiment.name) for experiment in experiments]
    results = execute_all(plans, jobs=jobs, command=command, show_progress=show_progress, kept=kept)
    if any(result.interrupted for result in results):
        return None
    by_name: Mapping[str, Result] = {
        experiment.name: result for experiment, result in zip(experiments, results, strict=True)
    }
    found = study.findings(place, by_name)
    if place.quick:
        found = replace(found, claims=statements.load(place.folder).for_quick(found.claims))
    readme.write(place, found)
    documents.write(place, found)  # last: the page of all papers includes a paper once this file exists
    return found


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
