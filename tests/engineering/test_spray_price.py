"""The closed forms of sprayed flows: worked numbers, monotony, and the packet engine on a few cases."""

import json
import math

import numpy as np
import pytest

from anabranch.cli import status
from anabranch.engineering.predict.spray import (
    DETECTORS,
    Detector,
    Selector,
    SprayedPath,
    Window,
    false_losses,
    spray_price,
)
from validation.spray_penalty import cases

COUNTING: tuple[Detector, ...] = ("dup-ack", "path-count")
TIMERS: tuple[Detector, ...] = ("fast-rto", "tcp-pr")
ALL_SELECTORS: tuple[Selector, ...] = ("round-robin", "random")
WINDOWS: tuple[Window, ...] = ("newreno", "cubic")


def two(longer_s: float = 0.02) -> list[SprayedPath]:
    return [SprayedPath(0.01, 10e6, 40), SprayedPath(longer_s, 10e6, 40)]


def test_far_apart_paths_have_the_probability_of_the_paper() -> None:
    # Fukushima et al. 2016, section 4.2: (1 - s) s^3, here for one short path of two; queues are empty at 1 packet a second.
    paths = [SprayedPath(1e-3, 1e12, 40), SprayedPath(1e3, 1e12, 40)]
    assert false_losses(paths, 100.0, 3) == pytest.approx(0.5 * 0.5**3, rel=1e-6)


def test_paths_of_one_delay_and_no_queue_never_overtake() -> None:
    assert false_losses([SprayedPath(0.01, 1e15, 40)] * 4, 1000.0, 3) < 1e-6


def test_windows_that_never_fall_below_the_product_fill_the_paths() -> None:
    deep = [SprayedPath(0.01, 10e6, 400)] * 2
    for window in WINDOWS:
        assert spray_price(deep, detector="fast-rto", window=window).share == 1.0


def test_a_shallow_queue_leaves_three_quarters_of_newreno() -> None:
    # Without a queue, a sawtooth between W / 2 and W has the mean 3/4 W.
    shallow = [SprayedPath(0.1, 100e6, 1)] * 2
    assert spray_price(shallow, detector="fast-rto", window="newreno").share == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("detector", COUNTING)
@pytest.mark.parametrize("selector", ALL_SELECTORS)
def test_counting_gets_less_where_paths_differ_more(detector: Detector, selector: Selector) -> None:
    goodputs = [
        spray_price(two(delay), detector=detector, selector=selector).goodput_bps for delay in (0.012, 0.02, 0.04)
    ]
    assert goodputs == sorted(goodputs, reverse=True)
    assert goodputs[0] > 1.2 * goodputs[-1]


def test_timers_repeat_nothing_that_was_not_lost() -> None:
    for detector in TIMERS:
        assert spray_price(two(), detector=detector, selector="random", loss=0.01).spurious == 0


@pytest.mark.parametrize("place", range(0, 12, 3))
def test_goodput_is_that_of_the_packet_engine(place: int) -> None:
    case = cases(12, 5)[place]
    differ = (
        max(case.delays_s) > min(case.delays_s) or case.selector == "random"
    )  # docs/models/spray-penalty.md, limits
    for detector, most in zip(DETECTORS, (0.5, 0.5, 0.25, 0.25, 0.25), strict=True):
        if detector in COUNTING and not differ:
            continue
        runs = [case.simulated(detector, seed)[0] for seed in range(1, 4)]
        assert case.priced(detector).goodput_bps == pytest.approx(np.mean(runs), rel=most)


@pytest.mark.parametrize(
    ("paths", "named", "message"),
    [
        (two()[:1], {}, "1 paths: a flow is sprayed over at least 2"),
        (two(), {"detector": "rack"}, 'detector "rack": must be one of dup-ack'),
        (two(), {"loss": 1.0}, "loss 1: must be a ratio"),
        ([SprayedPath(0.01, 0, 40)] * 2, {}, "delay and rate must be above 0"),
    ],
)
def test_what_cannot_be_sprayed_is_refused(paths: list[SprayedPath], named: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spray_price(paths, **named)  # type: ignore[arg-type]


def test_the_command_prices_disjoint_paths(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["routes", "tcpbp10", "--from", "1", "--to", "10", "--metric", "delay", "--disjoint", "2", "--spray"]
    assert status([*command, "--json"]) == 0
    (route,) = json.loads(capsys.readouterr().out)["routes"]
    assert {(one["select"], one["detection"]) for one in route["sprayed"]} == {
        (selector, detector) for selector in ("round-robin", "random") for detector in DETECTORS
    }
    assert all(math.isfinite(one["goodput_bps"]) for one in route["sprayed"])
    assert status(command) == 0
    assert "fast-rto" in capsys.readouterr().out
    assert status([*command[:-3], "--spray"]) != 0
    assert "--spray goes with --disjoint or --node-disjoint" in capsys.readouterr().err
