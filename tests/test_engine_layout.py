"""The folders of the packet engine import one another in one direction."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKET = Path(__file__).resolve().parents[1] / "crates" / "core" / "src" / "packet"
FOLDERS = sorted(path.name for path in PACKET.iterdir() if path.is_dir() and path.name != "properties")
IMPORT = re.compile(r"crate::packet::(\w+)::")


def imports(folder: str) -> set[str]:
    """The other folders that the code of a folder names, its tests and comments aside."""
    code = [
        line
        for path in (PACKET / folder).rglob("*.rs")
        for line in path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")[0].splitlines()
        if not line.lstrip().startswith("//")
    ]
    return {name for line in code for name in IMPORT.findall(line)} & set(FOLDERS) - {folder}


def test_no_folder_is_imported_by_one_that_it_imports() -> None:
    try:
        TopologicalSorter({folder: imports(folder) for folder in FOLDERS}).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' imports '.join(reversed(error.args[1]))}")


def test_the_check_sees_imports() -> None:
    assert {"engine", "link", "forwarding"} <= imports("epochs")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_says_what_it_contains_and_what_it_may_use(folder: str) -> None:
    head = (PACKET / folder / "mod.rs").read_text(encoding="utf-8").partition("\n\n")[0]
    assert "May use" in head, f"{folder}/mod.rs does not say what the folder may use"
    assert len(head.splitlines()) <= 15
