"""The published models that the engine is validated against, by worked numbers."""

import pytest

from validation import dctcp, formulas


def test_mathis_equation_3_is_1_22_over_the_root_of_p() -> None:
    assert formulas.mathis(1e-4, 0.1) == pytest.approx(1224.7, abs=0.1)  # 1.2247 / (0.1 * 0.01)
    assert formulas.mathis(1e-4, 0.1, b=2) == pytest.approx(866.0, abs=0.1)  # delayed ACKs: C = 0.866


def test_mathis_is_the_sawtooth_that_sends_one_over_p_packets_a_cycle() -> None:
    # W = 40: a cycle of W/2 = 20 round trips sends 3/8 W^2 = 600 packets, so p = 1/600 and the mean window is 30.
    assert formulas.mathis(1 / 600, 1.0) == pytest.approx(30.0)


def test_pftk_full_model_by_hand() -> None:
    # W = 17.279, Q = 0.2105: (99 + 17.279 + 0.2126) / (0.1 * 9.640 + 0.2105 * 0.2 * 1.0102 / 0.99)
    assert formulas.pftk(0.01, 0.1, 0.2) == pytest.approx(115.7, abs=0.3)


def test_pftk_approaches_mathis_for_small_loss() -> None:
    assert formulas.pftk(1e-8, 0.1, 0.2) == pytest.approx(formulas.mathis(1e-8, 0.1), rel=0.01)


@pytest.mark.parametrize(("p", "window"), [(1e-2, 12.0), (1e-4, 122.0), (1e-6, 1225.0)])
def test_rfc9438_reno_friendly_window_is_renos(p: float, window: float) -> None:
    assert formulas.aimd_window(9 / 17, 0.7, p) == pytest.approx(window, abs=0.6)
    assert formulas.aimd_window(1.0, 0.5, p) == pytest.approx(window, abs=0.6)


def test_rfc9438_cubic_is_in_the_greater_region() -> None:
    assert formulas.cubic(1e-2, 0.01) == pytest.approx(formulas.mathis(1e-2, 0.01))
    assert formulas.cubic(1e-6, 0.1) == pytest.approx(59260, rel=1e-3)


def test_whole_segments_are_below_the_fluid_by_two_segments() -> None:
    for every in (100, 1000, 10_000):
        missing = formulas.mathis(1 / every, 1.0) - formulas.whole_segments(every)
        assert 1.0 < missing < 3.0


@pytest.mark.parametrize(("p", "window"), [(1e-3, 38), (1e-4, 263), (1e-5, 1795), (1e-6, 12279), (1e-7, 83981)])
def test_rfc3649_section_5_table(p: float, window: float) -> None:
    # The RFC rounds the function to 0.12 / p^0.835 first.
    assert formulas.highspeed_window(p) == pytest.approx(window, rel=0.015)
    assert formulas.highspeed_loss_ratio(formulas.highspeed_window(p)) == pytest.approx(p)


@pytest.mark.parametrize(("window", "a", "b"), [(118, 2, 0.44), (1058, 8, 0.33), (10661, 30, 0.21), (83000, 72, 0.10)])
def test_rfc3649_appendix_b_table(window: float, a: float, b: float) -> None:
    assert formulas.highspeed_growth(window) == pytest.approx(a, rel=0.03)
    assert formulas.highspeed_decrease(window) == pytest.approx(b, abs=0.0051)


def test_scalable_balances_a_period_of_losses() -> None:
    # W = 80 at p = 0.001: a segment adds 0.01, a loss takes 10 of 80, and the mean of an exponential from 70 to 80 is 74.89.
    assert formulas.scalable_window(1e-3) == pytest.approx(74.89, abs=0.01)


def test_the_fluid_of_constant_growth_is_aimd() -> None:
    for growth, remains in ((1.0, 0.5), (10.0, 7 / 8)):
        window = formulas.fluid_window(1e-4, lambda *_, growth=growth: growth, lambda _, remains=remains: remains)
        assert window == pytest.approx(formulas.aimd_window(growth, remains, 1e-4), rel=1e-3)


def test_the_fluid_of_exponential_growth_is_scalable() -> None:
    window = formulas.fluid_window(1e-3, lambda window, *_: 0.01 * window, lambda _: 7 / 8)
    assert window == pytest.approx(formulas.scalable_window(1e-3), rel=2e-3)


def test_a_round_trip_of_recovery_costs_scalable_one_of_fourteen_and_its_growth() -> None:
    # 12.5 W sent while growing and 0.875 W in recovery are 10,000: W = 747.7, in 13.35 + 1 round trips.
    window = formulas.fluid_window(1e-4, lambda window, *_: 0.01 * window, lambda _: 7 / 8, recovery=1)
    assert window == pytest.approx(10_000 / 14.35, rel=2e-3)


def test_htcp_grows_as_the_draft_says() -> None:
    assert formulas.htcp_growth(0.5, 0.1, beta=0.5) == 1.0
    assert formulas.htcp_growth(3.0, 0.1, beta=0.5) == pytest.approx(22.0)  # 1 + 10 * 2 + 2^2 / 4
    assert formulas.htcp_growth(3.0, 0.02, beta=0.8) == pytest.approx(0.4 * 4.4)


def test_bic_steps() -> None:
    assert [formulas.bic_growth(window, 1000) for window in (800, 960, 995, 1001, 1012, 1200)] == [
        16,
        10,
        0.2,
        0.2,
        4,
        16,
    ]


def test_dctcp_one_flow_of_200_packets_swings_by_10() -> None:
    assert dctcp.swing(1, 160, 40) == pytest.approx(10.0)  # sqrt(2 * 200) / 2
