"""Loads that are kept up to date equal loads computed anew."""

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust.incremental import WorstLoads
from anabranch.engineering.robust.splits import Splits
from tests.engineering.robust.networks import random_model, random_network


@pytest.mark.parametrize("seed", range(15))
def test_after_any_changes_the_loads_are_those_of_the_splits(seed: int) -> None:
    network = random_network(seed)
    model = random_model(network, seed)
    candidates = robust.shortest(network, 3)
    splits = Splits.first_paths(candidates)
    kept = WorstLoads(network, model, splits)
    random = np.random.default_rng(seed)
    for _ in range(10):
        pairs = random.choice(network.pairs, 2, replace=False)
        path = [int(random.integers(candidates.first[pair], candidates.first[pair + 1])) for pair in pairs]
        changes = [
            (int(pair), {int(link): 1.0 for link in candidates.links_of(chosen)})
            for pair, chosen in zip(pairs, path, strict=True)
        ]
        shares = splits.shares.copy()
        shares[np.isin(candidates.pair, pairs)] = 0.0
        shares[path] = 1.0
        changed = Splits(candidates, shares)
        anew = robust.worst_loads(network, model, changed.crossings).load
        before = kept.loads.copy()
        assert kept.if_changed(changes) == pytest.approx(anew)
        assert kept.loads.tolist() == before.tolist()
        if random.random() < 0.7:
            kept.change(changes)
            splits = changed
            assert kept.loads == pytest.approx(anew)
            assert kept.load == pytest.approx(anew.max())
            assert kept.flow(int(pairs[0])) == {int(link): 1.0 for link in candidates.links_of(path[0])}
