"""The packages hang together: no name hides a module."""

import ast
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import anabranch


def test_no_function_hides_the_module_of_its_name() -> None:
    """The value of ``package.name`` does not depend on the modules that were imported before."""
    names = [found.name for found in pkgutil.walk_packages(anabranch.__path__, "anabranch.")]
    for name in names:
        import_module(name)
    hidden = [
        name
        for name in names
        if not isinstance(getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]), ModuleType)
    ]
    assert hidden == []


NAMED_TWICE = {"Ack", "Problem"}
"""Classes of the public API, and tables of scenarios, whose schema has these names."""


def test_a_class_has_a_name_of_its_own() -> None:
    """Groups of options and studies of papers are not imported by others, and may repeat names."""
    package = Path(anabranch.__file__).parent
    apart = (package / "cli", package / "studies" / "papers")
    places: dict[str, list[str]] = {}
    for file in package.rglob("*.py"):
        if not any(file.is_relative_to(room) for room in apart):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(f"{file.relative_to(package)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in NAMED_TWICE} == {}
