"""The result of a run directory as a reader finds it: nothing is written, and no lock is taken.

A command that was killed while it put a new result in place leaves some of its files in :data:`RESULT` and the others in their place. The new
result counts from the moment in which its manifest is in that folder, and a reader takes each file from where it is.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from anabranch.foundation import checksums
from anabranch.foundation.folders import Folder
from anabranch.results import manifest
from anabranch.results.files import MANIFEST, REPORT, SERIES
from anabranch.results.manifest import ManifestError

WORKSPACE = ".anabranch"
"""The folder of unfinished work in a run directory."""
RESULT = f"{WORKSPACE}/result"
"""The folder of a new result that takes the place of the former one."""
_ATTEMPTS = 3
"""Looks for the manifest, which another process may move meanwhile."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class StoredResult:
    """A result: its manifest, and the paths of its files. A table is one that the manifest has a checksum of."""

    directory: Path
    manifest: Mapping[str, Any]

    @classmethod
    def load(cls, directory: Path) -> "StoredResult":
        """Read the manifest, and compare the tables with its checksums.

        Raises:
            ManifestError: it is no run directory, or a file of it is damaged or cannot be read.
        """
        found = cls(directory, _manifest(directory))
        for name, expected in found.manifest["checksums"].items():
            found._verify(name, expected)
        return found

    def table(self, name: str) -> Path | None:
        """The file of a table such as ``flows``; ``None`` if the result has none.

        Raises:
            ManifestError: the manifest lists it, and it cannot be read.
        """
        file = f"{name}.parquet"
        return self.path(file) if file in self.manifest["checksums"] else None

    def series(self, kind: str) -> list[Path]:
        """The files of a time series, in the order of their runs and parts.

        Raises:
            ManifestError: one of them cannot be read.
        """
        prefix = f"{SERIES}/{kind}-"
        names = [name for name in self.manifest["checksums"] if name.startswith(prefix)]
        return [self.path(name) for name in sorted(names, key=lambda name: [*map(int, re.findall(r"\d+", name))])]

    def files(self) -> dict[str, Path]:
        """The paths of all files by name; the report may be missing.

        Raises:
            ManifestError: one of the others cannot be read.
        """
        found = {name: self.path(name) for name in (*self.manifest["files"], MANIFEST) if name != REPORT}
        with suppress(ManifestError):
            found[REPORT] = self.path(REPORT)
        return found

    def path(self, name: str) -> Path:
        """Where a file is.

        Raises:
            ManifestError: it cannot be read.
        """
        return self._found(name, Folder.file)

    def _verify(self, name: str, expected: int) -> None:
        if self._found(name, checksums.of_file) != expected:
            raise ManifestError(
                f"{self.path(name)}: is damaged, its checksum differs from the manifest's; run the scenario again"
            )

    def _found(self, name: str, use: Callable[[Folder, str], _T]) -> _T:
        """What a function gives for a file, which another process may put in its place at this moment."""
        own = Folder(self.directory)
        try:
            try:
                return use(own.inside(RESULT), name)
            except FileNotFoundError:
                return use(own, name)
        except OSError as error:
            raise manifest.unreadable(self.directory / name, error) from None


def _manifest(directory: Path) -> dict[str, Any]:
    own = Folder(directory)
    missing = None
    for _ in range(_ATTEMPTS):
        for folder in (own.inside(RESULT), own):
            try:
                return manifest.read(folder)
            except FileNotFoundError as error:
                missing = error
    assert missing is not None
    raise manifest.unreadable(own.path / MANIFEST, missing)
