"""The Rust crates whose code is in the compiled core, as Cargo resolves them."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_CORE = "anabranch-python"
_TARGET = "x86_64-unknown-linux-gnu"
_TEXTS = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


@dataclass(frozen=True, order=True, slots=True)
class Crate:
    """One crate of another author."""

    name: str
    version: str
    licence: str
    """The licence in SPDX's notation."""
    folder: Path

    @property
    def texts(self) -> list[Path]:
        """The files with its licences and notices."""
        return sorted(file for file in self.folder.iterdir() if file.name.upper().startswith(_TEXTS))


def linked() -> list[Crate]:
    """The crates that the compiler links into the core: no build scripts, no macros, none for tests.

    Raises:
        subprocess.CalledProcessError: Cargo.lock is out of date, or its crates cannot be fetched.
    """
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", _TARGET]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    packages = {package["id"]: package for package in document["packages"]}
    nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
    found: set[str] = set()
    waiting = [key for key, package in packages.items() if package["name"] == _CORE]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += [each["pkg"] for each in nodes[key]["deps"] if _is_linked(each, packages[each["pkg"]])]
    others = (packages[key] for key in found if packages[key]["source"] is not None)
    return sorted(
        Crate(each["name"], each["version"], each["license"].replace("/", " OR "), Path(each["manifest_path"]).parent)
        for each in others
    )


def _is_linked(dependency: dict[str, Any], package: dict[str, Any]) -> bool:
    normal = any(use["kind"] is None for use in dependency["dep_kinds"])
    return normal and not any("proc-macro" in target["kind"] for target in package["targets"])
