"""The search: short runs of many candidates, then longer runs with more seeds of the best of them."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event, Lock
from time import monotonic

import numpy as np

from anabranch.studies.advise.candidates import Candidate
from anabranch.studies.advise.surrogate import estimates
from anabranch.studies.advise.trials import Laboratory, PredictedValue, Trial

clock: Callable[[], float] = monotonic
"""Of the time that a search takes, seconds."""
ROUND_TRIPS = 100
"""The least length of a run."""
_SEGMENTS = 50_000
"""A run lasts until the best predicted goodput has sent this number. It takes some 20 ms; slow growth and chance decide about shorter runs."""
_SEGMENT_BITS = 12_000
_LEAST_S, _MOST_S = 0.05, 30.0
"""Bounds of the length of a run, seconds."""
_ALIKE = 0.02
"""Candidates whose values differ by at most this share are as good as each other."""
_HOPE = 0.5
"""Standard deviations by which a candidate may be better than the regression says."""
_AT_ONCE = 4
"""Hopeful candidates that run before the regression is made anew; of groups besides the first, half as many."""
_IDLE = 3
"""Steps of exploring in which no group gets a better leader, after which exploring ends."""
_SPREAD, _SPREAD_OF_HASHES = 0.1, 0.2
"""What the standard deviation of paired differences is before two seeds have run: a guess, which counts as one seed more."""
_SEEDS = 4
"""The least seeds of an answer: its interval comes from them."""
_DOUBT = 1.3
"""Standard errors by which a candidate may be better than its mean to get more seeds."""
_STEADY = 0.05
"""Two halves of a run agree if they differ by at most this share."""
_PREDICTING, _EXPLORING = 0.1, 0.6
"""Shares of the time after which predictions, and then the first runs, end."""
_ROUNDS = ((8, 2), (5, 4), (3, 8), (2, 16))
"""Of each round: how many candidates of the first group run that may be its best, and with how many seeds; of other groups, half as many."""


@dataclass(frozen=True)
class Standing:
    """What is known of a candidate that ran: its trials by seed, of the longest runs."""

    candidate: Candidate
    trials: Mapping[int, Trial]
    seconds: float

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(np.mean([trial.value for trial in self.trials.values()]))

    @property
    def growth(self) -> float:
        """How many times the second half of the runs has what the first half has, in the mean."""
        return float(np.mean([trial.growth for trial in self.trials.values()]))

    def price(self, name: str) -> float:
        """The mean of a price over seeds."""
        return float(np.mean([trial.price[name] for trial in self.trials.values()]))


class Race:
    """Runs until the order within each group is decided, or the time is over."""

    def __init__(
        self,
        laboratory: Laboratory,
        candidates: Sequence[Candidate],
        groups: Mapping[str, Sequence[int]],
        round_trip_s: float,
        time_s: float,
        stop: Event,
        say: Callable[[str], None],
    ) -> None:
        """``groups`` are the numbers of candidates whose best is asked for; the first has all."""
        self._laboratory, self.candidates, self.groups = laboratory, candidates, groups
        self._least_s = min(_MOST_S, max(_LEAST_S, ROUND_TRIPS * round_trip_s))
        self._lengths = dict.fromkeys(groups, self._least_s)
        self._seeds = dict.fromkeys(groups, 1)
        self._begun, self._time_s, self._stop, self._say = clock(), time_s, stop, say
        self._halt = Event()
        self._trials: dict[tuple[int, float], dict[int, Trial]] = {}
        self.predicted: Sequence[PredictedValue | None] = ()
        self.runs = 0
        self.virtual_s = 0.0
        self.decided = False

    @property
    def is_over(self) -> bool:
        """Whether a stop was asked for, or the time is over and one run has ended at least. Runs then end."""
        is_late = clock() - self._begun > self._time_s
        if self._stop.is_set() or (is_late and self.runs):
            self._halt.set()
        return self._halt.is_set()

    def standing(self, one: int) -> Standing | None:
        """What the longest runs of a candidate have shown; ``None`` if it has not run."""
        lengths = [seconds for number, seconds in self._trials if number == one]
        return self._standing(one, max(lengths)) if lengths else None

    def _standing(self, one: int, seconds: float) -> Standing:
        return Standing(self.candidates[one], self._trials[one, seconds], seconds)

    def standings(self, group: str) -> list[tuple[int, Standing]]:
        """The candidates of a group by runs of equal length: the longest of which the group has several, or any.

        The first is the best of the last round. One with fewer seeds may have a greater mean by luck, if these seeds suit its hash. The others follow
        by their means.
        """
        found: list[tuple[int, Standing]] = []
        for seconds in (self._lengths[group], self._lengths[group] / 2, self._least_s):
            found = [
                (one, self._standing(one, seconds)) for one in self.groups[group] if (one, seconds) in self._trials
            ]
            if len(found) >= min(2, len(self.groups[group])):
                break
        last = self._seeds[group]
        found.sort(key=lambda each: -each[1].value)
        best = next((each for each in found if len(each[1].trials) >= last), None)
        return [best, *(each for each in found if each is not best)] if best else found

    def run(self, first: Sequence[int]) -> None:
        """Predict all, explore, then decide. The candidates in ``first`` run in any case."""
        self._predict(self._begun + _PREDICTING * self._time_s)
        self._lengthen()
        self._explore(first)
        for most, seeds in _ROUNDS:
            wanted: dict[tuple[int, int, float], None] = {}
            rounds: list[str] = []
            for number, group in enumerate(self.groups):
                if self.is_over:
                    return
                leaders = self._leaders(group, most // 2 if number else most)
                if any(_grows(standing) for _, standing in leaders):
                    self._lengths[group] = min(_MOST_S, 2 * self._lengths[group])
                elif len(leaders) < 2 and seeds > _SEEDS:
                    continue
                chosen = dict.fromkeys([*(one for one, _ in leaders), *first])
                wanted |= {(one, seed, self._lengths[group]): None for seed in range(1, seeds + 1) for one in chosen}
                rounds.append(group)
            if not wanted:
                break
            self._try(list(wanted))
            if not self.is_over:
                self._seeds |= dict.fromkeys(rounds, seeds)
        self.decided = not self.is_over and all(map(self._is_decided, self.groups))

    def _lengthen(self) -> None:
        """Longer first runs where the network is slow enough."""
        goodputs = [one.value for one in self.predicted if one is not None]
        if self._laboratory.is_rate and goodputs and max(goodputs) > 0:
            needed_s = round(_SEGMENTS * _SEGMENT_BITS / max(goodputs), 3)
            self._least_s = min(_MOST_S, max(self._least_s, needed_s))
            self._lengths = dict.fromkeys(self.groups, self._least_s)

    def _predict(self, end: float) -> None:
        """Predictions, until the time is over. Each stack has an equal share of it, as some take a hundred times as long as others."""
        predicted: list[PredictedValue | None] = [None] * len(self.candidates)
        left: dict[str, list[int]] = {}
        for one in sorted(range(len(predicted)), key=lambda one: _effort(self.candidates[one]), reverse=True):
            left.setdefault(self.candidates[one].stack, []).append(one)
        spent = dict.fromkeys(left, 0.0)

        def work() -> None:
            while not self._stop.is_set() and clock() < end:
                with lock:
                    stack = min((stack for stack in left if left[stack]), key=spent.__getitem__, default=None)
                    if stack is None:
                        return
                    one = left[stack].pop()
                begun = clock()
                predicted[one] = self._laboratory.estimate(stack, self.candidates[one].routing.name, self._least_s)
                with lock:
                    spent[stack] += clock() - begun
                    self._say(f"{len(predicted) - sum(map(len, left.values()))} of {len(predicted)} predicted")

        lock, workers = Lock(), os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            for job in [pool.submit(work) for _ in range(workers)]:
                job.result()
        self.predicted = predicted

    def _explore(self, first: Sequence[int]) -> None:
        """Short runs, of what the regression over the others lets expect the most."""
        end = self._begun + _EXPLORING * self._time_s
        prior = [None if one is None else one.value for one in self.predicted]
        self._try([(one, 1, self._least_s) for one in self._spread(first)], end)
        idle, bests = 0, dict.fromkeys(self.groups, 0.0)
        while not self.is_over and clock() < end and idle < _IDLE:
            seen = {one: trials[1].value for (one, _), trials in self._trials.items() if 1 in trials}
            if not seen:
                return
            expected, deviation = estimates(self.candidates, prior, seen)
            wanted: dict[tuple[int, int, float], None] = {}
            idle += 1
            for number, (name, group) in enumerate(self.groups.items()):
                ran = [one for one in group if one in seen]
                leader = max(ran, key=seen.__getitem__, default=None)
                if leader is None:
                    continue
                if seen[leader] > bests[name] * (1 + _ALIKE):
                    idle, bests[name] = 0, seen[leader]
                hope = dict(zip(group, (expected + _HOPE * deviation)[list(group)].tolist(), strict=True))
                # A regression without interactions may be wrong about a stack that is not predicted: it is tried over the leader's routing.
                crossing = {one for one in group if self._crosses(one, leader) and not number}
                least = np.log(max(seen[leader], 1e-9))
                hopeful = [one for one in group if one not in seen and (one in crossing or hope[one] > least)]
                hopeful.sort(key=lambda one: (one not in crossing, -hope[one]))
                wanted |= {(one, 1, self._least_s): None for one in hopeful[: _AT_ONCE // 2 if number else _AT_ONCE]}
            if not wanted:
                return
            self._try(list(wanted), end)

    def _crosses(self, one: int, leader: int) -> bool:
        return self.predicted[one] is None and self.candidates[one].routing == self.candidates[leader].routing

    def _spread(self, first: Sequence[int]) -> list[int]:
        """The best predicted of each group, so that a search that ends early has an answer for each, and some that are not predicted.

        Of these, each routing and each stack with each way to choose a path occurs, in as few candidates as possible.
        """
        values = [np.inf if one is None else one.value for one in self.predicted]
        known = [[one for one in group if self.predicted[one] is not None] for group in self.groups.values()]
        leading = [*first, *(max(group, key=values.__getitem__) for group in known if group)]
        chosen, met = list(dict.fromkeys(leading)), set[object]()
        unknown = [one for one, estimate in enumerate(self.predicted) if estimate is None]
        for news in (2, 1):
            for one in unknown:
                candidate = self.candidates[one]
                keys: set[object] = {candidate.routing.name, (candidate.stack, candidate.routing.way)}
                if len(keys - met) >= news:
                    chosen.append(one)
                    met |= keys
        return chosen

    def _leaders(self, group: str, most: int) -> list[tuple[int, Standing]]:
        """The best of a group, and candidates that may be: by their values, and, if they still grow, by the values that they may reach."""
        standings = self.standings(group)
        if not standings:
            return []
        best, *others = standings
        near = [each for each in others if may_be_better(best[1], each[1], _DOUBT) or _hope(each[1]) > _hope(best[1])]
        near.sort(key=lambda each: -_hope(each[1]))
        return [best, *near[: most - 1]]

    def _is_decided(self, group: str) -> bool:
        """Whether, by paired differences over equal seeds, no other is better than the best by more than 2 %."""
        standings = [standing for _, standing in self.standings(group)]
        return not any(may_be_better(standings[0], other) for other in standings[1:])

    def _try(self, wanted: Sequence[tuple[int, int, float]], end: float | None = None) -> None:
        """Run candidates, each with a seed and a length in seconds, one per core at a time, until the time is over."""
        missing = [run for run in wanted if run[1] not in self._trials.get((run[0], run[2]), {})]
        queue, done, workers = iter(missing), 0, os.cpu_count() or 1
        pending: dict[Future[Trial | None], tuple[int, int, float]] = {}
        with ThreadPoolExecutor(workers) as pool:
            while True:
                while len(pending) < workers and not self.is_over and not (end and self.runs and clock() > end):
                    run = next(queue, None)
                    if run is None:
                        break
                    one, seed, seconds = run
                    tried = self.candidates[one]
                    job = pool.submit(self._laboratory.run, tried.stack, tried.routing.name, seed, seconds, self._halt)
                    pending[job] = run
                if not pending:
                    return
                for job in wait(pending, timeout=0.1, return_when=FIRST_COMPLETED).done:
                    one, seed, seconds = pending.pop(job)
                    trial = job.result()
                    done += 1
                    if trial is not None:
                        self.runs += 1
                        self.virtual_s += seconds
                        self._trials.setdefault((one, seconds), {})[seed] = trial
                self._say(self._status(done, len(missing)))

    def _status(self, done: int, of: int) -> str:
        standings = self.standings(next(iter(self.groups)))
        best = f", best so far: {standings[0][1].candidate.name}" if standings else ""
        left = max(0.0, self._time_s - (clock() - self._begun))
        return f"{done} of {of} runs{best}, at most {left:.0f} s left"


def differences(best: Standing, other: Standing) -> tuple[float, float]:
    """Mean and standard error of the paired differences over equal seeds, as shares of the best.

    The guess of their deviation counts as one seed: two seeds that differ alike by chance decide nothing.
    """
    seeds = sorted(best.trials.keys() & other.trials.keys())
    paired = np.array([other.trials[seed].value - best.trials[seed].value for seed in seeds]) / (best.value or 1.0)
    guess = _SPREAD_OF_HASHES if best.candidate.routing.is_hashed or other.candidate.routing.is_hashed else _SPREAD
    if not len(paired):
        return other.value / (best.value or 1.0) - 1, guess
    variance = (guess**2 + len(paired) * paired.var()) / len(paired)
    return float(paired.mean()), float(np.sqrt(variance / len(paired)))


def may_be_better(best: Standing, other: Standing, errors: float = 2.0) -> bool:
    """Whether another may be better by more than 2 %: the mean difference and some standard errors reach that."""
    mean, error = differences(best, other)
    return mean + errors * error > _ALIKE


def is_alike(best: Standing, other: Standing) -> bool:
    """Whether another is as good: the mean differs by at most 2 %."""
    return abs(differences(best, other)[0]) <= _ALIKE


def _effort(one: Candidate) -> tuple[int, int]:
    """The order of predictions by how long they take: the way to choose a path, then the number of paths."""
    return ("one", "packet", "flowlet", "flow").index(one.routing.way), one.routing.paths


def _hope(standing: Standing) -> float:
    """The value that a candidate may have in longer runs, if it still grows."""
    return standing.value * min(3.0, max(1.0, standing.growth))


def _grows(standing: Standing) -> bool:
    """Whether the second halves have more than the first, by more than chance."""
    growths = [trial.growth for trial in standing.trials.values()]
    error = float(np.std(growths, ddof=1) / np.sqrt(len(growths))) if len(growths) > 1 else _STEADY
    return standing.growth - 1 > max(_STEADY, 2 * error)
