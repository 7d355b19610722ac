"""The record of a finished run gives back what was written, and a damaged one is none."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from anabranch.runs.record import decoded, encoded, places

COLUMNS = st.one_of(
    *(arrays.arrays(kind, st.integers(0, 40)) for kind in (np.uint32, np.uint64, np.int64, np.float64)),
    st.lists(st.text()),
    st.lists(st.lists(st.integers(0, 2**32 - 1))),
)
KEY = "0123456789abcdef" * 4
TABLES = st.dictionaries(st.text(), st.dictionaries(st.text(), COLUMNS))
FACTS = st.dictionaries(st.text(), st.one_of(st.text(), st.integers(0, 2**53), st.floats(allow_nan=False), st.none()))


@settings(max_examples=30)
@given(FACTS, TABLES)
def test_it_gives_back_facts_and_columns(facts: dict, tables: dict) -> None:
    head, body = encoded(KEY, facts, tables)
    assert places(head + body) == {KEY: (len(head), len(body))}
    found, columns = decoded(body)
    assert found == facts
    assert {table: list(own) for table, own in columns.items()} == {table: list(own) for table, own in tables.items()}
    for table, own in tables.items():
        for name, values in own.items():
            again = columns[table][name]
            if isinstance(values, list):
                assert again == values
            else:
                assert (again.dtype, again.tobytes()) == (values.dtype, values.tobytes())


def test_unknown_and_infinite_facts_stay() -> None:
    facts, _ = decoded(encoded(KEY, {"a": math.inf, "b": math.nan}, {})[1])
    assert facts["a"] == math.inf
    assert math.isnan(facts["b"])


def records(*keys: str) -> list[bytes]:
    """Records of runs, in which the first line of another one stands by chance."""
    return [
        b"".join(encoded(key, {"a": "run " + KEY + " 5 00000000\n"}, {"flows": {"x": np.arange(3.0)}})) for key in keys
    ]


def test_a_record_that_is_cut_off_costs_no_other() -> None:
    """A kill may leave any part of a record, and the next command adds others after it."""
    first, second, third = records("1" * 64, "2" * 64, "3" * 64)
    for end in range(len(second)):
        assert list(places(first + second[:end] + third)) == ["1" * 64, "3" * 64]
    assert list(places(first + second + third)) == ["1" * 64, "2" * 64, "3" * 64]


def test_a_damaged_byte_costs_one_record() -> None:
    whole = b"".join(records("1" * 64, "2" * 64, "3" * 64))
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 4
        assert len(places(bytes(data))) == 2


def test_the_last_record_of_a_run_counts() -> None:
    (first,), (again,) = records(KEY), records(KEY)
    ((begin, _),) = places(first + again).values()
    assert begin > len(first)


def test_what_something_else_has_written_is_refused() -> None:
    for body in (b"", b"{}\n", b"[]\n" + zlib.compress(b""), b'{"facts": {}, "tables": {"flows": {"x": {}}}}\n'):
        with pytest.raises((ValueError, KeyError, TypeError, AttributeError, zlib.error)):
            decoded(body)
