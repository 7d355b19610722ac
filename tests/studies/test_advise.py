"""Advice: judged by simulating all that it may choose from, and by what holds of any answer."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import cast

import numpy as np
import pytest

from anabranch import Scenario, cli
from anabranch.studies.advise import RESTRICTIONS, Question, advise
from anabranch.studies.advise.answer import network_of
from anabranch.studies.advise.candidates import Candidate, RoutingCandidate, routings
from anabranch.studies.advise.race import Race
from anabranch.studies.advise.surrogate import estimates
from anabranch.studies.advise.trials import PRICES, Laboratory, PredictedValue, Trial

DIAMOND = """\
[topology]
links = [
    {{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms", loss = {loss} }},
    {{ source = "B", target = "D", capacity = "10Mbps", delay = "5ms" }},
    {{ source = "A", target = "C", capacity = "10Mbps", delay = "{other}" }},
    {{ source = "C", target = "D", capacity = "10Mbps", delay = "{other}" }},
]

[[traffic]]
from = "A"
to = "D"
"""
STACKS = ("linux-cubic", "linux-bbr", "mprc")


def question(loss: float = 0.0, other: str = "7ms") -> Question:
    """Two disjoint paths from A to D."""
    return Question.of_scenario(Scenario.from_toml(DIAMOND.format(loss=loss, other=other)))


def all_values(asked: Question, seconds: float) -> dict[tuple[str, str], float]:
    """The goodput of every combination in long runs with seeds that the search does not use."""
    bare = Laboratory(asked.scenario({}, {}, "linux-cubic", "ospf"), "goodput")
    found = routings(*network_of(bare.compiled(1)))
    written = {one.name: dict(one.written) for one in found if one.name != "ospf"}
    scenario = asked.scenario({name: {"preset": name} for name in STACKS}, written, STACKS[0], "ospf")
    laboratory = Laboratory(scenario, "goodput")
    values = {}
    for stack in STACKS:
        for one in found:
            trials = [laboratory.run(stack, one.name, seed, seconds, Event()) for seed in (101, 102)]
            values[stack, one.name] = float(np.mean([trial.value for trial in trials if trial is not None]))
    return values


@pytest.mark.slow("simulates all combinations of two small networks")
@pytest.mark.parametrize(("loss", "other"), [(0.0, "7ms"), (0.01, "20ms")])
def test_the_best_has_at_least_95_percent_of_the_best_of_all_combinations(loss: float, other: str) -> None:
    asked = question(loss, other)
    truth = all_values(asked, 20)
    for only in ((), ("one-path",), ("routes",)):
        advice = advise(asked, only=only, stacks=STACKS, time_s=30)
        allowed = [
            value
            for (stack, name), value in truth.items()
            if not only or (stack == "linux-cubic" if only == ("routes",) else "paths" not in name)
        ]
        got = truth[advice.best.stack, advice.best.routing.name]
        assert got >= 0.95 * max(allowed), (only, advice.best.name, got, truth)


def test_each_line_keeps_its_restriction_and_none_is_better_than_the_best() -> None:
    advice = advise(question(), stacks=STACKS, time_s=5)
    sentences = dict(RESTRICTIONS.values())
    assert not advice.lines[0].restriction
    for line in advice.lines[1:]:
        assert sentences[line.restriction](line.best.candidate), line
    same = [line for line in advice.lines if line.best.seconds == advice.lines[0].best.seconds]
    assert max(line.best.value for line in same) <= advice.lines[0].best.value * 1.02
    assert advice.baseline is not None
    assert advice.times(advice.baseline) == 1


def test_restrictions_hold_together_and_nothing_left_is_an_error() -> None:
    advice = advise(question(), only=("linux", "no-bbr", "one-path"), time_s=3)
    assert all(RESTRICTIONS[name][1](advice.best) for name in ("linux", "no-bbr", "one-path"))
    with pytest.raises(ValueError, match="no stack and routing is allowed by routes together"):
        advise(question(), only=("routes",), stacks=("mprc",), time_s=1)
    with pytest.raises(ValueError, match=r'"moon" is no restriction; possible: linux, no-bbr'):
        advise(question(), only=("moon",))


def test_a_short_transfer_takes_the_path_of_least_delay() -> None:
    """10 kB are one window: a round trip of 28 ms by B and of 80 ms by C, where the loss of B hardly matters to one window."""
    asked = Question(
        question(0.001, "20ms").document | {"traffic": [{"from": "A", "to": "D", "size": "10kB"}]},
        Path(),
        "diamond",
        "completion",
    )
    advice = advise(asked, only=("one-path",), stacks=("linux-cubic",), time_s=5)
    assert 0.02 < 1 / advice.lines[0].best.value < 0.08
    assert advice.best.routing.routes == (((0, 1, 2),),)  # A, B, D


class TableLaboratory:
    """Values by a function of stack, routing and seed instead of runs; stacks in ``unknown`` are not predicted, after ``wait_s``."""

    is_rate = True

    def __init__(
        self, value: Callable[[str, str, int], float], unknown: Sequence[str] = (), wait_s: float = 0.0
    ) -> None:
        self.value, self.unknown, self.wait_s, self.tried = value, unknown, wait_s, set[tuple[str, str]]()

    def estimate(self, stack: str, routing: str, seconds: float) -> PredictedValue | None:
        if stack in self.unknown:
            time.sleep(self.wait_s)
            return None
        return PredictedValue(self.value(stack, routing, 0), 0.0, np.inf)

    def run(self, stack: str, routing: str, seed: int, seconds: float, stop: Event) -> Trial:
        self.tried.add((stack, routing))
        return Trial(self.value(stack, routing, seed), 1.0, dict.fromkeys(PRICES, 0.0))


def race_of(laboratory: TableLaboratory, candidates: Sequence[Candidate], time_s: float) -> Race:
    """A finished race of all candidates."""
    everything = {"": range(len(candidates))}
    race = Race(cast("Laboratory", laboratory), candidates, everything, 0.01, time_s, Event(), lambda text: None)
    race.run([0])
    return race


def test_luck_with_one_seed_does_not_win_over_more_seeds() -> None:
    """Forty candidates have 13 by their first seed and 9 by all others, more than the rounds can run again; one has 12 always."""
    routing = RoutingCandidate("hashed", {}, 2, "flow")
    stacks = [f"s{number}" for number in range(41)]

    def value(stack: str, routing: str, seed: int) -> float:
        return 12e6 if stack == "s0" else 13e6 if seed == 1 else 9e6

    race = race_of(TableLaboratory(value, stacks), [Candidate(stack, routing) for stack in stacks], 5)
    (_, best), *others = race.standings("")
    assert best.candidate.stack == "s0"
    assert len(best.trials) >= 4
    assert any(len(other.trials) == 1 and other.value > best.value for _, other in others)


def test_a_stack_that_is_slow_to_predict_leaves_time_for_others() -> None:
    """The slow stack comes first; 20 predictions of it would take 4 s of the 0.3 s that predictions have."""
    candidates = [
        Candidate(stack, RoutingCandidate(f"r{number}", {}, 1, "flow"))
        for number in range(20)
        for stack in ("slow", "quick")
    ]
    race = race_of(TableLaboratory(lambda stack, routing, seed: 1e6, ("slow",), 0.2), candidates, 3)
    assert all(race.predicted[number] is not None for number, one in enumerate(candidates) if one.stack == "quick")


def test_each_stack_that_is_not_predicted_is_tried_over_the_routing_of_the_leader() -> None:
    """The stack called odd has little on all routings but the leader's, where it is best: no sum of a stack's and a routing's factor says so."""
    routing = [RoutingCandidate(f"r{number}", {}, 2, "packet") for number in range(12)]
    candidates = [Candidate(stack, one) for one in routing for stack in ("a", "b", "odd")]

    def value(stack: str, routing: str, seed: int) -> float:
        good = routing == "r7"
        return (30e6 if good else 1e6) if stack == "odd" else (20e6 if good else 10e6)

    laboratory = TableLaboratory(value, ("b", "odd"))
    race = race_of(laboratory, candidates, 5)
    assert ("odd", "r7") in laboratory.tried
    assert race.standings("")[0][1].candidate == Candidate("odd", routing[7])


def test_the_regression_finds_the_factors_of_stacks_and_routings() -> None:
    """Of values that are products of a stack's and a routing's factor, half tell the median of the others to a fifth."""
    routing = [RoutingCandidate(f"r{number}", {}, 1, "flow") for number in range(6)]
    candidates = [Candidate(f"s{stack}", one) for one in routing for stack in range(6)]
    truth = np.array([(1 + int(one.stack[1])) * 2.0 ** int(one.routing.name[1]) for one in candidates])
    seen = {number: float(truth[number]) for number in range(len(candidates)) if (number // 6 + number % 6) % 2 == 0}
    expected, deviation = estimates(candidates, [None] * len(candidates), seen)
    error = np.abs(expected - np.log(truth))
    assert np.median(error) < 0.2
    assert (error < 3 * deviation).all()
    exact, _ = estimates(candidates, truth.tolist(), seen)
    assert np.allclose(exact, np.log(truth))


def test_the_answer_is_written_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "diamond.toml"
    file.write_text(DIAMOND.format(loss=0.0, other="7ms"))
    out = tmp_path / "advice"
    words = ["advise", str(file), "--stack", "linux-cubic", "--stack", "linux-bbr", "--time", "4s"]
    assert cli.status([*words, "--json", "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    best = document["answers"][0]["best"]
    assert {"stack", "routing", "goodput_bps", "times_baseline", "spurious"} <= best.keys()
    assert (out / "sysctl.conf").read_text().endswith(f"= {best['stack'].removeprefix('linux-')}\n")
    page = (out / "advice.html").read_text()
    assert f"Use {best['stack']} over " in page
    assert page.count("<svg") >= 1
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)  # it loads nothing
    routes = json.loads((out / "routes.json").read_text())["routes"]
    assert [(route["src"], route["dst"]) for route in routes] == [("A", "D")]
    result = Scenario.load(out / "advice.toml", {"run.duration": f"{best['seconds']}s", "run.seeds": "1"}).run()
    flows = result.flows.filter((result.flows["stack"] == best["stack"]) & (result.flows["routing"] == "advised"))
    assert flows["goodput_bps"].sum() == pytest.approx(best["goodput_bps"], rel=0.15)  # the first half counts here
    assert cli.status(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("Use linux-")
    assert "today: OSPF, linux-cubic" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tcpbp10"], "give either --pair FROM,TO or --demands FILE"),
        (["tcpbp10", "--pair", "1"], "--pair 1: must be two nodes with a comma"),
        (["tcpbp10", "--pair", "1,10", "--only", "moon"], "--only moon: must be one of linux, no-bbr"),
        (["tcpbp10", "--pair", "1,10", "--size", "1MB"], "--size and --objective completion go together"),
        (["tcpbp10", "--pair", "1,10", "--time", "soon"], "--time soon"),
        (["tcpbp10", "--pair", "1,10", "--flows", "0"], "--flows 0: must be at least 1"),
        (["scenarios/abilene.toml", "--pair", "1,10"], "is a scenario, which has its own traffic"),
    ],
)
def test_a_wrong_value_is_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.status(["advise", *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tcpbp10", "--pair", "1,11"], '"11"'),
        (["tcpbp10", "--pair", "1,10", "--stack", "cubik"], "cubik"),
        (["nowhere", "--pair", "1,10"], "nowhere"),
    ],
)
def test_what_is_not_in_the_network_is_named(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.status(["advise", *arguments]) == 1
    printed = capsys.readouterr().err
    assert said in printed
    assert "Traceback" not in printed


def test_ctrl_c_answers_by_what_is_known() -> None:
    words = [
        sys.executable,
        "-m",
        "anabranch",
        "advise",
        "tcpbp10",
        "--pair",
        "1,10",
        "--flows",
        "10",
        "--time",
        "30s",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        deadline = time.monotonic() + 90
        while "best so far" not in process.stderr.readline():
            assert time.monotonic() < deadline
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.startswith("Use ")
    assert "the search was interrupted" in out
