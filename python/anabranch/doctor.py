"""What works on this machine, and how to get the rest."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

LIBRARIES = (
    "altair", "cyclopts", "defusedxml", "networkx", "numpy", "polars", "pydantic", "rich", "tomlkit", "topohub",
    "vl-convert-python",
)  # fmt: skip
PROGRAMS = {
    "tshark": ("reads the packet captures in the terminal", "apt install tshark"),
    "ns": ("ns-2, for make validate and make bench", "apt install ns2"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that works or does not; ``needed`` if nothing goes without it."""

    name: str
    works: bool
    needed: bool
    detail: str

    def describe(self) -> str:
        """One line."""
        mark = "ok     " if self.works else "MISSING" if self.needed else "absent "
        return f"{mark}  {self.name}: {self.detail}"

    def as_record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def examine() -> list[Finding]:
    """Look at everything."""
    return list(_findings())


def _findings() -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding("Python", sys.version_info >= (3, 11), True, f"{python} (3.11 or newer is needed)")
    yield _core()
    for library in LIBRARIES:
        try:
            yield Finding(library, True, True, metadata.version(library))
        except metadata.PackageNotFoundError:
            yield Finding(library, False, True, f"pip install {library}")
    yield Finding("cores", True, False, f"{os.cpu_count() or 1}; as many runs go at once")
    for program, (purpose, remedy) in PROGRAMS.items():
        found = shutil.which(program)
        yield Finding(program, found is not None, False, f"{purpose}{'' if found else f'; {remedy}'}")


def _core() -> Finding:
    try:
        from anabranch import _core as core
        from anabranch.scenario.stacks import REGISTRIES
    except ImportError as error:
        return Finding("packet engine", False, True, f"the Rust core does not load ({error}); run make in the source tree")
    if not hasattr(core, "Simulation"):
        return Finding("packet engine", False, True, "the Rust core is of an older version; run make in the source tree")
    names = {kind: ", ".join(entry["name"] for entry in entries) for kind, entries in REGISTRIES.items()}
    return Finding("packet engine", True, True, "; ".join(f"{kind}: {known}" for kind, known in names.items()))
