"""Which instructions count as the engine's own, and when they have grown."""

import tomllib
from pathlib import Path

import pytest

from bench.instructions import KEYS, RECORD, judged, own_instructions

PROFILE = """# callgrind format
version: 1
cmd:  /bin/engine run.json
positions: line
events: Ir
summary: 1178

ob=(2) /bin/engine
fl=(1) ???
fn=(7) advance
0 40
+1 30
cob=(3) /lib/libc.so.6
cfn=(9) memcpy
calls=5 0
0 1000
* 8

ob=(3)
fn=(9)
0 1000

ob=(2)
fn=(8) offer
-1 100
totals: 1178
"""


def test_the_costs_of_the_engine_itself_are_summed_and_those_of_what_it_calls_are_not() -> None:
    assert own_instructions(PROFILE, Path("/bin/engine")) == 40 + 30 + 8 + 100
    assert own_instructions(PROFILE, Path("/lib/libc.so.6")) == 1000


def test_the_mean_is_over_the_judged_cases_and_not_over_case_a() -> None:
    counts = dict.fromkeys(KEYS, 100.0)
    assert judged({**counts, "A": 900.0}) == pytest.approx(100.0)
    assert judged({**counts, "B": 200.0, "C": 50.0}) == pytest.approx(100.0)
    assert judged({**counts, "H": 3200.0}) == pytest.approx(200.0)


def test_every_record_has_its_counts_and_a_reason() -> None:
    records = tomllib.loads(RECORD.read_text(encoding="utf-8"))["record"]
    assert records
    for record in records:
        assert all(record[key] > 0 for key in KEYS)
        assert record["reason"]
        assert record["compiler"].startswith("rustc ")
