"""An odd value at one key of the schema for each number: the scenario is taken, or refused with the place of a key."""

import random
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from anabranch.engines.refusal import refusals
from anabranch.foundation.toml_text import Path, format_path
from anabranch.scenario import Scenario, ScenarioError, Variant, walk
from bench.fuzz.originals import EVERYTHING

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**63, 2**64, 10**400, 1.5, 1e308, float("nan"), float("inf"), float("-inf"), "", "x", "a" * 5000, "\0",
    "10ms", "-1ms", "1e400s", "nan ms", "10Mbps", "1e30bps", "100%", "1e500%", "hosts", "all", "n1", "*", "n*", "1 bdp", "1e300 bdp",
    "0 packets", "1 B", "1e40 MB", [], [[]], [1], [None], ["n1"], ["n1", "n2"], ["n1", "n2", "n3"], [{}], [[1, 2]], [[0, 0], [1, 1]], {},
    {"x": 1}, {"": 1}, {"name": None}, {"name": ["newreno", "cubic"]}, {"python": "x.py:A"}, {"program": 3},
    {"program": "anabranch_reno", "threshold": 1}, {"kind": "x"}, {"from": "x"}, {"disjoint": 2, "most": 3},
    {"model": "list", "packets": []}, {"discipline": "red"}, {"sizes": [[1, 1]]}, {"load": 2}, {"arrivals": "1e30/s"},
    {"n1": {"n2": "1bps"}}, {"n1": 1}, "/dev/null", "/", "x.csv", "src,dst,start,size\nn1,n2,0,1", "line",
)  # fmt: skip
PYTHONS = ("argument", "NoneType", "object has", "Invalid value", "Traceback", "pydantic")
"""Words of Python's own messages, which name no key."""


def odd(number: int) -> tuple[Path, dict[str, Any]]:
    """The key that has an odd value, and the scenario."""
    draw = random.Random(f"odd {number}")
    document: dict[str, Any] = tomllib.loads(EVERYTHING)
    table = draw.choice(list(_tables(document)))
    key = draw.choice(_keys(table))
    here: Any = document
    for part in table:
        here = here[part]
    here[key] = deepcopy(draw.choice(ODD))
    return (*table, key), document


def problems(number: int) -> list[str]:
    """The mistakes in the answer to the odd value of this number."""
    path, document = odd(number)
    try:
        scenario = Scenario(document)
        found = scenario.warnings.problems + refusals(scenario).problems
    except ScenarioError as error:
        found = error.problems
    place = format_path(path)
    return [
        f"{place}: {problem.describe()[:200]}"
        for problem in found
        if not problem.path or len(problem.describe()) > 700 or any(word in problem.message for word in PYTHONS)
    ]


def _tables(document: Any, here: Path = ()) -> Iterator[Path]:
    """The tables of a document for which the schema has keys."""
    if isinstance(document, dict):
        if _keys(here):
            yield here
        for key, value in document.items():
            yield from _tables(value, (*here, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from _tables(value, (*here, index))


def _keys(table: Path) -> list[str]:
    return sorted(walk.keys_of(Variant, table))
