"""The study of Kikolo's paper: its equations, and what it calls a lead and a level."""

import pytest

from anabranch.studies.papers.kikolo import friendliness, readings, states, throughput
from anabranch.studies.papers.kikolo.cells import KIKOLO, NAMES, Cell, power, rates


def test_the_mended_equations_balance_every_state() -> None:
    """Flow into each state equals flow out of it (equations 1, 3, 4 and the balance of S3)."""
    for ratio in (1.0, 10.0, 30.0):
        share, up, down = states.equilibrium(ratio), ratio, 1.0
        assert sum(share.values()) == pytest.approx(1)
        assert up * share["S0"] == pytest.approx((up + down) * share["S1"])
        assert down * share["S2"] == pytest.approx((up + down) * share["S3"])
        assert up * share["S0"] == pytest.approx(down * (share["S1"] + share["S3"]))
    # 1 : 10/11 : 100 : 100/11 for S0, S1, S2, S3, of a sum of 111
    assert list(states.equilibrium(10.0).values()) == pytest.approx([1 / 111, 10 / 1221, 100 / 111, 100 / 1221])


def test_the_printed_equations_have_a_solution_for_equal_rates_only() -> None:
    """By hand: (1) and (2) into (3) give lambda = mu."""
    assert states.printed_residual(1.0) < 1e-12
    assert states.printed_residual(10.0) > 1e-3


def test_a_lead_is_more_than_one_percent_and_beyond_the_intervals() -> None:
    assert Cell(102.0, None).leads(Cell(100.0, None))
    assert not Cell(100.9, None).leads(Cell(100.0, None))
    assert Cell(110.0, 4.0).leads(Cell(100.0, 5.0))
    assert not Cell(110.0, 5.0).leads(Cell(100.0, 5.0))


def test_leaders_are_those_whom_nobody_leads() -> None:
    found = {("a", 1e-3): Cell(99.0, 0.1), ("b", 1e-3): Cell(98.5, 0.1), ("c", 1e-3): Cell(50.0, 0.1)}
    assert throughput.leaders(found, 1e-3, ("a", "b", "c")) == ["a", "b"]


def test_packet_error_rates_between_bounds_leave_the_bounds_out() -> None:
    found = {("a", loss): Cell(1.0, None) for loss in (1e-5, 1e-4, 3e-4, 1e-3)}
    assert rates(found, above=1e-4) == [3e-4, 1e-3]
    assert rates(found, below=1e-4) == [1e-5]
    assert [power(loss) for loss in rates(found)] == ["1e-5", "1e-4", "3e-4", "1e-3"]


def test_the_table_of_competitors_has_linux_as_the_source_of_bic() -> None:
    """BIC's paper has a factor of 0.875 and Smax = 32; ours has Linux's 819/1024 and 16 (about.md)."""
    found = {(key, 1e-3): Cell(1.0, None) for key in (*readings.COMPETITORS, *readings.KIKOLOS)}
    base = {(name, 1e-3): Cell(1.0, None) for name in NAMES.values()}
    rows = readings.competitor_table(found, base, "figure-5").rows
    sources = {name: source for name, source, *_ in reversed(rows)}
    assert sources["BIC"] == "Linux's constants"
    assert sources["Scalable"] == "its paper's constants"


@pytest.mark.parametrize(
    ("left", "verdict", "says"),
    [
        (Cell(60.0, 2.0), "holds", "In 3 of 3 comparisons the others"),
        (Cell(41.0, 10.0), "undecided", "In 2 of 3 comparisons (1 undecided) the others"),
        (Cell(41.0, 2.0), "holds partly", "of their own kind; least 41 %"),
    ],
)
def test_what_others_keep_within_an_interval_of_the_threshold_is_undecided(left: Cell, verdict: str, says: str) -> None:
    found = {("a", 1e-3): Cell(99.0, 1.0), ("b", 1e-3): Cell(98.0, 1.0), ("c", 1e-3): left}
    claim = friendliness._friendly("figure-7-lossy", found, ("a", "b", "c"), [1e-3], 50.0)
    assert claim.verdict == verdict
    assert says in claim.evidence


def test_claims_are_judged_by_the_variants_of_the_paper() -> None:
    """CUBIC, which the paper does not have, leads Kikolo here. Nothing else does."""
    found = {(name, 1e-2): Cell(90.0 if name == "CUBIC" else 1.0, 0.0) for name in NAMES.values()}
    found[KIKOLO, 1e-2] = Cell(50.0, 0.0)
    claim = throughput.first(found, "figure-5", "")
    assert (claim.verdict, claim.evidence[:46]) == ("holds", "Kikolo leads in 7 of 7 comparisons and is led ")
    assert "CUBIC" not in claim.evidence
