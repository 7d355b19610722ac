"""The answer: what to do, what it is worth, what is as good, and what is left open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from anabranch.engineering.routes.search import Search
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.network.topologies import Link, Node, Topology
from anabranch.results.statistics import student_t
from anabranch.studies.advise.candidates import (
    DEFAULT_ROUTING,
    DEFAULT_STACK,
    RESTRICTIONS,
    STACKS,
    Candidate,
    routings,
)
from anabranch.studies.advise.question import Question
from anabranch.studies.advise.race import Race, Standing, is_alike, may_be_better
from anabranch.studies.advise.trials import Laboratory, PredictedValue

CONFIDENCE = 0.9
"""Of the intervals of values."""
OTHER_SEEDS = 20
"""An interval is for their mean."""
_ALL = ""
"""The group of all candidates."""


@dataclass(frozen=True)
class Line:
    """The best under a restriction."""

    restriction: str
    best: Standing
    alike: Sequence[Standing]
    """Others within 2 % of it."""
    undecided: Sequence[Standing]
    """Others that may be better by more, after as many seeds."""


@dataclass(frozen=True)
class Advice:
    """What is best for a question, best of all and under each restriction."""

    question: Question
    lines: Sequence[Line]
    """The first is without a restriction beyond the question's own."""
    baseline: Standing | None
    """Linux's CUBIC over the routes of OSPF, if it is allowed."""
    standings: Sequence[Standing]
    """All that ran, best first."""
    untried: Sequence[tuple[Candidate, PredictedValue | None]]
    """What did not run, with its prediction, and might still win."""
    candidates: int
    runs: int
    virtual_s: float
    decided: bool
    """Whether, under each restriction, no other is better than the best by more than 2 %."""
    timed_out: bool
    interrupted: bool
    topology: Topology
    """With every delay, capacity and loss, as the runs have them."""
    pairs: Sequence[tuple[str, str]]

    @property
    def best(self) -> Candidate:
        """The best of all."""
        return self.lines[0].best.candidate

    def times(self, standing: Standing) -> float | None:
        """How many times the baseline's value a standing has."""
        return standing.value / self.baseline.value if self.baseline is not None and self.baseline.value > 0 else None

    def interval(self, standing: Standing) -> tuple[float, float] | None:
        """The 90 % interval of the mean of 20 other seeds, by Student's t; ``None`` for one seed.

        The other seeds' mean deviates too: the variance of the difference of two means is the sum of theirs.
        """
        values = np.array([trial.value for trial in standing.trials.values()])
        if len(values) < 2:
            return None
        margin = float(
            student_t(len(values) - 1, CONFIDENCE) * values.std(ddof=1) * np.sqrt(1 / len(values) + 1 / OTHER_SEEDS)
        )
        return float(values.mean()) - margin, float(values.mean()) + margin

    def scenario_document(self) -> dict[str, Any]:
        """The scenario of the answer beside the baseline, to run by any engine."""
        best = self.best
        stacks = {one.stack: STACKS.get(one.stack, {"preset": one.stack}) for one in (best,)}
        stacks |= {DEFAULT_STACK: {"preset": DEFAULT_STACK}}
        routing = {"advised": dict(best.routing.written)}
        chosen = list(dict.fromkeys([best.stack, DEFAULT_STACK]))
        document = self.question.scenario(stacks, routing, best.stack, "advised").document
        traffic = [
            group | {"routing": ["advised", DEFAULT_ROUTING]} | ({"stack": chosen} if "stack" in group else {})
            for group in document["traffic"]
        ]
        return document | {"traffic": traffic, "run": {"duration": f"{self.lines[0].best.seconds:g}s", "seeds": 4}}


