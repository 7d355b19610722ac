"""The prediction functions over arrays, their ranges, and TCPBP's conditions, against worked numbers and brute force."""

import inspect
import json
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from anabranch.cli import status
from anabranch.engineering import predict
from anabranch.engineering.predict import PathQuality, advantage, round_trip, table

NAMES = list(predict.MODELS)
EXTRA: dict[str, dict[str, float]] = {
    "padhye": {"timeout_s": 0.2},
    "padhye_short": {"timeout_s": 0.2},
    "response": {"c": 1.2, "y": 0.5},
}


def rate(name: str, rtt_s: Any, loss: Any, **others: Any) -> Any:
    return getattr(predict, name)(rtt_s, loss, **EXTRA.get(name, {}) | others)


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("mathis", {}, 1_430_502),  # 1460 * 8 / 0.1 * sqrt(1.5) / 0.1
        ("mathis", {"packets_per_ack": 2}, 1_011_518),  # sqrt(0.75)
        # W = 1 + sqrt(265), Q = 0.2104791: (99 + W + 0.2126051) / (0.1 (W/2 + 1) + 0.2104791 * 0.2 * 1.01020408 / 0.99)
        ("padhye", {}, 115.6936 * 11_680),
        # 8000 / (0.1 * 0.08164966 + 0.4 * 0.1837117 * 0.010032)
        ("padhye_short", {"timeout_s": 0.4, "mss_bytes": 1000}, 898_658),
        ("cubic", {}, 1_430_502),  # Reno-friendly
        ("linear", {"p_max": 0.04}, 2_861_003),  # twice Mathis: sqrt(0.04 / 0.01)
        ("scalable", {}, 1_430_502),
        ("response", {"c": 2, "y": 1}, 23_360_000),  # 200 segments
    ],
)
def test_one_percent_over_100_ms(name: str, others: dict[str, float], expected: float) -> None:
    assert rate(name, 0.1, 0.01, **others) == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize(
    ("loss", "highspeed_segments", "cubic_segments"),
    [(1e-4, 263, 187), (1e-5, 1795, 1054), (1e-6, 12_280, 5926), (1e-7, 83_981, 33_325), (1e-8, 574_356, 187_400)],
)
def test_rfc9438_table_1(loss: float, highspeed_segments: int, cubic_segments: int) -> None:
    assert predict.highspeed(0.1, loss) * 0.1 / 11_680 == pytest.approx(highspeed_segments, rel=0.015)
    assert predict.cubic(0.1, loss) * 0.1 / 11_680 == pytest.approx(cubic_segments, abs=0.6, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_functions_have_the_arguments_that_the_core_declares(name: str) -> None:
    assert set(inspect.signature(getattr(predict, name)).parameters) == set(predict.MODELS[name].arguments)
    assert predict.MODELS[name].summary


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_broadcasting_equals_elementwise(name: str, data: st.DataObject) -> None:
    shapes = data.draw(arrays.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=4))
    rtt, loss, mss = (
        data.draw(arrays.arrays(np.float64, shape, elements=st.floats(*bounds)))
        for shape, bounds in zip(shapes.input_shapes, ((1e-4, 1.0), (0.0, 0.9), (100, 9000)), strict=True)
    )
    found = rate(name, rtt, loss, mss_bytes=mss, max_window=1e4)
    assert np.shape(found) == shapes.result_shape
    wide = np.broadcast_arrays(rtt, loss, mss)
    for index in np.ndindex(shapes.result_shape):
        values = [float(column[index]) for column in wide]
        assert np.asarray(found)[index] == rate(name, *values[:2], mss_bytes=values[2], max_window=1e4)


