"""Verdicts: a comparison may be undecided, equal seeds are compared, and parts are combined by Kleene's rules."""

import re
import tomllib
from math import inf
from pathlib import Path

import pytest

from anabranch.studies.papers import registry, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.verdicts import (
    above,
    below,
    between,
    by_parts,
    difference,
    every,
    graded,
    judged,
    share,
    some,
)

EXPECTED = Path(__file__).parents[1] / "papers"


def test_an_interval_that_crosses_the_threshold_decides_nothing() -> None:
    assert [above((1.1, half), 1.0) for half in (0.05, 0.2, None)] == [True, None, None]
    assert [below((1.1, half), 1.0) for half in (0.05, 0.2, None)] == [False, None, None]
    assert above((float("nan"), 0.1), 1.0) is None
    assert below((inf, None), 1.0) is False, "a time that is never reached"
    assert between((1.0, 0.1), 0.8, 1.2) is True


def test_equal_seeds_are_compared() -> None:
    """Seeds differ by ten, and one is ahead by 1 in each: the intervals of the means overlap, that of the differences does not."""
    one, other = [11.0, 21.0, 31.5], [10.0, 20.0, 30.0]
    assert above(difference(one, other), 0.0) is True
    assert above(Mean.of(one), Mean.of(other).value) is None
    assert difference(one, other).values == (1.0, 1.0, 1.5)


def test_one_false_part_decides_and_one_undecided_does_not() -> None:
    assert [every(True, True), every(True, None), every(False, None)] == [True, None, False]
    assert [some(False, False), some(False, None), some(True, None)] == [False, None, True]


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ((True, True), "holds"),
        ((True, None), "undecided"),
        ((True, False), "holds partly"),
        ((None, False), "undecided"),
        ((True, None, False), "holds partly"),
        ((False, False), "does not hold"),
    ],
)
def test_a_claim_of_parts(parts: tuple[bool | None, ...], verdict: str) -> None:
    assert by_parts(*parts) == verdict


def test_a_claim_of_many_comparisons() -> None:
    """Of four, two decide 'partly' if one is false; one true and one undecided may still become half."""
    assert judged([True, True, None, False]) == "holds partly"
    assert judged([True, None, False, False]) == "undecided"
    assert judged([True, False, False, False]) == "does not hold"
    assert judged([True, None]) == "undecided"
    assert share([True, None, False]) == "1 of 3 comparisons (1 undecided)"
    assert graded(None, True) == "undecided"


@pytest.mark.parametrize("name", registry.PAPERS)
def test_every_claim_has_a_rule(name: str) -> None:
    for claim in statements.load(registry.folder(name)).entries.values():
        assert claim["rule"].endswith("."), claim["id"]


@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_quick_version_never_contradicts_the_full_one(name: str) -> None:
    """Either may leave a claim undecided. The page in the repository is that of the full version."""
    folder = registry.folder(name)
    claims = {(claim["where"], claim["says"]): id for id, claim in statements.load(folder).entries.items()}
    quick = tomllib.loads((EXPECTED / f"{name}.toml").read_text(encoding="utf-8"))["claims"]
    text = (folder / "README.md").read_text(encoding="utf-8").partition("## Claims")[2].partition("\n## ")[0]
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(claims)
    for where, says, _, verdict in rows:
        full, small = verdict.strip("*"), quick[claims[where, says]]
        assert full == small or "undecided" in (full, small), claims[where, says]


def test_a_quick_version_gives_no_verdict_that_its_runs_are_too_short_for() -> None:
    entry = {"where": "Figure 1", "says": "More.", "rule": "It is.", "evidence": "One.", "reason": "Why."}
    said = statements.Statements({"a": entry, "b": entry | {"quick": False}})
    claims = [said.claim(id, "does not hold") for id in ("a", "b")]
    assert [(claim.verdict, claim.reason) for claim in said.for_quick(claims)] == [
        ("does not hold", "Why."),
        ("undecided", ""),
    ]
