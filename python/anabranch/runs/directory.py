"""A run directory: who may write to it, where unfinished work stands, and how a new result takes the place of a former one.

While a command writes to a run directory, and after it was stopped or killed, the folder ``.anabranch`` holds the unfinished work: the
lock, the finished runs, and the new result. A result is completed there and then put in place. If a process is killed meanwhile, the
next command that writes to the directory finishes this, and readers find each file where it is (:mod:`anabranch.results.stored`). So at every
moment there is a whole former result or a whole new one.

Only files are removed or replaced that the former result's manifest lists.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from anabranch.foundation import checksums
from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.folders import Folder, parts_of
from anabranch.foundation.locks import Lock, is_held
from anabranch.foundation.output_files import FileError, unwritable, unwritable_below
from anabranch.results.files import MANIFEST
from anabranch.results.manifest import FORMAT
from anabranch.results.result import is_interrupted
from anabranch.results.stored import RESULT, WORKSPACE
from anabranch.runs.kept import KeptRuns

_LOCK, _FINISHED, _WRITTEN = "lock", "finished", "result.partial"
_REPLACED = "replaced.json"
"""The former manifest, until its files are removed."""
_PURPOSE = "purpose"
"""The purpose of the unfinished work."""
_LONGEST_PURPOSE = 1000
"""Bytes."""


class RunDirectory(AbstractContextManager["RunDirectory"]):
    """A run directory that is locked for this process."""

    def __init__(self, path: Path, purpose: str) -> None:
        """``purpose`` is the same for the same runs (:func:`unused`)."""
        self.path = path
        self._folder = Folder(path)
        self._workspace = self._folder.inside(WORKSPACE)
        self._purpose = purpose
        self._lock = Lock(self._workspace.path / _LOCK, of=path)
        self._is_complete = False
        self.kept = KeptRuns(self._workspace.path / _FINISHED, of=path)

    def __enter__(self) -> "RunDirectory":
        """Make and lock it, and finish what a killed process has left.

        Raises:
            FileError: the directory holds something else, is in use, or cannot be written.
        """
        self._is_new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            _require_own(self._folder)
            self._workspace.make()
            self._lock.__enter__()
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        try:
            _put_in_place(self._folder)
            self._sweep()
            self._workspace.write(_PURPOSE, self._purpose.encode())
        except OSError as error:
            self.__exit__()
            raise unwritable_below(self._folder, error) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def new_result(self) -> Path:
        """An empty folder for a result; its name is that of the run directory, which reports show."""
        folder = self._workspace.inside(f"{_WRITTEN}/{self._name}")
        try:
            folder.make()
        except OSError as error:
            raise unwritable_below(folder, error) from None
        return folder.path

    @property
    def _name(self) -> str:
        return self.path.resolve().name or "result"

    def takes(self, manifest: dict[str, Any]) -> bool:
        """Whether a result takes the former one's place: an interrupted one does not replace a complete one."""
        former = self.former()
        return former is None or is_interrupted(former) or not is_interrupted(manifest)

    def former(self) -> dict[str, Any] | None:
        """The manifest of the result that stands in the directory; ``None`` without one that can be read."""
        return _read(self._folder)

    def publish(self, manifest: dict[str, Any]) -> None:
        """Put the new result, which :meth:`new_result` has the folder of, in the place of the former one.

        Raises:
            FileError: there is a file in its way that is not the former result's.
        """
        try:
            self._workspace.inside(_WRITTEN).move(self._name, self._folder, RESULT)
            _put_in_place(self._folder, manifest["files"])
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        self._is_complete = not is_interrupted(manifest)

    def __exit__(self, *_: object) -> None:
        """Remove unneeded files and release the lock; finished runs stay if the result is not complete."""
        try:
            self._sweep()
            if not self._folder.exists(RESULT) and (self._is_complete or not self.kept.finished()):
                self.kept.clear()
                self._workspace.remove(_PURPOSE)
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        finally:
            self._lock.__exit__()  # not before all else is removed: another command may begin at once
        self._folder.remove_empty(WORKSPACE)  # unless it has unfinished work, or another command has begun
        if self._is_new:
            with suppress(OSError):  # it has a result
                self.path.rmdir()

    def _sweep(self) -> None:
        self._workspace.remove_tree(_WRITTEN)
        self.kept.sweep()


