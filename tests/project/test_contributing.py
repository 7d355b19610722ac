"""The recipes of CONTRIBUTING.md work when followed to the letter, in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch import _core

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "target"  # where the dependencies are compiled already
BLOCK = re.compile(r"^```(?:rust|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSERTION = re.compile(r"in (\S+), after: (.*)")


def follow(recipes: str, repository: Path) -> None:
    """Write and insert every block where its first line says."""
    for block in BLOCK.findall(recipes):
        place, content = block.split("\n", 1)
        insertion = INSERTION.fullmatch(place)
        if insertion:
            path, line = repository / insertion[1], insertion[2]
            before, found, after = path.read_text().partition(line + "\n")
            assert found, f"{insertion[1]} has no line {line!r}"
            path.write_text(before + found + content + after)
        else:
            path = repository / place.lstrip("/# ")
            assert not path.exists()
            path.write_text(content)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which all recipes were followed."""
    copy = tmp_path_factory.mktemp("copy") / "anabranch"
    made_here = {"target", ".venv", ".git", "runs", ".build"}

    def ignored(directory: str, names: list[str]) -> set[str]:
        made = made_here if Path(directory) == ROOT else set[str]()
        return {name for name in names if name in made or name == "__pycache__" or name.endswith(".so")}

    shutil.copytree(ROOT, copy, ignore=ignored)
    follow((ROOT / "CONTRIBUTING.md").read_text(), copy)
    return copy


