"""The search: short runs of many candidates, then longer runs with more seeds of the best of them."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from time import monotonic

import numpy as np

from anabranch.studies.advise.candidates import Candidate
from anabranch.studies.advise.surrogate import estimates
from anabranch.studies.advise.trials import Laboratory, PredictedValue, Trial

clock: Callable[[], float] = monotonic
"""Of the time that a search takes, seconds."""
ROUND_TRIPS = 100
"""The least length of a run."""
_SEGMENTS = 10_000
"""A run lasts until the best predicted goodput has sent this number. It takes milliseconds; chance decides about shorter runs."""
_SEGMENT_BITS = 12_000
_LEAST_S, _MOST_S = 0.05, 30.0
"""Bounds of the length of a run, seconds."""
_ALIKE = 0.02
"""Candidates whose values differ by at most this share are as good as each other."""
_HOPE = 0.5
"""Standard deviations by which a candidate may be better than the regression says."""
_AT_ONCE = 4
"""Hopeful candidates of a group that run before the regression is made anew."""
_ERROR_OF_ONE = 0.1
_STEADY = 0.05
"""Two halves of a run agree if they differ by at most this share."""
_PREDICTING, _EXPLORING = 0.2, 0.6
"""Shares of the time after which predictions, and then the first runs, end."""
_ROUNDS = ((0.35, 10, 1), (0.2, 6, 2), (0.1, 4, 4), (0.05, 3, 8), (0.05, 3, 16))
"""Of each round: how far below the best of its group a candidate may be, how many of them run, and with how many seeds."""


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
        """The candidates of a group by runs of equal length, best first: the longest of which the group has several, or any."""
        found: list[tuple[int, Standing]] = []
        for seconds in (self._lengths[group], self._lengths[group] / 2, self._least_s):
            found = [
                (one, self._standing(one, seconds)) for one in self.groups[group] if (one, seconds) in self._trials
            ]
            if len(found) >= min(2, len(self.groups[group])):
                break
        return sorted(found, key=lambda each: -each[1].value)

    def run(self, first: Sequence[int]) -> None:
        """Predict all, explore, then decide. The candidates in ``first`` run in any case."""
        end = self._begun + _PREDICTING * self._time_s
        # One path first: it is predicted fastest, and every restriction allows it to some stack.
        order = sorted(range(len(self.candidates)), key=lambda one: self.candidates[one].routing.paths)
        predicted: dict[int, PredictedValue | None] = {}
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            estimates_in_order = pool.map(lambda one: self._estimate(self.candidates[one], end), order)
            for one, estimate in zip(order, estimates_in_order, strict=True):
                predicted[one] = estimate
                self._say(f"{len(predicted)} of {len(self.candidates)} predicted")
        self.predicted = [predicted[one] for one in range(len(self.candidates))]
        self._lengthen()
        self._explore(first)
        for share, most, seeds in _ROUNDS:
            wanted: dict[tuple[int, int, float], None] = {}
            for group in self.groups:
                if self.is_over:
                    return
                leaders = self._leaders(group, share, most)
                if any(_grows(standing) for _, standing in leaders):
                    self._lengths[group] = min(_MOST_S, 2 * self._lengths[group])
                elif seeds > 4 and self._is_decided(group):
                    continue
                chosen = dict.fromkeys([*(one for one, _ in leaders), *first])
                wanted |= {(one, seed, self._lengths[group]): None for seed in range(1, seeds + 1) for one in chosen}
            if not wanted:
                break
            self._try(list(wanted))
        self.decided = not self.is_over and all(map(self._is_decided, self.groups))

    def _lengthen(self) -> None:
        """Longer first runs where the network is slow enough."""
        goodputs = [one.value for one in self.predicted if one is not None]
        if self._laboratory.is_rate and goodputs and max(goodputs) > 0:
            needed_s = round(_SEGMENTS * _SEGMENT_BITS / max(goodputs), 3)
            self._least_s = min(_MOST_S, max(self._least_s, needed_s))
            self._lengths = dict.fromkeys(self.groups, self._least_s)

    def _estimate(self, one: Candidate, end: float) -> PredictedValue | None:
        if self._stop.is_set() or clock() > end:
            return None
        return self._laboratory.estimate(one.stack, one.routing.name, self._least_s)

    def _explore(self, first: Sequence[int]) -> None:
        """Short runs, of what the regression over the others lets expect the most."""
        end = self._begun + _EXPLORING * self._time_s
        prior = [None if one is None else one.value for one in self.predicted]
        self._try([(one, 1, self._least_s) for one in self._spread(first)], end)
        while not self.is_over and clock() < end:
            seen = {one: trials[1].value for (one, _), trials in self._trials.items() if 1 in trials}
            if not seen:
                return
            expected, deviation = estimates(self.candidates, prior, seen)
            wanted: dict[tuple[int, int, float], None] = {}
            for group in self.groups.values():
                best = max((np.log(max(seen[one], 1e-9)) for one in group if one in seen), default=-np.inf)
                hopeful = [one for one in group if one not in seen and expected[one] + _HOPE * deviation[one] > best]
                hopeful.sort(key=lambda one: -(expected[one] + _HOPE * deviation[one]))
                wanted |= {(one, 1, self._least_s): None for one in hopeful[:_AT_ONCE]}
            if not wanted:
                return
            self._try(list(wanted), end)

    def _spread(self, first: Sequence[int]) -> list[int]:
        """Candidates so that each stack, routing, and way of a stack's spraying occurs; those predicted best before others.

        The best predicted of each group come first, so that a search that ends early has an answer for each.
        """
        values = [np.inf if one is None else one.value for one in self.predicted]
        known = [[one for one in group if self.predicted[one] is not None] for group in self.groups.values()]
        leading = [*first, *(max(group, key=values.__getitem__) for group in known if group)]
        chosen, met = list(dict.fromkeys(leading)), set[object]()
        for one in (*chosen, *np.argsort(-np.array(values), kind="stable").tolist()):
            candidate = self.candidates[one]
            way = candidate.routing.per if candidate.routing.paths > 1 else "one"
            keys: set[object] = {(self.predicted[one] is None, candidate.routing.name), (candidate.stack, way)}
            if not keys <= met and one not in chosen:
                chosen.append(one)
            met |= keys
        return chosen

    def _leaders(self, group: str, share: float, most: int) -> list[tuple[int, Standing]]:
        """The candidates that may be best of a group: by their values, and, if they still grow, by the values that they may reach."""
        standings = self.standings(group)
        best = max((standing.value for _, standing in standings), default=0.0)
        near = [each for each in standings if _hope(each[1]) >= best * (1 - share)]
        hopeful = sorted(near, key=lambda each: -_hope(each[1]))
        return list(dict([*near[:most], *hopeful[:most]]).items())

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
    """Mean and standard error of the paired differences over equal seeds, as shares of the best; of one seed, the error is a guess."""
    seeds = sorted(best.trials.keys() & other.trials.keys())
    paired = np.array([other.trials[seed].value - best.trials[seed].value for seed in seeds]) / (best.value or 1.0)
    if len(paired) < 2:
        return float(paired.mean()) if len(paired) else 0.0, _ERROR_OF_ONE
    return float(paired.mean()), float(paired.std(ddof=1) / np.sqrt(len(paired)))


def may_be_better(best: Standing, other: Standing) -> bool:
    """Whether another may be better by more than 2 %: the mean difference and two standard errors reach that."""
    mean, error = differences(best, other)
    return mean + 2 * error > _ALIKE


def is_alike(best: Standing, other: Standing) -> bool:
    """Whether another is as good: the mean differs by at most 2 %."""
    return abs(differences(best, other)[0]) <= _ALIKE


def _hope(standing: Standing) -> float:
    """The value that a candidate may have in longer runs, if it still grows."""
    return standing.value * min(3.0, max(1.0, standing.growth))


def _grows(standing: Standing) -> bool:
    """Whether the second halves have more than the first, by more than chance."""
    growths = [trial.growth for trial in standing.trials.values()]
    error = float(np.std(growths, ddof=1) / np.sqrt(len(growths))) if len(growths) > 1 else _STEADY
    return standing.growth - 1 > max(_STEADY, 2 * error)
