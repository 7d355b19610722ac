"""Locks the Python packages that `make` installs: their versions and hashes, in requirements/. ``python -m distribution.lock``."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from distribution.crates import ROOT

FOLDER = ROOT / "requirements"
BASIS = "dev"
BUILD = "build"
GROUPS = (BASIS, BUILD, "wheel", "bench", "tools")
"""The dependency groups of pyproject.toml that have a file."""
_APART = "tools"  # has an environment of its own; all others are added to that of BASIS
_PYTHON = r">=(3\.\d+)"


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def named(group: str) -> list[str]:
    """The requirements that pyproject.toml names for a group; for ``dev`` also those of the package, for ``build`` those of its build."""
    document = project()
    always = {BASIS: document["project"]["dependencies"], BUILD: document["build-system"]["requires"]}
    return sorted({*always.get(group, []), *_of_group(document, group)})


def _of_group(document: dict[str, Any], group: str) -> Iterator[str]:
    for entry in document["dependency-groups"][group]:
        if not isinstance(entry, str):
            yield from _of_group(document, entry["include-group"])
        elif extras := re.fullmatch(rf"{document['project']['name']}\[(.*)\]", entry):
            for extra in extras[1].split(","):
                yield from document["project"]["optional-dependencies"][extra.strip()]
        else:
            yield entry


def file(group: str, folder: Path = FOLDER) -> Path:
    """The file of a group."""
    return folder / f"{group}.txt"


def locked(group: str) -> dict[str, list[Requirement]]:
    """The requirements that the file of a group has for each name: several where versions differ between Pythons or systems."""
    found: dict[str, list[Requirement]] = {}
    for line in re.findall(r"^[^\s#].*?(?= \\$)", file(group).read_text(encoding="utf-8"), re.MULTILINE):
        requirement = Requirement(line)
        found.setdefault(requirement.name, []).append(requirement)
    return found


def main(folder: Path = FOLDER) -> int:
    """Write the newest versions that fit one another, for every Python and system; the exit status is that of uv."""
    python = re.match(_PYTHON, project()["project"]["requires-python"])
    assert python
    options = ["--universal", "--python-version", python[1], "--generate-hashes", "--upgrade", "--quiet", "--no-config"]
    style = ["--annotation-style", "line", "--custom-compile-command", "make lock"]
    for group in GROUPS:
        constraints = [] if group in (BASIS, _APART) else ["--constraints", str(file(BASIS, folder))]
        command = [
            "uv",
            "pip",
            "compile",
            "-",
            *options,
            *style,
            *constraints,
            "--output-file",
            str(file(group, folder)),
        ]
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, input="\n".join(named(group)), text=True, check=False,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            return done.returncode
        print(file(group, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
