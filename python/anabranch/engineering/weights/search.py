"""WeightSearch for OSPF weights: simulated annealing over the weights at which traffic moves.

A link's weight matters only where it makes a path as short as another. So a step changes one weight to such a value, or to one more or
less: traffic leaves the link, shares it with another path, or joins it. Most steps begin at a link of the greatest load. Rounds begin hot,
and from the best weights or from the first ones in turn.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, Links, Rerouted, RoutedTraffic
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
        self, links: Links, rates: Floats, down: Sequence[Integers], bound: float, largest: int, seed: int
    ) -> None:
        """``rates`` (matrices, nodes, nodes) in bit/s; ``down`` the failed links of each state; ``bound`` a lower bound on the maximum utilisation."""
        self._links, self._rates, self._down, self._bound, self._largest = links, rates, down, bound, largest
        self._random = np.random.default_rng(seed)
        self._scale = links.network.capacity * bound
        self._cases = [(state, matrix) for state in range(len(down)) for matrix in range(len(rates))]
        self._active: set[int] = set()
        self.tries = 0

    def run(self, starts: Sequence[Floats], limit_s: float, gap: float, report: Report) -> SearchEnd:
        """The best weights found from the best of some, until the time is up, Ctrl-C, or the lower bound is close."""
        began = time.monotonic()
        first = min(starts, key=lambda weights: float(self._all(weights).max()))
        best, least, interrupted, rounds = first.copy(), float(self._all(first).max()), False, 0
        light = best
        try:
            while least > 1 + gap and time.monotonic() - began < limit_s:
                self._begin(best if rounds % 2 or not rounds else first)
                heat = _HEATS[rounds % len(_HEATS)]
                rounds += 1
                until = (
                    limit_s if len(self._active) == len(self._cases) else time.monotonic() - began + limit_s / _SLICES
                )
                light, peak = self.weights.copy(), self._peak()
                for step in range(_TRIES):
                    elapsed = (time.monotonic() - began) / min(limit_s, until)
                    if elapsed >= 1 or peak <= 1 + gap:
                        break
                    if self._step(heat * (1 - max(step / _TRIES, elapsed)) ** 2) and self._peak() < peak:
                        light, peak = self.weights.copy(), self._peak()
                    report(min(least, peak) * self._bound, self.tries)
                everywhere = self._all(light)
                self._activate(everywhere)
                if everywhere.max() < least:
                    best, least = light, float(everywhere.max())
        except KeyboardInterrupt:
            interrupted = True
            if self._all(light).max() < least:
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

    def _activate(self, peaks: Floats) -> None:
        """Have the search bear the heaviest cases."""
        self._active |= set(np.argsort(-peaks, kind="stable")[:_ACTIVE].tolist())

    def _begin(self, weights: Floats) -> None:
        self.weights = weights.copy()
        self._activate(self._all(weights))
        cases = [self._cases[place] for place in sorted(self._active)]
        self._states = [
            RoutedTraffic(self._links, weights, self._rates[[matrix]], self._down[state]) for state, matrix in cases
        ]
        costs = [self._of(state.total) for state in self._states]
        self._peaks = np.array([peak for peak, _ in costs])
        self._crowds = np.array([crowd for _, crowd in costs])

    def _peak(self) -> float:
        return float(self._peaks.max())

    def _cost(self) -> float:
        return self._peak() + float(self._crowds.mean())

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
        highest = crowd = 0.0
        for place in np.argsort(-self._peaks, kind="stable"):
            change = self._states[place].change(*tried)
            changes.append((self._states[place], change))
            if change.shortest is not None:
                peaks[place], crowds[place] = self._of(change.total)
            highest, crowd = max(highest, peaks[place]), crowd + crowds[place] / len(crowds)
            if highest + crowd > most:
                return False
        for state, change in changes:
            state.take(change)
        self.weights[tried[0]] = tried[1]
        self._peaks, self._crowds = peaks, crowds
        return True

    def _candidate(self) -> tuple[int, float] | None:
        """A link and a new weight, at which a path over it becomes as short as another, or one more or less."""
        random, links = self._random, self._links
        state = self._states[
            int(np.argmax(self._peaks)) if random.random() < _AT_THE_TOP else random.integers(len(self._states))
        ]
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
