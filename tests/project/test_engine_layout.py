"""The folders of the packet engine and of the predict engine, and the files of drill, import one another in one direction.
Linux's rules lie in rooms of their own.
"""

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / "crates" / "core" / "src"
ENGINES = {"packet": "crate::packet", "predict/network": "crate::predict::network"}
FOLDERS = [
    (engine, path.name)
    for engine in ENGINES
    for path in sorted((CORE / engine).iterdir())
    if path.is_dir() and path.name not in ("properties", "tests")
]


def code(path: Path) -> str:
    """A file without comments and its tests."""
    text = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")[0]
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


def imports(engine: str, folder: str) -> set[str]:
    """The other folders of its engine that the code of a folder names."""
    text = "\n".join(code(path) for path in (CORE / engine / folder).rglob("*.rs"))
    others = {name for of, name in FOLDERS if of == engine} - {folder}
    return set(re.findall(rf"{ENGINES[engine]}::(\w+)::", text)) & others


def assert_no_cycle(graph: Mapping[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' imports '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize("engine", ENGINES)
def test_no_folder_is_imported_by_one_that_it_imports(engine: str) -> None:
    assert_no_cycle({folder: imports(engine, folder) for of, folder in FOLDERS if of == engine})


def test_no_file_of_drill_is_imported_by_one_that_it_imports() -> None:
    files = {path.stem: path for path in (CORE / "drill").glob("*.rs") if path.stem != "mod"}
    named = re.compile(r"super::(?:(\w+)|\{([^}]*)\})")
    graph = {
        name: set(re.findall(r"\w+", " ".join(" ".join(found) for found in named.findall(code(path)))))
        & (files.keys() - {name})
        for name, path in files.items()
    }
    assert {"connection", "compare", "shell"} <= graph["runner"], "the check sees no imports"
    assert_no_cycle(graph)


def test_code_of_tcp_names_linux_in_its_rooms() -> None:
    """A room is a module ``linux``; the five files that declare one may name it. Senders and receivers ask once, when they are built."""
    tests = {"tests", "testing", "properties", "script"}
    names, asks = set(), set()
    for path in (CORE / "tcp").rglob("*.rs"):
        file = path.relative_to(CORE / "tcp")
        text = re.sub("//.*", "", code(path)).lower()
        if not tests & set(file.with_suffix("").parts):
            names |= {str(file)} if "linux" in text and "linux" not in file.with_suffix("").parts else set()
            asks |= {str(file)} if "follows::linux" in text else set()
    assert names == {"congestion/mod.rs", "detection/rack_tlp.rs", "receiver.rs", "rtt.rs", "sender.rs"}
    assert asks == {"sender/linux.rs", "receiver/linux.rs"}


def test_the_check_sees_imports() -> None:
    assert {"engine", "link", "forwarding"} <= imports("packet", "epochs")
    assert {"flows", "laws"} <= imports("predict/network", "links")


@pytest.mark.parametrize(("engine", "folder"), FOLDERS)
def test_every_folder_says_what_it_contains_and_what_it_may_use(engine: str, folder: str) -> None:
    head = (CORE / engine / folder / "mod.rs").read_text(encoding="utf-8").partition("\n\n")[0]
    assert "May use" in head, f"{folder}/mod.rs does not say what the folder may use"
    assert len(head.splitlines()) <= 15
