"""The capture files of one run: where the packets of each captured link go while the run goes on."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = "captures"
"""The folder of captures in a run directory."""
_LONGEST_NAME = 80
"""Bytes of a node's name that go into a file's name; file systems take 255 for all."""


class CaptureFiles:
    """Files ``<run>-<src>-<dst>.pcapng``, written piece by piece.

    Names are safe on any file system; the link's number is added where two would have one name.
    """

    def __init__(self, directory: Path, run: int, spec: Mapping[str, Any]) -> None:
        """Of a run directory, the number of the run in it, and the compiled run, which names the links."""
        self._folder = directory / FOLDER
        self._ends = {
            link: tuple(str(spec["nodes"][spec["links"][link][end]]) for end in ("src", "dst"))
            for link in spec["captures"]
        }
        self._names: dict[int, str] = {}
        used: set[str] = set()
        for link, (source, target) in self._ends.items():
            name = f"{run}-{_plain(source)}-{_plain(target)}"
            if name.casefold() in used:
                name = f"{name}-{link}"
            used.add(name.casefold())
            self._names[link] = f"{name}.pcapng"
        self._written: set[int] = set()

    def append(self, link: int, piece: bytes) -> None:
        """Add a piece to the capture of a link; :class:`OSError` if the file cannot be written."""
        self._folder.mkdir(exist_ok=True)
        with (self._folder / self._names[link]).open("ab") as file:
            file.write(piece)
        self._written.add(link)

    def records(self) -> list[dict[str, Any]]:
        """What the manifest says of the files that there are, in the order of links."""
        records = []
        for link in sorted(self._written):
            source, target = self._ends[link]
            records.append({"link": link, "src": source, "dst": target, "file": f"{FOLDER}/{self._names[link]}"})
        return records


def _plain(name: str) -> str:
    """A node's name as part of a file's name: letters, digits and dots, of any script, not too long."""
    return re.sub(r"[^\w.]+", "_", name).encode()[:_LONGEST_NAME].decode(errors="ignore")
