"""The rooms of the Python package: each imports only rooms below it, and says what it is for and what it may use."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch

PACKAGE = Path(anabranch.__file__).parent
ROOMS = (
    *("foundation", "programs", "network", "engineering", "scenario", "results", "compile", "engines", "runs"),
    *("pages", "studies", "cli"),
)
"""From the lowest to the highest."""
FACE = {
    "Result": "results",
    "Scenario": "scenario",
    "route_warnings": "compile",
    "run": "runs",
    "version": None,
    "_core": None,
}
"""Names that rooms may import from the package itself, and the room of each."""
EXCEPTIONS = {
    ("scenario/__init__.py", "runs"),  # Scenario.run(): the data start their own engine, an alias of anabranch.run
    ("scenario/__init__.py", "compile"),  # Scenario.warnings: some need compiled routes
    ("results/result.py", "pages"),  # Result.plot() and its like: results show themselves in notebooks
}
"""Imports that point up, each inside a function; at most three."""


def imports(path: Path) -> Iterator[str]:
    """The rooms that a file imports, late imports included. Imports for types only are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "anabranch":
            yield from filter(None, (FACE.get(alias.name, alias.name) for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            parts = (node.module or "").split(".")
            if parts[0] == "anabranch" and parts[1] != "_core":
                yield parts[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "anabranch" and len(parts) > 1 and parts[1] != "_core":
                    yield parts[1]


def test_the_rooms_are_all_there_is() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(ROOMS)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_imports_point_down() -> None:
    assert len(EXCEPTIONS) <= 3
    up = set()
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
        if len(place.parts) > 1:
            mine = ROOMS.index(place.parts[0])
            up |= {(place.as_posix(), room) for room in imports(path) if ROOMS.index(room) > mine}
    assert up == EXCEPTIONS


def test_the_check_sees_imports_at_the_top_and_in_functions(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "from anabranch import Scenario, _core\n"
        "import anabranch.runs.plan\n"
        "if TYPE_CHECKING:\n    from anabranch.cli import app\n"
        "def late():\n    from anabranch.pages.report import write\n"
    )
    assert list(imports(path)) == ["scenario", "runs", "pages"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_it_is_for_and_what_it_may_use(room: str) -> None:
    said = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert "May use" in said, f"{room}/__init__.py does not say what the room may use"
    assert len(said.partition("\n\n")[0].split()) <= 30


def test_modules_of_the_api_have_short_names_and_are_the_same_modules() -> None:
    from anabranch.control import Control
    from anabranch.topologies.model import Topology

    assert anabranch.topologies.model.Topology is Topology
    assert anabranch.Control is Control is anabranch.control.Control
    for name in set(anabranch.__all__) - {"version"}:
        assert getattr(anabranch, name) is not None


FOLDERS = {"anabranch": set(), "bench": {"anabranch"}, "testbed": {"anabranch"}, "validation": {"anabranch", "bench"}}
"""The folders of Python that run from a checkout, and which of the others each imports."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_beside_the_package_import_one_way(folder: str) -> None:
    """The package imports none of them, and the benchmarks do not import the validation, which uses their peers."""
    root = Path(__file__).parents[1]
    for path in (PACKAGE if folder == "anabranch" else root / folder).rglob("*.py"):
        named = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                named.add((node.module or "").split(".")[0])
            elif isinstance(node, ast.Import):
                named |= {alias.name.split(".")[0] for alias in node.names}
        assert named & FOLDERS.keys() <= {folder, *FOLDERS[folder]}, path
