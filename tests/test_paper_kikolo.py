"""The study of Kikolo's paper: its equations, and what it calls a lead and a level."""

import pytest

from anabranch.papers.kikolo import states, throughput
from anabranch.papers.kikolo.cells import Cell, power, rates


def test_the_mended_equations_balance_every_state() -> None:
    """Flow into each state equals flow out of it (equations 1, 3, 4 and the balance of S3)."""
    for ratio in (1.0, 10.0, 30.0):
        share, up, down = states.equilibrium(ratio), ratio, 1.0
        assert sum(share.values()) == pytest.approx(1)
        assert up * share["S0"] == pytest.approx((up + down) * share["S1"])
        assert down * share["S2"] == pytest.approx((up + down) * share["S3"])
        assert up * share["S0"] == pytest.approx(down * (share["S1"] + share["S3"]))
    assert states.equilibrium(10.0)["S2"] == pytest.approx(100 / 111)


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
