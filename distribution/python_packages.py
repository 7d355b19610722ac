"""The Python packages that the project names, and the licences of the installed ones."""

import re
import tomllib
from dataclasses import dataclass
from importlib import metadata

from distribution.crates import ROOT

BASE = "base"
FAMILIES = {
    "BSD": r"\bBSD\b|BSD-\d",
    "MIT": r"\bMIT\b",
    "Apache-2.0": r"Apache",
    "PSF": r"\bPSF|Python Software Foundation",
}
"""The families of licences that the base installation may have, with the patterns that find them."""
BEYOND_BASE = {
    "ISC": r"\bISC\b",
    "0BSD": r"\b0BSD\b",
    "MPL-2.0": r"\bMPL-2\.0|Mozilla Public License 2\.0",
    "LGPL-2.1": r"\bLGPL-2\.1",
}
"""Further families, of packages that only extras or development need. A wheel contains nothing of them."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that the base installation or an extra names."""

    name: str
    used_by: tuple[str, ...]


def named() -> list[Package]:
    """The packages of pyproject.toml that users install, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {BASE: project["dependencies"], **project["optional-dependencies"]}
    uses: dict[str, list[str]] = {}
    for group, requirements in groups.items():
        for requirement in requirements:
            uses.setdefault(plain(requirement), []).append(group)
    return [Package(name, tuple(by)) for name, by in sorted(uses.items())]


def plain(requirement: str) -> str:
    """The name in a requirement such as ``numpy>=1.26``."""
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return found[0].lower().replace("_", "-")


def licence(name: str, families: dict[str, str] = FAMILIES) -> str:
    """The family of the installed package's licence: versions of a package word it in different ways.

    Raises:
        metadata.PackageNotFoundError: it is not installed.
        ValueError: its licence is of none of these families.
    """
    about = metadata.metadata(name)
    classifiers = [each for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    for text in (about.get("License-Expression"), *classifiers, (about.get("License") or "").partition("\n")[0]):
        for family, pattern in families.items():
            if text and re.search(pattern, text):
                return family
    raise ValueError(f"{name}: no known licence in its metadata; add its family to distribution/python_packages.py")


def closure(names: list[str]) -> list[str]:
    """These packages and all that they require, as far as they are installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        waiting += [plain(each) for each in requirements if "extra ==" not in each]
    return sorted(found)
