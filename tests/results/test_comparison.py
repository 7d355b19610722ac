"""The best treatment by paired differences: against numbers worked by hand."""

import numpy as np
import polars as pl
import pytest

from anabranch.pages.report.answer import unjudged
from anabranch.results.comparison import rank


def values(*rows: tuple[str, str, int, float | None]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["loss", "stack", "seed", "value"], orient="row")


def test_a_difference_seed_by_seed_is_decided_where_the_means_overlap() -> None:
    """The seeds differ by 10, the treatments by 1 in each seed: 1, 1, 1 more for a."""
    found = rank(
        values(
            *[("1 %", "a", seed, 11.0 + 10 * seed) for seed in range(3)],
            *[("1 %", "b", seed, 10.0 + 10 * seed) for seed in range(3)],
        ),
        ["loss"],
        "stack",
        most_is_best=True,
    )
    best, other = found.to_dicts()
    # Student's t for 2 degrees is 4.3027; the standard deviation of 11, 21, 31 is 10.
    assert best == {
        "loss": "1 %", "stack": "a", "rank": 1, "mean": 21, "half": pytest.approx(4.3027 * 10 / 3**0.5, rel=1e-4),
        "behind": None, "behind_half": None, "decided": None, "predicted": False,
    }  # fmt: skip
    assert (other["behind"], other["behind_half"], other["decided"]) == (1, 0, True)
    assert other["mean"] + other["half"] > best["mean"], "the intervals of the means overlap"


def test_differences_of_both_signs_are_undecided() -> None:
    """Differences 3, -1, 1: mean 1, standard deviation 2, half width 4.3027 * 2 / sqrt(3)."""
    found = rank(
        values(
            ("", "a", 1, 13.0),
            ("", "b", 1, 10.0),
            ("", "a", 2, 9.0),
            ("", "b", 2, 10.0),
            ("", "a", 3, 11.0),
            ("", "b", 3, 10.0),
        ),
        ["loss"],
        "stack",
        most_is_best=True,
    )
    other = found.row(1, named=True)
    assert other["behind"] == pytest.approx(1)
    assert other["behind_half"] == pytest.approx(4.3027 * 2 / 3**0.5, rel=1e-4)
    assert other["decided"] is False


def test_conditions_are_ranked_apart_and_the_least_can_be_best() -> None:
    rows = values(
        ("0", "a", 1, 1.0), ("0", "b", 1, 2.0), ("1 %", "a", 1, 9.0), ("1 %", "b", 1, 5.0), ("1 %", "c", 1, None)
    )
    found = rank(rows, ["loss"], "stack", most_is_best=False)
    assert found.select("loss", "stack", "rank", "behind", "decided").rows() == [
        ("0", "a", 1, None, None),
        ("0", "b", 2, 1, None),
        ("1 %", "b", 1, None, None),
        ("1 %", "a", 2, 4, None),
    ]


@pytest.mark.parametrize(("treatments", "behind", "cases"), [(2, 0.05, 0.05), (5, 0.34, 0.27), (20, 2.9, 0.83)])
def test_chance_decides_between_equal_treatments_as_often_as_the_guide_says(
    treatments: int, behind: float, cases: float
) -> None:
    """Independent normal values: how many appear behind the one that is best by chance, and how often any does."""
    studies, seeds = 400, 5
    values = np.random.default_rng(1).normal(100, 1, studies * treatments * seeds)
    grid = [(study, str(name), seed) for study in range(studies) for name in range(treatments) for seed in range(seeds)]
    runs = pl.DataFrame(grid, schema=["study", "name", "seed"], orient="row").with_columns(value=pl.Series(values))
    decided = rank(runs, ["study"], "name", most_is_best=True).group_by("study").agg(pl.col("decided").sum())["decided"]
    assert decided.mean() == pytest.approx(behind, abs=0.1 * behind + 0.02)
    assert (decided > 0).mean() == pytest.approx(cases, abs=0.05)


def test_only_seeds_that_both_have_are_compared() -> None:
    """A run of b failed: seed 2 of a has no partner, and must not count as a difference."""
    found = rank(values(("", "a", 1, 5.0), ("", "b", 1, 4.0), ("", "a", 2, 50.0)), ["loss"], "stack", most_is_best=True)
    assert found.row(1, named=True)["behind"] == 1


def test_without_a_common_seed_nothing_is_said_of_the_difference() -> None:
    rows = values(("", "a", 1, 5.0), ("", "a", 2, 6.0), ("", "b", 3, 4.0), ("", "b", 4, 3.0))
    other = rank(rows, ["loss"], "stack", most_is_best=True).row(1, named=True)
    assert (other["behind"], other["behind_half"], other["decided"]) == (None, None, None)
    assert unjudged(other) == "no common seed"


def test_what_rounding_leaves_of_equal_values_is_no_difference() -> None:
    """Ten tenths in either order: 1 and the double below it."""
    below = sum([0.1] * 10)
    assert below != 1
    found = rank(
        values(("", "a", 1, 1.0), ("", "b", 1, below), ("", "a", 2, below), ("", "b", 2, 1.0)),
        ["loss"],
        "stack",
        most_is_best=True,
    )
    assert found["half"].to_list() == [0, 0]
    other = found.row(1, named=True)
    assert (other["behind"], other["behind_half"]) == (0, 0)


def test_predictions_are_decided_by_their_intervals() -> None:
    """The seeds agree to the bit. The intervals of a and b overlap, and that of c lies below both; that of d is not known."""
    rows = [
        (name, seed, value, True, *ends)
        for name, value, ends in (
            ("a", 10.0, (8, 12)),
            ("b", 9.0, (7, 11)),
            ("c", 5.0, (4, 6)),
            ("d", 1.0, (None, None)),
        )
        for seed in range(3)
    ]
    columns = ["stack", "seed", "value", "predicted", "low", "high"]
    found = rank(pl.DataFrame(rows, schema=columns, orient="row"), [], "stack", most_is_best=True)
    assert found.select("stack", "half", "behind", "behind_half", "decided", "predicted").rows() == [
        ("a", None, None, None, None, True),
        ("b", None, 1, None, False, True),
        ("c", None, 5, None, True, True),
        ("d", None, 9, None, None, True),
    ]
