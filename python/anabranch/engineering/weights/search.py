"""WeightSearch for OSPF weights: simulated annealing over the weights at which traffic moves.

A link's weight matters only where it makes a path as short as another. So a step changes one weight to such a value, or to one more or
less: traffic leaves the link, shares it with another path, or joins it. Most steps begin at a link of the greatest load. Rounds begin hot,
and from the best weights or from the first ones in turn.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays, Rerouted, RoutedTraffic
from anabranch.foundation.array_types import Floats, Integers

Report = Callable[[float, int], None]
"""Takes the least maximum utilisation so far, and how many weights were tried."""

_TRIES = 2000
"""Steps of a round."""
_HEATS = (0.02, 0.5, 0.1)
"""How much more cost a step may make at the beginning of a round, about, relative to the lower bound."""
_ACTIVE, _SLICES = 8, 8
"""How many of the heaviest cases come into the search at a time, and into how many parts its time is split while it bears not all."""
GAP = 1e-3
"""The gap to the lower bound, relative to it, at which the search ends."""
_CROWDED, _CROWDING = 0.6, 0.02
"""Links above this share of the lower bound add a little to the cost, so that a step can be better without a lower maximum."""
_WITHOUT_FAILURE = 0.005
"""How much of the greatest load without failures is added, where there are failures."""
_AT_THE_TOP, _NEAR_THE_TOP = 0.6, 0.97


@dataclass(frozen=True, eq=False)
class SearchEnd:
    """The end of a search."""

    weights: Floats
    tries: int
    interrupted: bool


class WeightSearch:
    """One search. It holds the traffic of the heaviest cases under the present weights; a case is a matrix after a failure, or after none."""

    def __init__(
        self,
        links: LinkArrays,
        rates: Floats,
        down: Sequence[Integers],
        bounds: tuple[float, float],
        largest: int,
        seed: int,
    ) -> None:
        """``rates`` (matrices, nodes, nodes) in bit/s; ``down`` the failed links of each state, of the first none.

        ``bounds`` are lower bounds on the maximum utilisation of all states, and of the first.
        """
        bound = bounds[0]
        self._links, self._rates, self._down, self._bound, self._largest = links, rates, down, bound, largest
        self._random = np.random.default_rng(seed)
        self._scale = links.network.capacity * bound
        self._cases = [(state, matrix) for state in range(len(down)) for matrix in range(len(rates))]
        self._whole = len(rates)
        self._whole_bound = bounds[1] / bound
        self._active: set[int] = set()
        self.tries = 0

    def run(self, starts: Sequence[Floats], limit_s: float, gap: float, report: Report) -> SearchEnd:
        """The best weights found from the best of some, until the time is up, Ctrl-C, or the lower bound is close."""
        began = time.monotonic()
        self._gap = gap
        first = min(starts, key=lambda weights: self._score(self._all(weights)))
        peaks = self._all(first)
        best, least, end, interrupted, rounds = first.copy(), self._score(peaks), self._end(), False, 0
        light, highest = best, float(peaks.max())
        try:
            while least > end and time.monotonic() - began < limit_s:
                self._begin(best if rounds % 2 or not rounds else first)
                heat = _HEATS[rounds % len(_HEATS)]
                rounds += 1
                all_active = len(self._active) == len(self._cases)
                until = limit_s if all_active else time.monotonic() - began + limit_s / _SLICES
                light, score = self.weights.copy(), self._score(self._active_peaks())
                for step in range(_TRIES):
                    elapsed = (time.monotonic() - began) / min(limit_s, until)
                    if elapsed >= 1 or score <= end:
                        break
                    if self._step(heat * (1 - max(step / _TRIES, elapsed)) ** 2):
                        found = self._score(self._active_peaks())
                        if found < score:
                            light, score = self.weights.copy(), found
                            highest = min(highest, self._peak()) if all_active else highest
                    report(highest * self._bound, self.tries)
                everywhere = self._all(light)
                self._activate(everywhere)
                if self._score(everywhere) < least:
                    best, least, highest = light, self._score(everywhere), float(everywhere.max())
        except KeyboardInterrupt:
            interrupted = True
            if self._score(self._all(light)) < least:
                best = light
        return SearchEnd(best, self.tries, interrupted)

    def _all(self, weights: Floats) -> Floats:
        """The maximum utilisation of each case, relative to the lower bound."""
        peaks = []
        for down in self._down:
            up = weights.copy()
            up[down] = np.inf
            paths = EqualCostPaths.of(self._links, up, np.arange(self._links.nodes))
            for one in self._rates:
                peaks.append(float((paths.flows(one[None])[0].sum(axis=-1) / self._scale).max()))
        return np.array(peaks)

    def _score(self, peaks: Floats) -> float:
        """What the best weights have the least of: the greatest load, then that without failures. Closer than the gap counts nothing."""
        least = max(float(peaks.max()), 1 + self._gap)
        return least + self._added * max(float(peaks[: self._whole].max()), self._whole_bound * (1 + self._gap))

    def _end(self) -> float:
        """The least score."""
        return (1 + self._gap) * (1 + self._added * self._whole_bound)

    @property
    def _added(self) -> float:
        return _WITHOUT_FAILURE if len(self._down) > 1 else 0.0

    def _active_peaks(self) -> Floats:
        """Of each case, 0 where the search does not bear it."""
        peaks = np.zeros(len(self._cases))
        peaks[sorted(self._active)] = self._peaks
        return peaks

    def _activate(self, peaks: Floats) -> None:
        """Have the search bear the heaviest cases, and the heaviest without failures."""
        for some in (peaks, peaks[: self._whole]):
            self._active |= set(np.argsort(-some, kind="stable")[:_ACTIVE].tolist())

    def _begin(self, weights: Floats) -> None:
        self.weights = weights.copy()
        self._activate(self._all(weights))
        cases = [self._cases[place] for place in sorted(self._active)]
        self._states = [
            RoutedTraffic(self._links, weights, self._rates[[matrix]], self._down[state]) for state, matrix in cases
        ]
        self._wholes = np.array([state == 0 for state, _ in cases])
        costs = [self._of(state.total) for state in self._states]
        self._peaks = np.array([peak for peak, _ in costs])
        self._crowds = np.array([crowd for _, crowd in costs])

    def _peak(self) -> float:
        return float(self._peaks.max())

    def _cost(self) -> float:
        return self._peak() + self._added * float(self._peaks[self._wholes].max()) + float(self._crowds.mean())

    def _of(self, total: Floats) -> tuple[float, float]:
        """The maximum utilisation of a state, and how crowded its links are, both relative to the lower bound."""
        load = total / self._scale
        return float(load.max()), _CROWDING * float((np.maximum(0.0, load - _CROWDED) ** 4).sum()) / len(load)

    def _step(self, heat: float) -> bool:
        """Try one weight; whether it was taken."""
        tried = self._candidate()
        if tried is None:
            return False
        self.tries += 1
        # Metropolis's rule, with the random number first, so that a state that is too bad ends the evaluation.
        most = self._cost() - heat * np.log(1 - self._random.random())
        peaks, crowds = self._peaks.copy(), self._crowds.copy()
        changes: list[tuple[RoutedTraffic, Rerouted]] = []
        highest = whole = crowd = 0.0
        for place in np.argsort(-self._peaks, kind="stable"):
            change = self._states[place].change(*tried)
            changes.append((self._states[place], change))
            if change.shortest is not None:
                peaks[place], crowds[place] = self._of(change.total)
            highest, crowd = max(highest, peaks[place]), crowd + crowds[place] / len(crowds)
            whole = max(whole, peaks[place] * self._added * self._wholes[place])
            if highest + whole + crowd > most:
                return False
        for state, change in changes:
            state.take(change)
        self.weights[tried[0]] = tried[1]
        self._peaks, self._crowds = peaks, crowds
        return True

    def _candidate(self) -> tuple[int, float] | None:
        """A link and a new weight, at which a path over it becomes as short as another, or one more or less."""
        random, links = self._random, self._links
        closed = self._peak() <= 1 + self._gap
        worst = int(np.argmax(np.where(self._wholes, self._peaks, 0.0) if closed else self._peaks))
        state = self._states[worst if random.random() < _AT_THE_TOP else random.integers(len(self._states))]
        load = state.total / self._scale
        if random.random() < _AT_THE_TOP:
            matrix = int(np.argmax(load.max(axis=1)))
            top = np.flatnonzero(load[matrix] >= _NEAR_THE_TOP * load[matrix].max())
            link = int(random.choice(top))
            flows = state.flows[matrix, link]
            if not flows.sum() > 0:
                return None
            to = int(random.choice(len(flows), p=np.maximum(0.0, flows) / np.maximum(0.0, flows).sum()))
            if random.random() < 0.5:
                link = self._before(state, link, to)
        else:
            link, to = int(random.integers(len(links.sources))), int(random.integers(links.nodes))
        beyond = state.distance[links.targets[link], to]
        if not np.isfinite(beyond):
            return None
        if state.on[link, to]:
            others = np.flatnonzero((links.sources == links.sources[link]) & np.isfinite(state.weights))
            others = others[others != link]
            least = (state.weights[others] + state.distance[links.targets[others], to]).min(initial=np.inf) - beyond
        else:
            least = state.distance[links.sources[link], to] - beyond
        if not np.isfinite(least):
            return None
        weight = float(least) + int(random.integers(-1, 2))
        if not 1 <= weight <= self._largest or weight == self.weights[link]:
            return None
        return link, weight

    def _before(self, state: RoutedTraffic, link: int, to: int) -> int:
        """A link over which traffic to a destination comes to a link, or this one."""
        links = self._links
        on = np.flatnonzero(state.on[:, to])
        rest = state.weights[link] + state.distance[links.targets[link], to]
        comes = state.distance[links.sources[on], links.sources[link]] + rest == state.distance[links.sources[on], to]
        return int(self._random.choice(on[comes])) if comes.any() else link
