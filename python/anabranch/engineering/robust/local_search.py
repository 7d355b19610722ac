"""A local search over the splits of each pair, in the core (``crates/core/src/robust/choices.rs``)."""

from collections.abc import Callable

import numpy as np

from anabranch import _core
from anabranch.engineering.robust.objectives import Chosen, Objective, costs
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.rules import Rules, Split, options, splits_of_pairs
from anabranch.engineering.robust.splits import Splits, carried_by_links
from anabranch.engineering.robust.traffic import Bounds
from anabranch.foundation.array_types import Floats, Integers

_CHUNK = 5_000
_WARM = 0.05
"""First temperature: a share of the greatest traffic of a pair, or of the greatest cost of one."""


def search(
    problem: Problem,
    rules: Rules,
    start: Splits,
    objective: Objective | None,
    load: float,
    moves: int,
    seed: int,
    left_s: Callable[[], float],
    known: tuple[Splits, ...] = (),
) -> tuple[Splits, bool]:
    """Splits near ``start`` that keep to the rules: of least cost within the load, or without an objective of less load.

    ``start`` and ``known``, whose splits are options too, must keep to the rules. It ends early if no time is left, or at Ctrl-C, and says
    whether it was that.
    """
    listed = _Options(problem, rules, start, objective, known)
    found = listed.core(seed)
    found.choose(listed.chosen(start))
    if objective is None:
        found.begin(np.inf, np.inf, True, moves, _WARM, 1.0)
    else:
        found.begin(load, np.inf, False, moves, _WARM, 1.0)
    interrupted = False
    try:
        while found.advance(_CHUNK) and left_s() > 0:
            pass
    except KeyboardInterrupt:
        interrupted = True
    best = found.best()
    return start if best is None else listed.splits(best[0]), interrupted


class _Options:
    """The options of all pairs: those of a pair by cost, then the nearest to its present split first."""

    def __init__(
        self, problem: Problem, rules: Rules, start: Splits, objective: Objective | None, known: tuple[Splits, ...]
    ) -> None:
        self.problem, self.rules, self.candidates = problem, rules, start.candidates
        present = splits_of_pairs(start, rules)
        others = [splits_of_pairs(splits, rules) for splits in known]
        rows: list[Split] = []
        pairs: list[int] = []
        distance: list[int] = []
        for number, split in enumerate(present):
            listed = [split]
            if problem.sending[number]:
                near = options(self.candidates, rules, number, split)
                listed = list(dict.fromkeys((*near, *(other[number] for other in others))))
            rows += listed
            pairs += [number] * len(listed)
            distance += [_distance(split, other) for other in listed]
        pair = np.array(pairs)
        cost = np.zeros(len(rows))
        chosen = self._arrays(rows, pair)
        if objective is not None:
            cost = costs(objective, problem, chosen)
            first = np.searchsorted(pair, np.arange(problem.network.pairs))
            cost -= np.minimum.reduceat(cost, first)[pair]
            cost /= max(float(cost.max()), np.finfo(float).tiny)
        order = np.lexsort((np.array(distance), cost, pair))
        self.rows = [rows[at] for at in order.tolist()]
        self.pair, self.cost = pair[order], cost[order]
        self.place = {split: at for at, split in enumerate(self.rows)}

    def _arrays(self, rows: list[Split], pair: Integers) -> Chosen:
        start = np.cumsum([0] + [len(split) for split in rows])
        path = np.array([path for split in rows for path, _ in split])
        share = np.array([units for split in rows for _, units in split]) / self.rules.parts
        return Chosen(self.candidates, pair, start, path, share)

    def chosen(self, splits: Splits) -> Integers:
        return np.array([self.place[split] for split in splits_of_pairs(splits, self.rules)], dtype=np.uint32)

    def splits(self, chosen: Integers) -> Splits:
        shares = np.zeros(self.candidates.paths)
        for option in chosen.tolist():
            for path, units in self.rows[option]:
                shares[path] = units / self.rules.parts
        return Splits(self.candidates, shares)

    def core(self, seed: int) -> "_core.PlanSearch":
        """The search in the core; rates in units of the problem's scale."""
        first = np.searchsorted(self.pair, np.arange(self.problem.network.pairs + 1))
        chosen = self._arrays(self.rows, self.pair)
        listed = first, self.cost, *carried_by_links(self.candidates, chosen.start, chosen.path, chosen.share)
        return core_search(self.problem, self.problem.network.capacity, listed, seed)


def core_search(
    problem: Problem, capacity: Floats, listed: tuple[Integers, Floats, Integers, Integers, Floats], seed: int
) -> "_core.PlanSearch":
    """A search over options in the core, with rates in units of the problem's scale.

    Args:
        problem: the network and its traffic.
        capacity: of each link, bit/s.
        listed: where each pair's options begin; the cost of each option; where its links begin; these links; and the shares of the pair's traffic on them.
        seed: of its draws.
    """
    network, model, scale = problem.network, problem.model, problem.scale
    sources, targets = network.pair_sources, network.pair_targets
    bounds: tuple[Floats, Floats, Floats, Floats] | None = None
    matrices = np.zeros((0, network.pairs))
    if isinstance(model, Bounds):
        above = model.above
        bounds = (
            np.maximum(above.rows, 0.0) / scale,
            np.maximum(above.columns, 0.0) / scale,
            np.maximum(model.largest - model.lower, 0.0)[sources, targets] / scale,
            model.lower[sources, targets] / scale,
        )
    else:
        matrices = model.matrices[:, sources, targets] / scale
    first, cost, start, links, shares = listed
    indexes = first.astype(np.uint32), cost, start.astype(np.uint32), links.astype(np.uint32, copy=False), shares
    return _core.PlanSearch(bounds, matrices, sources, targets, capacity / scale, indexes, seed)


def _distance(one: Split, other: Split) -> int:
    before = dict(one)
    return sum(max(0, units - before.get(path, 0)) for path, units in other)
