"""Any scenario file is a scenario or is refused with its problems; the engine takes the accepted ones."""

import json
import re
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch import _core
from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario, ScenarioError
from anabranch.scenario.groups import Names
from anabranch.scenario.pairs import pairs_of
from bench.fuzz import keys
from tests.scenarios import DESIGN, LINE

EXAMPLES = [path.read_text() for path in sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))]
TEXTS = [LINE, DESIGN, *EXAMPLES]
DOCUMENTS = [tomllib.loads(text) for text in TEXTS]

NUMBERS = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from([2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**64, 1e308, -1e308, 5e-324, 1e-300]),
)
UNITS = st.sampled_from(["", "s", "ms", "ps", "h", "bps", "Gbps", "TB", "B", "bytes", "packets", "bdp", "/s", "m/s"])
WORDS = st.sampled_from(
    ["all", "A", "B", "Seattle", "Denver", "newreno", "mprc", "bbr3", "fast-rto", "rack-tlp", "ospf", "hash",
     "weighted", "packet", "flow", "udp", "tcp", "pairs", "random-pairs", "red", "codel", "x.csv", "dumbbell",
     "fat-tree", "grid", "web-search", "demands", "incast", "permutation", "uniform", "pareto", "src,dst,start,size\nA,B,0,1\n",
     "source,target,rate\nA,B,1e6\n", "weights", "total", "table", "trace"]
)  # fmt: skip
QUANTITIES = st.builds(lambda number, unit: f"{number}{unit}", NUMBERS, UNITS)
LEAVES = st.one_of(st.booleans(), NUMBERS, QUANTITIES, WORDS, st.text(max_size=20))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["flows", "count", "pattern", "stop", "start", "stagger", "transport", "packet", "constant", "poisson", "short",
     "on-off", "ecn", "sack", "mss", "header", "initial_window", "receive_window", "min_rto", "seeds", "warm_up",
     "limit", "queue", "capacity", "delay", "override", "directed", "loss", "cost", "acks", "reconverge", "weights",
     "hash", "size", "trace", "matrix", "gravity", "scale", "every", "load", "jitter", "change", "outage", "table", "repeat",
     "interpolate", "events", "at"]
)  # fmt: skip

ONLY_THE_ENGINE_KNOWS = r"^routing '|more than 2\^32|at most 20 hours|holds no packet of"
"""Problems that take routes or arithmetic over all links to find; the refusal names the place."""


@st.composite
def mutated_documents(draw: st.DrawFn) -> dict[str, Any]:
    """An example with up to three keys deleted, replaced, added, doubled or made a list."""
    document: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(DOCUMENTS))))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        here: Any = document
        while True:
            key = draw(st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
            if not (isinstance(here[key], dict | list) and here[key]) or draw(st.integers(0, 4)) == 0:
                break
            here = here[key]
        change = draw(st.sampled_from(["delete", "replace", "number", "list", "add", "double"]))
        if change == "delete" and len(document) > 1:
            del here[key]
        elif change == "number":
            here[key] = draw(QUANTITIES)
        elif change == "list":
            here[key] = [here[key], draw(VALUES)]
        elif change == "add" and isinstance(here, dict):
            here[draw(KEYS)] = draw(VALUES)
        elif change == "double" and isinstance(here, list):
            here.append(here[key])
        else:
            here[key] = draw(VALUES)
    return document


def accepted(make: Any) -> Scenario | None:
    """The scenario, or ``None`` if it was refused as it should be."""
    try:
        return make()
    except ScenarioError as error:
        refusal = error
    assert refusal.problems
    assert str(refusal).strip()
    json.dumps(refusal.as_records(), default=str)
    return None


@pytest.mark.slow("runs those of 400 random documents that are scenarios")
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated_documents())
def test_a_changed_document_is_a_scenario_or_refused_and_the_engine_takes_what_is_accepted(
    document: dict[str, Any],
) -> None:
    scenario = accepted(lambda: Scenario(document))
    if scenario is None:
        return
    for case in scenario.cases[:2]:
        try:
            _core.Simulation(json.dumps(compile_run(case, scenario.seeds[0])))
        except ValueError as error:
            refusal = str(error)
        else:
            continue
        assert re.search(ONLY_THE_ENGINE_KNOWS, refusal), refusal


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changed_bytes_are_a_scenario_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(TEXTS)).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 12))
        content[start : start + length] = data.draw(st.binary(max_size=4) | st.sampled_from([b"\n", b"]", b"[[", b'"']))
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(bytes(content))
    accepted(lambda: Scenario.load(path))


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("bulk = true", "bulk = true\nflows = 4294967295", "traffic[0]"),
        ("bulk = true", 'bulk = true\npattern = "random-pairs"\ncount = 4294967295', "traffic[0]"),
        ("bulk = true", 'short = { arrivals = "1e15/s", sizes = "web-search" }', "traffic[0]"),
        ("bulk = true", 'size = "100 TB"', "traffic[0].size"),
        ("[run]", "[run]\nseeds = 4294967295", "run.seeds"),
        ("[run]", '[run]\nsample = "1ps"', "run"),
        ('"10Mbps"', '"2bps"', "topology.links[0].capacity"),
        ("[[traffic]]", 'queue = { discipline = "red", maximum = inf }\n[[traffic]]', "topology.queue.maximum"),
        (
            "[[traffic]]",
            'queue = { discipline = "codel", target = "1s", interval = "1ms" }\n[[traffic]]',
            "topology.queue",
        ),
    ],
)
def test_what_would_exhaust_the_machine_or_break_the_engine_is_refused(old: str, new: str, field: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(LINE.replace(old, new))
    assert [record["field"] for record in refusal.value.as_records()] == [field]


def test_random_pairs_are_drawn_from_all_pairs() -> None:
    entry = Scenario.from_toml(LINE).cases[0].variant.traffic[0]
    ends = {"from_": ["a", "b", "c", "b"], "to": ["c", "b", "d", "c"]}
    nodes = Names("abcd", [])
    everything = pairs_of(entry.model_copy(update=ends), nodes, draw="")
    drawn = pairs_of(entry.model_copy(update=ends | {"pattern": "random-pairs", "count": 500}), nodes, draw="x")
    digests = (sha256(f"random-pairs x {index}".encode()).digest() for index in range(500))
    assert drawn == [everything[int.from_bytes(digest[:16], "big") % len(everything)] for digest in digests]


@pytest.mark.parametrize("number", range(12))
def test_an_odd_value_at_any_key_is_taken_or_refused_with_a_place(number: int) -> None:
    """``python -m bench.fuzz --odd N`` tries more."""
    assert keys.problems(number) == []
