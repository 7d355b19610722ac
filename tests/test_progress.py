"""How far a study is, as its progress says, against how far it is."""

from itertools import accumulate

import pytest

from anabranch.runs.jobs import spread

COSTS_S = [10.0] * 20 + [0.1] * 80
"""A few runs on a fast network, then many on a slow one."""
DURATIONS_S = [5.0] * 20 + [20.0] * 80


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.75])
def test_the_share_of_virtual_time_stands_for_the_share_of_the_work(part: float) -> None:
    """In their own order, when half of the 208 s are over, 3 % of the 1700 s of virtual time are: 33 times as long to go as in truth."""
    in_order = _share_done(list(range(100)), 0.5)
    assert in_order == pytest.approx(0.03, abs=0.002)
    assert _share_done(spread(100), part) == pytest.approx(part, rel=0.15)


def test_every_run_is_made_once() -> None:
    assert sorted(spread(1000)) == list(range(1000))


def _share_done(order: list[int], part: float) -> float:
    """The share of virtual time in runs that have ended when this part of the work is done."""
    ends = list(accumulate(COSTS_S[index] for index in order))
    ended = [index for index, end in zip(order, ends, strict=True) if end <= part * ends[-1]]
    return sum(DURATIONS_S[index] for index in ended) / sum(DURATIONS_S)