@pytest.mark.slow("compiles the core of a copy of the repository")
def test_an_algorithm_added_by_recipe_passes_the_properties_that_all_must_keep(repository: Path) -> None:
    tests = subprocess.run(
        # What is tested of every algorithm, and the recipe's own test.
        ["cargo", "test", "--profile", "dev", "--package", "anabranch-core", "--lib", "--",
         "tcp::congestion::tests", "tcp::detection::properties", "tcp::sender::tests::every_detector", "fast_paths", "square_root", "fixed_age"],
        # A quarter of the cases: this is without optimisation, and the algorithms of the repository have had all.
        cwd=repository, env=os.environ | {"CARGO_TARGET_DIR": str(TARGET), "PROPTEST_CASES": "64"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout + tests.stderr
    assert "square_root::tests::a_round_trip_at_16_segments_adds_a_quarter ... ok" in tests.stdout


SCENARIO = """
[[topology.links]]
source = "A"
target = "B"
capacity = "10Mbps"
delay = "5ms"
[topology.queue]
discipline = "early-random-drop"
threshold = 3
probability = "50 %"
[[impairments]]
link = ["A", "B"]
one_way = true
loss = { model = "bursts", every = 10, burst = 3 }
[[traffic]]
from = "A"
to = "B"
bulk = true
stack = "new"
[stacks]
new = { congestion = "square-root", detection = "fixed-age", option_bytes = true }
[routing]
new = { metric = "transmission" }
[run]
duration = "60s"
"""

PAGES = {
    "docs/guide/scenario.py": "| `option_bytes` | boolean | `false` | Whether SYNs and SACKs are longer by their options",
    "docs/guide/results.py": "| `loss_event_ratio` | Float64 |",
}
"""The scripts of pages that follow from declarations, and a line that each writes."""

CHECKS = """
import json
import sys
from anabranch.scenario import Scenario, ScenarioError
schema = json.dumps(Scenario.json_schema())
names = ("square-root", "fixed-age", "early-random-drop", "bursts", "two-choices", "option_bytes", "transmission")
assert all(name in schema for name in names)
text = sys.argv[1]
result = Scenario.from_toml(text).run(seed=1)
flow = result.flows.row(0, named=True)
assert flow["loss_event_ratio"] == flow["recoveries"] / flow["segments_sent"] > 0, flow
link = result.links.row(0, named=True)
without = Scenario.from_toml(text.replace(", option_bytes = true", "")).run(seed=1).links.row(0, named=True)
assert (link["packets"], link["bytes"] - without["bytes"]) == (without["packets"], 12), (link, without)  # a SYN's options
assert link["losses"] >= 3, link
assert abs(link["loss_ratio"] - 0.3) < 3 / link["packets"], link
fabric = {"generate": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 1}}
routing = {"metric": "hop-count", "select": "two-choices"}
traffic = {"from": "l1h1", "to": "l2h1", "bulk": True}
run = {"duration": "100ms", "warm_up": "0s"}
links = Scenario({"topology": fabric, "routing": {"drawn": routing}, "traffic": [traffic], "run": run}).run(seed=1).links
up = [link["packets"] for link in links.iter_rows(named=True) if link["src"] == "l1" and link["dst"] in ("s1", "s2")]
assert len(up) == 2 and min(up) > 0.4 * sum(up), up
for good, bad, problem in (("old = 3", "old = 0", "threshold"), ("every = 10", "every = 2", "burst 3 must not exceed every 2")):
    try:
        Scenario.from_toml(text.replace(good, bad))
    except ScenarioError as error:
        assert problem in str(error), error
    else:
        raise AssertionError(bad)
"""


@pytest.mark.slow("compiles the core of a copy of the repository for Python")
def test_what_recipes_add_to_the_core_is_in_the_schema_and_the_pages_and_runs_and_refuses_what_is_out_of_range(
    repository: Path,
) -> None:
    """The wire loses three of ten packets. Nothing in Python names the algorithms."""
    compiled = subprocess.run(
        ["cargo", "build", "--package", "anabranch-python"],
        cwd=repository, env=os.environ | {"CARGO_TARGET_DIR": str(TARGET), "PYO3_PYTHON": sys.executable},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert compiled.returncode == 0, compiled.stderr
    shutil.copy(TARGET / "debug" / "lib_core.so", repository / "python" / "anabranch" / "_core.abi3.so")
    environment = os.environ | {"PYTHONPATH": str(repository / "python")}
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, SCENARIO], env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for page, row in PAGES.items():
        subprocess.run([sys.executable, repository / page], env=environment, check=True)
        assert row in (repository / page).with_suffix(".md").read_text()
    routes = [sys.executable, "-m", "anabranch", "routes", "tcpbp10", "--metric", "transmission", "--from", "4"]
    told = subprocess.run([*routes, "--to", "6"], env=environment, capture_output=True, text=True, check=True)
    assert "2.4e-05" in told.stdout  # two links of 1 Gbit/s


def test_a_command_added_by_recipe_passes_its_test_and_is_on_the_first_page(repository: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(repository / "python")}
    tests = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/cli/test_bdp.py"]
    tested = subprocess.run(tests, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    said = subprocess.check_output([sys.executable, "-m", "anabranch", "--help"], env=environment, text=True)
    assert "bdp " in said


def test_a_format_added_by_recipe_reads_a_file_and_names_the_line_of_an_error(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "good.edges").write_text("# edges\na b 5\nb c 2.5\n")
    (tmp_path / "bad.edges").write_text("# edges\na b 5\nb c\n")
    code = """
import sys
from anabranch.network.topologies import TopologyError, load
links = load(sys.argv[1]).links
assert [(link.source, link.target, link.delay_s) for link in links[:2]] == [("a", "b", 0.005), ("b", "a", 0.005)], links
try:
    load(sys.argv[2])
except TopologyError as error:
    assert "bad.edges" in str(error) and "line 3" in str(error), error
else:
    raise AssertionError("a line without delay was taken")
"""
    environment = os.environ | {"PYTHONPATH": str(repository / "python")}
    core = repository / "python" / "anabranch" / Path(_core.__file__).name
    if not core.exists():  # no test has compiled it yet; a format needs nothing of what recipes add to it
        shutil.copy(_core.__file__, core)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "good.edges"), str(tmp_path / "bad.edges")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
