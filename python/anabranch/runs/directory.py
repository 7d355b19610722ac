"""A run directory: who may write to it, where unfinished work stands, and how a new result takes the place of a former one.

While a command writes to a run directory, and after it was stopped or killed, the folder ``.anabranch`` holds the unfinished work: the
lock, the finished runs, and the new result. A result is completed there and then put in place. If a process is killed meanwhile, the
next one that uses the directory finishes this (:func:`settle`). So at every moment there is a whole former result or a whole new one.

Only files are removed or replaced that the former result's manifest lists.
"""

import json
import shutil
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from anabranch.locks import Lock, is_held
from anabranch.output_files import FileError, unwritable
from anabranch.results import MANIFEST, is_interrupted
from anabranch.runs.kept import KeptRuns
from anabranch.runs.manifest import FORMAT

WORKSPACE = ".anabranch"
"""The folder of unfinished work."""
_LOCK, _FINISHED, _WRITTEN, _RESULT = "lock", "finished", "result.partial", "result"
_REPLACED = "replaced.json"
"""The former manifest, until its files are removed."""
_PURPOSE = "purpose"
"""The purpose of the unfinished work."""


class RunDirectory(AbstractContextManager["RunDirectory"]):
    """A run directory that is locked for this process."""

    def __init__(self, path: Path, purpose: str) -> None:
        """``purpose`` is the same for the same runs (:func:`unused`)."""
        self.path = path
        self._workspace = path / WORKSPACE
        self._purpose = purpose
        self._lock = Lock(self._workspace / _LOCK, of=path)
        self._is_complete = False
        self.kept = KeptRuns(self._workspace / _FINISHED)

    def __enter__(self) -> "RunDirectory":
        """Make and lock it, and finish what a killed process has left.

        Raises:
            FileError: the directory holds something else, is in use, or cannot be written.
        """
        self._is_new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            _require_own(self.path)
            self._workspace.mkdir(exist_ok=True)
            self._lock.__enter__()
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            _put_in_place(self.path)
            self._sweep()
            _write_purpose(self._workspace / _PURPOSE, self._purpose)
        except BaseException:
            self.__exit__()
            raise
        return self

    def new_result(self) -> Path:
        """An empty folder for a result; its name is that of the run directory, which reports show."""
        folder = self._workspace / _WRITTEN / (self.path.resolve().name or "result")
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise unwritable(folder, error) from None
        return folder

    def takes(self, manifest: dict[str, Any]) -> bool:
        """Whether a result takes the former one's place: an interrupted one does not replace a complete one."""
        former = _read(self.path / MANIFEST)
        return former is None or is_interrupted(former) or not is_interrupted(manifest)

    def publish(self, folder: Path, manifest: dict[str, Any]) -> None:
        """Put the new result in the place of the former one.

        Raises:
            FileError: there is a file in its way that is not the former result's.
        """
        try:
            folder.rename(self._workspace / _RESULT)
            _put_in_place(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._is_complete = not is_interrupted(manifest)

    def __exit__(self, *_: object) -> None:
        """Remove unneeded files and release the lock; finished runs stay if the result is not complete."""
        try:
            self._sweep()
            in_place = not (self._workspace / _RESULT).exists()
            if in_place and (self._is_complete or not self.kept.count()):
                self.kept.clear()
                (self._workspace / _PURPOSE).unlink(missing_ok=True)
        finally:
            self._lock.__exit__()  # not before all else is removed: another command may begin at once
        with suppress(OSError):  # it has unfinished work, or another command has begun
            self._workspace.rmdir()
        if self._is_new:
            with suppress(OSError):  # it has a result
                self.path.rmdir()

    def _sweep(self) -> None:
        shutil.rmtree(self._workspace / _WRITTEN, ignore_errors=True)
        self.kept.sweep()


def purpose(*parts: Any) -> str:
    """A text that is the same for the same parts."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def unused(wanted: Path, purpose: str) -> Path:
    """The directory, or the first of ``NAME-2``, ``NAME-3``, ... that does not exist or has unfinished work for the same purpose."""
    number, directory = 1, wanted
    while directory.exists() and not _is_unfinished(directory / WORKSPACE, purpose):
        number += 1
        directory = wanted.with_name(f"{wanted.name}-{number}")
    return directory


def settle(path: Path) -> None:
    """Put a result in place whose process was killed while it did so.

    Raises:
        FileError: the directory cannot be written.
    """
    workspace = path / WORKSPACE
    if not (workspace / _RESULT).is_dir():
        return
    with Lock(workspace / _LOCK, wait=True):
        try:
            _put_in_place(path)
        except OSError as error:
            raise unwritable(path, error) from None


def _write_purpose(path: Path, purpose: str) -> None:
    try:
        path.write_text(purpose, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from None


def _is_unfinished(workspace: Path, purpose: str) -> bool:
    try:
        return (workspace / _PURPOSE).read_text(encoding="utf-8") == purpose and not is_held(workspace / _LOCK)
    except (OSError, UnicodeDecodeError):
        return False


def _put_in_place(path: Path) -> None:
    """Replace the former result in steps: former manifest, former files, new files, new manifest. The next call continues after the last step."""
    result, replaced = path / WORKSPACE / _RESULT, path / WORKSPACE / _REPLACED
    if not result.is_dir():
        return
    if (result / MANIFEST).exists():
        if (path / MANIFEST).exists():
            _refuse_collisions(path, result, set(_listed(path / MANIFEST)))
            (path / MANIFEST).replace(replaced)
        if replaced.exists():
            for name in _listed(replaced):
                (path / name).unlink(missing_ok=True)
                with suppress(OSError):  # it has other files
                    (path / name).parent.rmdir()
            replaced.unlink()
        _refuse_collisions(path, result, set())
        for file in _new_files(result):
            (path / file).parent.mkdir(exist_ok=True)
            (result / file).replace(path / file)
        (result / MANIFEST).replace(path / MANIFEST)
    shutil.rmtree(result)


def _new_files(result: Path) -> list[Path]:
    files = sorted(file.relative_to(result) for file in result.rglob("*") if file.is_file())
    return [file for file in files if file != Path(MANIFEST)]


def _refuse_collisions(path: Path, result: Path, own: set[str]) -> None:
    for file in _new_files(result):
        if (path / file).exists() and file.as_posix() not in own:
            raise FileError(
                f"{path / file}: is in the way of the result and not the run directory's; move it, then run the same command"
            )


def _require_own(path: Path) -> None:
    """Refuse a directory with anything in it but a run directory's."""
    entries = [entry.name for entry in path.iterdir() if entry.name != WORKSPACE]
    if not entries or (path / WORKSPACE / _RESULT / MANIFEST).is_file():
        return
    if MANIFEST not in entries:
        raise FileError(f"{path}: is neither empty nor a run directory; give another one")
    _listed(path / MANIFEST)


def _listed(manifest: Path) -> list[str]:
    """The files that a manifest lists, all of them inside its directory."""
    document = _read(manifest)
    names = document.get("files") if document is not None and document.get("format") == FORMAT else None
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_inside(name) for name in names):
        raise FileError(
            f"{manifest}: is not the manifest of a run that lists its files, so the directory is not replaced; give another one"
        )
    return names


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return 0 < len(path.parts) <= 2 and not path.is_absolute() and ".." not in path.parts


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
