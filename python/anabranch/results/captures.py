"""The capture files of one run. The packets of each captured link are written to its file while the run goes on."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anabranch.foundation.output_files import unwritable

FOLDER = "captures"
"""The folder of captures in the folder of a run, and in a run directory."""
_LONGEST_NAME = 80
"""Bytes of a node's name that go into a file's name; file systems take 255 for all."""


class CaptureFiles:
    """Files ``<src>-<dst>.pcapng``, written piece by piece.

    Names are safe on any file system; the link's number is added where two would have one name.
    """

    def __init__(self, folder: Path, spec: Mapping[str, Any]) -> None:
        """Takes the folder of a run, and the compiled run, which names the links."""
        self._folder = folder / FOLDER
        self._ends = {
            link: tuple(str(spec["nodes"][spec["links"][link][end]]) for end in ("src", "dst"))
            for link in spec["captures"]
        }
        self._names: dict[int, str] = {}
        used: set[str] = set()
        for link, (source, target) in self._ends.items():
            name = f"{_plain(source)}-{_plain(target)}"
            if name.casefold() in used:
                name = f"{name}-{link}"
            used.add(name.casefold())
            self._names[link] = f"{name}.pcapng"
        self._written: set[int] = set()

    def append(self, link: int, piece: bytes) -> None:
        """Add a piece to the capture of a link; :class:`anabranch.foundation.output_files.FileError` if the file cannot be written."""
        path = self._folder / self._names[link]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(piece)
        except OSError as error:
            raise unwritable(path, error) from None
        self._written.add(link)

    def records(self) -> list[dict[str, Any]]:
        """A record for each capture file that exists, in the order of links: the link, its ends and the file's name."""
        records = []
        for link in sorted(self._written):
            source, target = self._ends[link]
            records.append({"link": link, "src": source, "dst": target, "file": self._names[link]})
        return records


def _plain(name: str) -> str:
    """A node's name as part of a file's name: letters, digits and dots, of any script, not too long."""
    return re.sub(r"[^\w.]+", "_", name).encode()[:_LONGEST_NAME].decode(errors="ignore")
