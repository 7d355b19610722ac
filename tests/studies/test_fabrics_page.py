"""The page "Spraying, then and now": it has the tables of the study, and the sentences of its verdict have conditions that can fail."""

import re
from dataclasses import replace

import pytest

from anabranch.studies.fabrics import ROWS, Fabric, FabricAnswer, study
from anabranch.studies.fabrics.answer import HEAD, Value
from bench import fabrics
from bench.table import Table

PAGE = fabrics.PAGE.read_text(encoding="utf-8")


def part(key: str, text: str = PAGE) -> str:
    """The generated part of that key."""
    found = re.search(rf"<!-- generated: {key} -->\n\n(.*?)\n\n<!-- end: {key} -->", text, re.DOTALL)
    assert found, key
    return found[1]


@pytest.fixture(scope="module")
def small() -> FabricAnswer:
    """A study of few packets, in which nothing is said of spraying."""
    fabric = Fabric(2, 2, 2, permutation_bytes=40_000, incast_bytes=40_000, incast_senders=2, ring_bytes=40_000)
    return study(fabric, seeds=2, show_progress=False)


def test_the_page_has_the_rows_and_columns_of_the_study(small: FabricAnswer) -> None:
    head = Table(HEAD, []).markdown()
    for kind in small.cells:
        lines = part(kind).splitlines()
        assert "\n".join(lines[:2]) == head, "run python -m bench.fabrics"
        assert [tuple(line.split(" | ")[:2]) for line in lines[2:]] == [
            (f"| {row.transport}", row.entropy) for row in ROWS
        ]


def test_the_numbers_of_the_verdict_and_of_the_guide_are_those_of_the_tables() -> None:
    """Multiples of the least time, and last completions with their intervals."""
    tables = "".join(part(kind) for kind in ("permutation", "incast", "all-reduce", "slow-spine"))
    multiples = re.findall(r"\b\d\.\d\d\b", part("verdict"))
    assert len(multiples) > 20
    assert set(multiples) <= set(re.findall(r"\b\d+\.\d\d\b", tables))
    guide = part("fabrics", fabrics.TASKS.read_text(encoding="utf-8"))
    assert set(re.findall(r"\b\d+\.\d\d\b", guide)) <= set(re.findall(r"\b\d+\.\d\d\b", tables))


def test_a_verdict_that_the_cells_do_not_say_is_refused(small: FabricAnswer) -> None:
    with pytest.raises(ValueError, match=r"(?s)these sentences do not hold.*MPRC loses to transports"):
        fabrics.parts(small)


def test_one_seed_gives_no_verdict(small: FabricAnswer) -> None:
    cells = {
        kind: {name: replace(cell, last_us=Value(1.0, None)) for name, cell in rows.items()}
        for kind, rows in small.cells.items()
    }
    with pytest.raises(ValueError, match="last_us is unknown"):
        fabrics.parts(replace(small, cells=cells))


def test_intervals_that_touch_are_level(small: FabricAnswer) -> None:
    cell = next(iter(small.cells["incast"].values()))
    one, near, far = (replace(cell, last_us=Value(mean, 1.0)) for mean in (10.0, 11.9, 12.1))
    assert fabrics._level(one, near)
    assert fabrics._ahead(one, far)
    assert not fabrics._ahead(far, one)