def purpose(*parts: Any) -> str:
    """A text that is the same for the same parts."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def unused(wanted: Path, purpose: str) -> Path:
    """The directory, or the first of ``NAME-2``, ``NAME-3``, ... that does not exist or has unfinished work for the same purpose."""
    number, directory = 1, wanted
    while (directory.exists() or directory.is_symlink()) and not _is_unfinished(directory, purpose):
        number += 1
        directory = wanted.with_name(f"{wanted.name}-{number}")
    return directory


def _is_unfinished(directory: Path, purpose: str) -> bool:
    workspace = Folder(directory).inside(WORKSPACE)
    try:
        return workspace.read(_PURPOSE, _LONGEST_PURPOSE) == purpose.encode() and not is_held(workspace, _LOCK)
    except OSError:
        return False


def _put_in_place(folder: Folder, new: Sequence[str] | None = None) -> None:
    """Replace the former result in steps: former manifest, former files, new files, new manifest. The next call continues after the last step.

    ``new`` are the files of the new result, by default those that its manifest lists.
    """
    workspace, result = folder.inside(WORKSPACE), folder.inside(RESULT)
    if result.exists(MANIFEST):
        files = [name for name in (new or _listed(result)) if result.exists(name)]
        if folder.exists(MANIFEST):
            _refuse_collisions(folder, files, _listed(folder))
            folder.move(MANIFEST, workspace, _REPLACED)
        if workspace.exists(_REPLACED):
            for name in _listed(workspace, _REPLACED):
                folder.remove(name)
                if parents := parts_of(name)[:-1]:
                    folder.remove_empty(parents[0])  # unless it has other files
            workspace.remove(_REPLACED)
        _refuse_collisions(folder, files, [])
        for name in files:
            if parents := parts_of(name)[:-1]:
                folder.inside(parents[0]).make()
            result.move(name, folder, name)
        result.move(MANIFEST, folder, MANIFEST)
    folder.remove_tree(RESULT)


def _refuse_collisions(folder: Folder, files: list[str], own: list[str]) -> None:
    for name in sorted({*files} - {*own}):
        if folder.exists(name):
            raise FileError(
                f"{folder.path / name}: is in the way of the result and not the run directory's; move it, then run the same command"
            )


def _require_own(folder: Folder) -> None:
    """Refuse a directory with anything in it but a run directory's."""
    entries = [name for name in folder.entries() if name != WORKSPACE]
    if not entries or folder.inside(RESULT).is_file(MANIFEST):
        return
    if MANIFEST not in entries:
        raise FileError(f"{folder.path}: is neither empty nor a run directory; give another one")
    _listed(folder)


def _listed(folder: Folder, manifest: str = MANIFEST) -> list[str]:
    """The files that a manifest lists, all of them inside the run directory and none of unfinished work."""
    document = _read(folder, manifest)
    names = None if document is None else document.get("files")
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_result(name) for name in names):
        raise FileError(
            f"{folder.path / manifest}: is not the manifest of a run that lists its files, so the directory is not replaced; give another one"
        )
    return names


def _is_result(name: str) -> bool:
    try:
        parts = parts_of(name)
    except OSError:
        return False
    return len(parts) <= 2 and parts[0] not in (WORKSPACE, MANIFEST)


def _read(folder: Folder, manifest: str = MANIFEST) -> dict[str, Any] | None:
    try:
        return checksums.read_json(folder, manifest, FORMAT)
    except (OSError, DamagedError):
        return None
