"""The search: random choices on the training cases, the best of them on more runs, the last on cases not seen before."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random
from statistics import fmean
from typing import Any

from validation.fast_rto.cases import Case, random_cases, thesis
from validation.fast_rto.runs import Outcome, run
from validation.work import in_parallel

TRAINING_SEED, HELD_OUT_SEED, DESIGN_SEED = 1, 2, 3
GROWTHS = ("newreno", "cubic")

Choice = Mapping[str, float]


@dataclass(frozen=True)
class Finalist:
    """A choice with its scores in training."""

    choice: Choice
    score: float
    on_thesis: float
    """The score on the thesis' cases alone."""


CHOICES: Mapping[str, Sequence[float]] = {
    "gamma": (1.1, 1.25, 1.5, 2.0, 3.0, 5.0),
    "srtt_factor": (0.5, 0.7, 0.8, 0.85, 0.9, 0.95),
    "rttvar_factor": (0.5, 0.6, 0.7, 0.8, 0.9),
    "k": (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0),
    "k_diversity": (0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0),
}
"""The values to draw from; k_diversity is zero in two draws of seven."""
_NEAR = (
    (2.0, 0.85, 0.7, 4.0, 1.5),
    (2.0, 0.85, 0.7, 6.0, 1.5),
    (2.0, 0.85, 0.7, 4.0, 3.0),
    (2.0, 0.85, 0.7, 2.0, 2.0),
    (2.0, 0.85, 0.7, 9.0, 0.0),
    (2.0, 0.8, 0.7, 6.0, 3.0),
    (2.5, 0.85, 0.7, 4.0, 2.0),
    (2.5, 0.85, 0.7, 6.0, 0.0),
    (3.0, 0.85, 0.7, 4.0, 2.0),
    (3.0, 0.8, 0.7, 4.0, 0.0),
    (1.5, 0.85, 0.7, 6.0, 3.0),
)
NEAR: tuple[Choice, ...] = tuple(dict(zip(CHOICES, values, strict=True)) for values in _NEAR)
"""Round values near the best of a first search, as the thesis asks; the defaults are one of them."""
SENSITIVITY: Mapping[str, Sequence[float]] = {
    **{name: tuple(dict.fromkeys(values)) for name, values in CHOICES.items()},
    "max_rto": (250, 500, 1000, 2000),
}
"""One parameter at a time, around the choice; max_rto in ms."""
RFC_6298 = {"gamma": 1.5, "srtt_factor": 7 / 8, "rttvar_factor": 3 / 4, "k": 4.0, "k_diversity": 0.0}


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    random_cases: int
    draws: int
    finalists: int
    seeds: int

    @classmethod
    def of(cls, quick: bool) -> "Effort":
        """A few minutes for `quick`, otherwise some ten minutes on one core."""
        return cls(4, 6, 2, 1) if quick else cls(16, 40, 6, 2)


def follows_thesis(choice: Choice) -> bool:
    """Whether the factors are below RFC 6298's, as the thesis asks."""
    return choice["srtt_factor"] < 7 / 8 and choice["rttvar_factor"] < 3 / 4


def fast_rto(choice: Choice, growth: str = "newreno") -> dict[str, Any]:
    """A stack with FastRTO of these parameters."""
    numbers: dict[str, Any] = {name: value for name, value in choice.items() if name != "max_rto"}
    if "max_rto" in choice:
        numbers["max_rto"] = f"{choice['max_rto']:g}ms"
    return {"preset": "mprc", "congestion": growth, "detection": {"name": "fast-rto", **numbers}}


def training(effort: Effort) -> tuple[Case, ...]:
    """The thesis' cases and random ones."""
    return thesis() + random_cases(effort.random_cases, TRAINING_SEED)


def held_out(effort: Effort) -> tuple[Case, ...]:
    """Random cases of other topologies, pairs and rates than in training."""
    return random_cases(effort.random_cases, HELD_OUT_SEED)


def draw(count: int) -> list[Choice]:
    """Random choices, no two the same."""
    random = Random(DESIGN_SEED)
    drawn: list[Choice] = []
    while len(drawn) < count:
        choice = {name: random.choice(values) for name, values in CHOICES.items()}
        if choice not in drawn:
            drawn.append(choice)
    return drawn


def evaluate(
    label: str, stacks: Sequence[Mapping[str, Any]], cases: Sequence[Case], seeds: Sequence[int]
) -> list[list[Outcome]]:
    """For each stack its outcomes, by case and then seed."""
    jobs: list[Callable[[], Outcome]] = [partial(run, *job) for job in product(cases, stacks, seeds)]
    outcomes = in_parallel(label, jobs)
    by_stack: list[list[Outcome]] = [[] for _ in stacks]
    for (_, index, _), outcome in zip(product(cases, range(len(stacks)), seeds), outcomes, strict=True):
        by_stack[index].append(outcome)
    return by_stack


def score(outcomes: Sequence[Outcome]) -> float:
    """The mean over cases and seeds."""
    return fmean(outcome.score for outcome in outcomes)


def search(effort: Effort, current: Choice) -> list[Finalist]:
    """The finalists, best first. Some follow the thesis, others do not."""
    cases = training(effort)
    drawn = [current, RFC_6298]
    drawn += [choice for choice in (*NEAR[: effort.draws], *draw(effort.draws)) if choice not in drawn]
    first = evaluate("FastRTO, drawn", [fast_rto(choice) for choice in drawn], cases, [1])
    ranked = sorted(zip(drawn, map(score, first), strict=True), key=lambda pair: -pair[1])
    finalists = [pair[0] for pair in ranked if follows_thesis(pair[0])][: effort.finalists]
    finalists += [pair[0] for pair in ranked if not follows_thesis(pair[0])][: effort.finalists // 2]
    finalists += [choice for choice in (current, RFC_6298) if choice not in finalists]
    stacks = [fast_rto(choice, growth) for choice in finalists for growth in GROWTHS]
    results = evaluate("FastRTO, finalists", stacks, cases, [2])
    rated = []
    for index, choice in enumerate(finalists):
        own = results[index * len(GROWTHS) : (index + 1) * len(GROWTHS)]
        on_thesis = fmean(score(outcomes[: len(thesis())]) for outcomes in own)
        rated.append(Finalist(choice, fmean(map(score, own)), on_thesis))
    return sorted(rated, key=lambda finalist: -finalist.score)