def advise(
    question: Question,
    *,
    only: Sequence[str] = (),
    stacks: Sequence[str] | None = None,
    time_s: float = 60.0,
    stop: Event | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Advice:
    """Find the stack and the routing that serve a question best.

    ``only`` restricts what may be chosen (:data:`RESTRICTIONS`); ``stacks`` are presets instead of :data:`STACKS`. The search ends once it is
    decided, after ``time_s`` seconds, or by ``stop``; it then answers by what it knows.

    Raises:
        ScenarioError: names what is wrong in the network or the traffic.
        ValueError: an unknown restriction, or restrictions that leave nothing to choose.
    """
    unknown = [name for name in only if name not in RESTRICTIONS]
    if unknown:
        raise ValueError(f'"{unknown[0]}" is no restriction; possible: {", ".join(RESTRICTIONS)}')
    written = {name: STACKS.get(name, {"preset": name}) for name in stacks or STACKS}
    first = next(iter(written))
    stop = stop or Event()
    bare = Laboratory(question.scenario(written, {}, first, DEFAULT_ROUTING), question.objective)
    topology, pairs, flows = network_of(bare.compiled(1))
    found = routings(topology, pairs, flows)
    allowed = [Candidate(stack, routing) for routing in found for stack in written]
    allowed = [one for one in allowed if all(RESTRICTIONS[name][1](one) for name in only)]
    if not allowed:
        raise ValueError(f"no stack and routing is allowed by {', '.join(only)} together")
    used = {one.routing.name: dict(one.routing.written) for one in allowed if one.routing.name != DEFAULT_ROUTING}
    laboratory = Laboratory(question.scenario(written, used, first, DEFAULT_ROUTING), question.objective)
    groups = {_ALL: list(range(len(allowed)))} | {
        name: [number for number, one in enumerate(allowed) if holds(one)]
        for name, (_, holds) in RESTRICTIONS.items()
        if name not in only
    }
    groups = {name: group for name, group in groups.items() if group and (name == _ALL or len(group) < len(allowed))}
    race = Race(laboratory, allowed, groups, round_trip(topology, pairs), time_s, stop, say)
    baseline = [n for n, one in enumerate(allowed) if (one.stack, one.routing.name) == (DEFAULT_STACK, DEFAULT_ROUTING)]
    race.run(baseline)
    lines = [line for name in groups if (line := _line(race, name)) is not None]
    if not lines:
        raise ValueError("the search was stopped before a run had ended")
    ran = [standing for number in range(len(allowed)) if (standing := race.standing(number)) is not None]
    best = lines[0].best.value
    untried = [
        (allowed[number], race.predicted[number]) for number in range(len(allowed)) if race.standing(number) is None
    ]
    return Advice(
        question,
        lines,
        race.standing(baseline[0]) if baseline else None,
        sorted(ran, key=lambda standing: -standing.value),
        [(one, estimate) for one, estimate in untried if estimate is None or estimate.high >= best],
        len(allowed),
        race.runs,
        race.virtual_s,
        race.decided,
        race.is_over and not stop.is_set(),
        stop.is_set(),
        topology,
        pairs,
    )


def _line(race: Race, name: str) -> Line | None:
    standings = [standing for _, standing in race.standings(name)]
    if not standings:
        return None
    best, *others = standings
    alike = [other for other in others if is_alike(best, other)]
    undecided = [other for other in others if other not in alike and may_be_better(best, other)]
    return Line(RESTRICTIONS[name][0] if name else "", best, alike, undecided)


def network_of(spec: dict[str, Any]) -> tuple[Topology, list[tuple[str, str]], int]:
    """The topology of a compiled run with all attributes, its pairs with traffic, and the most flows of a pair."""
    nodes: list[str] = spec["nodes"]
    links = [
        Link(
            nodes[link["src"]],
            nodes[link["dst"]],
            link["rate"],
            max(link["delay"], 1) / PICOSECONDS_PER_SECOND,
            None,
            (link.get("loss") or {}).get("ratio", 0.0),
            link["cost"],
        )
        for link in spec["links"]
    ]
    topology = Topology("network", tuple(map(Node, nodes)), tuple(links), in_parts=True)
    pairs = dict.fromkeys((nodes[a], nodes[b]) for group in spec["traffic"] for a, b in group["pairs"])
    return topology, list(pairs), max(group["flows_per_pair"] for group in spec["traffic"])


def round_trip(topology: Topology, pairs: Sequence[tuple[str, str]]) -> float:
    """Half as long again as the longest round trip over paths of least delay, seconds: other paths are longer."""
    routes = Search(topology).routes("delay", list(dict.fromkeys(pair[0] for pair in pairs)))
    wanted = set(pairs)
    delays = [
        path.delay_s or 0.0 for route in routes.routes if (route.source, route.target) in wanted for path in route.paths
    ]
    return 3 * max(delays, default=0.0)
