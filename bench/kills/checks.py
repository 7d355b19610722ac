"""Conditions that must hold after a kill."""

import json
import tomllib
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import polars as pl

from anabranch.results.files import MANIFEST, REPORT
from anabranch.results.stored import RESULT, WORKSPACE, StoredResult
from anabranch.runs.kept import KeptRuns

_UNFINISHED = ".partial"
_INTERNAL = (WORKSPACE, ".lock", "finished")


def results(place: Path) -> dict[str, str]:
    """The SHA-256 of each file of the results in a folder (or of the one file), by path; without locks, kept runs and unfinished work."""
    if place.is_file():
        return {"": _digest(place)}
    runs = [folder for folder in (place, *place.glob("*/runs/*")) if _has_result(folder)]
    found = {folder / name: path for folder in runs for name, path in StoredResult.load(folder).files().items()}
    others = {
        path: path
        for path in place.rglob("*")
        if path.is_file()
        and not _is_unfinished(path)
        and not {*_INTERNAL} & {*path.relative_to(place).parts}
        and not {*runs} & {*path.parents}
    }
    return {name.relative_to(place).as_posix(): _digest(path) for name, path in sorted((found | others).items())}


def _has_result(folder: Path) -> bool:
    return (folder / MANIFEST).exists() or (folder / RESULT / MANIFEST).exists()


def finished_runs(place: Path) -> set[str]:
    """The finished runs that are kept in a folder."""
    folders = [*place.glob("**/finished"), *place.glob("**/.anabranch/finished")] if place.is_dir() else []
    return {name for folder in folders for name in KeptRuns(folder).finished()}


def torn(place: Path) -> list[str]:
    """Files that have only a part of what was to be written."""
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return [f"{path}: {problem}" for path in files if not _is_unfinished(path) and (problem := _problem(path))]


def _is_unfinished(path: Path) -> bool:
    return any(part.endswith(_UNFINISHED) for part in path.parts)


def _problem(path: Path) -> str | None:
    try:
        if path.suffix == ".json":
            document = json.loads(path.read_text())
            if path.name == MANIFEST and WORKSPACE not in path.parts:  # there the files may be on their way
                missing = [name for name in document["files"] if name != REPORT and not (path.parent / name).is_file()]
                return f"lists {missing[0]}, which is missing" if missing else None
        elif path.suffix == ".toml":
            tomllib.loads(path.read_text())
        elif path.suffix == ".parquet":
            pl.read_parquet(path)
        elif path.suffix == ".svg":
            ElementTree.fromstring(path.read_text())
        elif path.suffix == ".html":
            HTMLParser().feed(path.read_text())
            if not path.read_text().rstrip().endswith("</html>"):
                return "does not end"
        elif path.suffix == ".md" and not path.read_text().endswith("\n"):
            return "does not end"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