def test_numbers_give_numbers_and_arrays_arrays() -> None:
    assert type(predict.mathis(0.1, 0.01)) is float
    assert type(predict.mathis(np.float32(0.1), np.array(0.01))) is float
    strided = np.linspace(0.01, 0.1, 10)[::3]
    found = predict.mathis(strided, [[0.01], [0.02]], packets_per_ack=2)
    assert found.dtype == np.float64
    assert found.shape == (2, 4)
    assert predict.mathis([], 0.1).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predict.mathis(0.1, nan), "loss is NaN: it must be at least 0 and less than 1"),
        (lambda: predict.mathis(0.1, [[0.0, 0.1], [1.0, -1.0]]), r"loss\[1, 0\] is 1: it must be at least 0"),
        (lambda: predict.cubic([0.1, -0.2], 0.1), r"rtt_s\[1\] is -0.2: it must be finite and greater than 0"),
        (lambda: predict.cubic(inf, 0.1), "rtt_s is inf"),
        (lambda: predict.cubic(0.1, 0.1, beta=1), "beta is 1: it must be greater than 0 and less than 1"),
        (lambda: predict.padhye(0.1, 0.1, timeout_s=0), "timeout_s is 0: it must be finite and greater than 0"),
        (
            lambda: predict.mathis(0.1, 0.1, packets_per_ack=0.5),
            "packets_per_ack is 0.5: it must be finite and at least 1",
        ),
        (lambda: predict.mathis(0.1, 0.1, max_window=0), "max_window is 0: it must be greater than 0"),
        (lambda: predict.mathis("fast", 0.1), "rtt_s is 'fast': it must be a number or an array of numbers"),
        (lambda: predict.mathis(0.1, [[0.1], [0.1, 0.2]]), r"loss is \[\[0.1\], \[0.1, 0.2\]\]: it must be"),
        (lambda: predict.mathis([0.1, 0.2], [0.1, 0.2, 0.3]), r"do not broadcast: rtt_s \(2,\), loss \(3,\)"),
        (lambda: round_trip(0.1, 0.1, 0.1, [0.1, 1.5]), r"loss_back\[1\] is 1.5"),
        (lambda: round_trip(-0.1, 0.1, 0.1, 0.1), "delay_forward is -0.1: it must be finite and at least 0"),
        (lambda: advantage(PathQuality(0.1, 2), PathQuality(0.1, 0.1)), "new.loss is 2"),
        (
            lambda: advantage(PathQuality(0.1, 0), PathQuality(0.1, 0, -1)),
            "old.available_bps is -1.0: it must be at least 0",
        ),
        (
            lambda: advantage(PathQuality(0.1, 0), PathQuality(0.1, 0), flows=[1, 0]),
            r"flows\[1\] is 0.0: it must be a whole",
        ),
        (
            lambda: predict.validity("crystal-ball"),
            'there is no model "crystal-ball": it must be one of mathis, padhye',
        ),
    ],
)
def test_bad_values_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_without_loss_the_window_is_the_limit() -> None:
    for name in NAMES:
        assert rate(name, 0.1, 0) == inf
        assert rate(name, 0.1, 0, max_window=10) == pytest.approx(10 * 11_680 / 0.1)


def test_ranges_of_validity() -> None:
    mathis = predict.validity("mathis")
    assert (mathis.least_loss, mathis.greatest_loss) == (1e-5, 0.05)
    assert mathis.holds([0, 1e-5, 0.05, 0.06, nan]).tolist() == [False, True, True, False, False]
    assert mathis.holds(0.01) is True
    assert mathis.note(0.01) == ""
    assert mathis.note(0.1).startswith("above 0.05: timeouts")
    assert mathis.note(0).startswith("below 1e-05")
    for model in predict.MODELS.values():
        assert model.validity.source
        assert not model.validity.holds(0.5)


LINKS = {"TCPBP": [(0.0085, 0.003), (0.0018, 0.0002), (0.003, 0.0037)], "hop-count": [(0.004, 0.0181), (0.005, 0.0039)]}
"""Delay and loss of the links of the route 1=>10 (TCPBP, figures 3 and 4)."""


def quality(links: list[tuple[float, float]], available_bps: float = inf) -> PathQuality:
    delay = sum(delay for delay, _ in links)
    loss = 1 - np.prod([1 - loss for _, loss in links])
    return PathQuality(*round_trip(delay, loss, delay, loss), available_bps)


def test_tcpbp_table_4_and_its_conditions() -> None:
    new, old = (quality(links, 1e9) for links in LINKS.values())
    for route, expected in ((new, 320.86), (old, 266.74)):
        assert 1 / (route.rtt_s * np.sqrt(route.loss)) == pytest.approx(expected, abs=0.005)
    found = advantage(new, old, flows=50)
    assert (found.condition_i, found.condition_ii, found.condition_iii) == (True, True, True)
    assert found.gain == pytest.approx(320.86 / 266.74, rel=1e-4)
    assert found.n_f == 262  # 1e9 / (11680 * 1.224745 * 266.74) = 262.07
    assert not advantage(new, old, flows=263).condition_ii


RATES = st.one_of(st.integers(1, 12).map(float), st.floats(0.5, 20), st.just(inf))


def by_rate(rtt_s: Any, loss: Any, mss_bytes: Any) -> Any:
    """A model that makes the round-trip time a rate."""
    return rtt_s


@given(new_alone=RATES, new_shared=RATES | st.just(0.0), old_alone=RATES, old_shared=RATES | st.just(0.0))
def test_n_f_is_that_of_brute_force(new_alone: float, new_shared: float, old_alone: float, old_shared: float) -> None:
    """Whole numbers make ties, which the conditions, being strict, refuse."""
    new, old = PathQuality(new_alone, 0, new_shared), PathQuality(old_alone, 0, old_shared)
    better = [min(new_alone, new_shared / n) > min(old_alone, old_shared / n) for n in range(1, 200)]
    found = advantage(new, old, model=by_rate, flows=np.arange(1, 200))
    assert found.condition_ii.tolist() == better
    assert found.condition_i.tolist() == [better[0]] * 199
    n_f = found.n_f[0]
    assert not isnan(n_f)
    assert better[: int(min(n_f, 199))] == [True] * int(min(n_f, 199))
    if n_f < 199:
        assert not better[int(n_f)]
    if better[0]:
        assert not any(better[int(min(n_f, 199)) :])
    at_least_condition_iii = found.condition_iii | ~found.condition_ii
    assert at_least_condition_iii.all()


