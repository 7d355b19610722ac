"""The record of a finished run gives back what was written, or says that it is damaged."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from anabranch.foundation.checksums import DamagedError
from anabranch.runs.record import decoded, encoded

COLUMNS = st.one_of(
    *(arrays.arrays(kind, st.integers(0, 40)) for kind in (np.uint32, np.uint64, np.int64, np.float64)),
    st.lists(st.text()),
    st.lists(st.lists(st.integers(0, 2**32 - 1))),
)
TABLES = st.dictionaries(st.text(), st.dictionaries(st.text(), COLUMNS))
FACTS = st.dictionaries(st.text(), st.one_of(st.text(), st.integers(0, 2**53), st.floats(allow_nan=False), st.none()))


@settings(max_examples=30)
@given(FACTS, TABLES)
def test_it_gives_back_facts_and_columns(facts: dict, tables: dict) -> None:
    found, columns = decoded(encoded(facts, tables))
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
    facts, _ = decoded(encoded({"a": math.inf, "b": math.nan}, {}))
    assert facts["a"] == math.inf
    assert math.isnan(facts["b"])


def test_a_part_of_it_is_damaged() -> None:
    whole = encoded({"a": 1}, {"flows": {"x": np.arange(3.0)}})
    for end in range(len(whole)):
        with pytest.raises(DamagedError):
            decoded(whole[:end])


def test_a_right_checksum_around_something_else_is_refused() -> None:
    for body in (b"", b"{}\n", b"[]\n" + zlib.compress(b""), b'{"facts": {}, "tables": {"flows": {"x": {}}}}\n'):
        with pytest.raises((ValueError, KeyError, TypeError, zlib.error)):
            decoded(b"%08x\n%s" % (zlib.crc32(body), body))
