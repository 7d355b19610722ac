"""How far a study is, as its progress says, against how far it is."""

import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.foundation.progress import Reporter
from anabranch.runs.jobs import spread
from anabranch.runs.run import PendingRun
from anabranch.scenario import Case, Scenario, warnings
from anabranch.scenario.problems import Problem
from tests.scenarios import LINE

COSTS_S = [10.0] * 20 + [0.1] * 80
"""A few runs on a fast network, then many on a slow one."""
DURATIONS_S = [5.0] * 20 + [20.0] * 80


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.75])
def test_the_share_of_virtual_time_stands_for_the_share_of_the_work(part: float) -> None:
    """If runs kept their own order, after half of the 208 s only 3 % of the 1700 s of virtual time would be over: an estimate 33 times too long."""
    in_order = _share_done(list(range(100)), 0.5)
    assert in_order == pytest.approx(0.03, abs=0.002)
    assert _share_done(spread(100), part) == pytest.approx(part, rel=0.15)


def test_every_run_is_made_once() -> None:
    assert sorted(spread(1000)) == list(range(1000))


def test_a_look_at_many_runs_takes_the_time_of_those_that_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each look, progress asks only the runs under way how far they are. It asks an ended run twice at most."""
    looks, asked = [0], [0]
    update, now_s = Reporter.update, PendingRun.now_s.fget
    assert now_s is not None

    def counted_update(*arguments: object) -> None:
        looks[0] += 1
        update(*arguments)  # type: ignore[arg-type]

    def counted(run: PendingRun) -> float:
        asked[0] += 1
        return now_s(run)

    monkeypatch.setattr(Reporter, "update", counted_update)
    monkeypatch.setattr(PendingRun, "now_s", property(counted))
    jobs, runs = 2, 1000
    Scenario.from_toml(LINE).run(seeds=range(runs), jobs=jobs)
    assert runs <= asked[0] <= 2 * runs + jobs * looks[0]
    assert looks[0] > 1


@pytest.mark.parametrize(
    ("hops", "said"), [(0, "computing"), (8000, "800 packet-hops/s"), (20_000_000, "2.0 M packet-hops/s")]
)
def test_the_rate_is_readable_for_runs_in_real_time_and_in_virtual_time(
    hops: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[str] = []
    reporter = Reporter(100.0)
    monkeypatch.setattr(reporter, "elapsed_s", lambda: 10.0)
    monkeypatch.setattr(reporter, "show", lambda done, what, rate: rates.append(rate))
    reporter.update(1.0, hops, "0 of 1 runs", "computing")
    assert rates == [said]


@pytest.mark.parametrize("command", [["check"], ["check", "--json"], ["run", "--no-report", "--json"]])
def test_the_search_for_warnings_says_that_it_goes_on(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It computes the routes of all pairs, which takes seconds in a large network."""
    for name, value in (("QUIET_S", 0), ("LINE_INTERVAL_S", 0.01), ("STATUS_INTERVAL_S", 0)):
        monkeypatch.setattr(f"anabranch.foundation.progress.{name}", value)

    def slow(case: Case) -> Iterator[Problem]:
        time.sleep(0.2)
        yield from ()

    monkeypatch.setattr(warnings, "RULES", (slow,))
    path = tmp_path / "x.toml"
    path.write_text(LINE)
    assert status([*command, str(path)]) == 0
    assert "computing routes of the traffic" in capsys.readouterr().err


def _share_done(order: list[int], part: float) -> float:
    """The share of virtual time in runs that have ended when this part of the work is done."""
    ends = list(accumulate(COSTS_S[index] for index in order))
    ended = [index for index, end in zip(order, ends, strict=True) if end <= part * ends[-1]]
    return sum(DURATIONS_S[index] for index in ended) / sum(DURATIONS_S)