def test_the_number_of_flows_at_a_tie_and_beside_it() -> None:
    for new_shared, n_f in ((6.0, 2), (6.1, 3), (5.9, 2), (2.0, 0), (2.1, 1)):
        found = advantage(PathQuality(3.0, 0, new_shared), PathQuality(2.0, 0, 50.0), model=by_rate)
        assert found.n_f == n_f, new_shared
    assert advantage(PathQuality(3.0, 0, 51.0), PathQuality(2.0, 0, 50.0), model=by_rate).n_f == inf
    # 0.3 / 0.1 is 2.9999999999999996, and 0.3 / 3 is below 0.1
    assert advantage(PathQuality(1.0, 0, 0.3), PathQuality(0.1, 0, 9.0), model=by_rate).n_f == 2


def test_gains_of_nothing() -> None:
    nothing, something = PathQuality(1.0, 0, 0.0), PathQuality(1.0, 0, 1.0)
    assert advantage(nothing, nothing, model=by_rate).gain == 1
    assert advantage(something, nothing, model=by_rate).gain == inf
    assert advantage(nothing, something, model=by_rate).gain == 0


def test_conditions_take_arrays() -> None:
    losses = np.array([1e-4, 1e-3, 1e-2])
    found = advantage(PathQuality(0.02, losses[:, None], 1e8), PathQuality(0.01, losses, 2e8))
    assert found.n_f.shape == (3, 3)
    for new in range(3):
        for old in range(3):
            one = advantage(PathQuality(0.02, losses[new], 1e8), PathQuality(0.01, losses[old], 2e8))
            assert [field[new, old] for field in found] == list(one)


def test_the_command_prints_all_models_and_says_where_they_do_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["predict", "--rtt", "100ms", "--loss", "1e-6"]) == 0
    captured = capsys.readouterr()
    rows = {line.split()[0]: line.split() for line in captured.out.splitlines()}
    assert set(rows) == {"model"} | (set(NAMES) - {"response"})
    assert rows["cubic"][1:4] == ["692.2", "Mbit/s", "5926.1"]  # RFC 9438 table 1: 5926 segments
    assert (rows["cubic"][-1], rows["mathis"][-1]) == ("yes", "no")
    assert "mathis: a loss of 1e-06 is below 1e-05" in captured.err


def test_the_command_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["predict", "--rtt", "100ms", "--json", "--timeout", "1s", "--mss", "1000", "--packets-per-ack", "2"]
    assert status([*arguments, "--loss", "0.01"]) == 0
    found = {row["model"]: row for row in json.loads(capsys.readouterr().out)["predictions"]}
    expected = predict.padhye(0.1, 0.01, timeout_s=1, mss_bytes=1000, packets_per_ack=2)
    assert found["padhye"]["rate_bps"] == expected
    assert status([*arguments, "--loss", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0]["rate_bps"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rtt", "50", "--loss", "0.1"], '--rtt 50: must be a duration with its unit, such as "10ms"'),
        (["--rtt", "50ms", "--loss", "1"], "--loss is 1: it must be at least 0 and less than 1"),
        (["--rtt", "0ms", "--loss", "0"], "--rtt is 0: it must be finite and greater than 0"),
        (["--rtt", "1ms", "--loss", "0", "--packets-per-ack", "0"], "--packets-per-ack is 0: it must be"),
        (["--rtt", "1ms", "--loss", "0", "--mss", "0"], "--mss is 0: it must be"),
        (["--rtt", "1ms", "--loss", "0", "--timeout", "0s"], "--timeout is 0: it must be"),
        (["--rtt", "1ms", "--loss", "0", "--max-window", "-1"], "--max-window is -1: it must be"),
        (["--rtt", "50ms", "--loss", "0", "--timeout", "1"], "--timeout 1: must be a duration"),
        (["--rtt", "50ms"], "loss"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["predict", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_without_a_timeout_the_command_takes_the_round_trip_or_200_ms() -> None:
    for rtt, timeout in ((0.05, 0.2), (0.5, 0.5)):
        rows = table.predictions(rtt, 0.01, mss_bytes=1460, packets_per_ack=1, timeout_s=None, max_window=inf)
        assert rows[1].rate_bps == predict.padhye(rtt, 0.01, timeout_s=timeout)
