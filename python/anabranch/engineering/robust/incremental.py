"""The exact worst-case load while splits change pair by pair, for local searches."""

from collections.abc import Iterable

import numpy as np

from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import Crossings, Splits
from anabranch.engineering.robust.traffic import TrafficModel
from anabranch.foundation.array_types import Floats, Integers

Flow = dict[int, float]
"""The share of a pair's traffic by link."""


class WorstLoads:
    """The worst-case load of every link, kept up to date; a change costs the worst matrices of the links that it touches."""

    def __init__(self, network: Network, model: TrafficModel, splits: Splits) -> None:
        """Begins with these splits."""
        self.network = network
        self.model = model
        self._shares = np.zeros((network.links, network.pairs))
        """The share of each pair over each link."""
        crossings = splits.crossings
        self._shares[np.repeat(np.arange(network.links), np.diff(crossings.start)), crossings.pair] = crossings.share
        self.loads: Floats = worst_loads(network, model, crossings).load

    @property
    def load(self) -> float:
        """The worst-case load of the routing."""
        return float(self.loads.max())

    def flow(self, pair: int) -> Flow:
        """The share of the pair's traffic that crosses each link."""
        links = np.flatnonzero(self._shares[:, pair])
        return dict(zip(links.tolist(), self._shares[links, pair].tolist(), strict=True))

    def if_changed(self, changes: Iterable[tuple[int, Flow]]) -> Floats:
        """The loads of all links if these pairs' traffic went so; nothing is changed."""
        before = self._change(changes)
        loads = self._updated(before)
        self._restore(before)
        return loads

    def change(self, changes: Iterable[tuple[int, Flow]]) -> None:
        """Change the flows of these pairs, and update the loads."""
        self.loads = self._updated(self._change(changes))

    def _change(self, changes: Iterable[tuple[int, Flow]]) -> list[tuple[int, Integers, Floats]]:
        """The links that change, by pair, with their former shares."""
        before: list[tuple[int, Integers, Floats]] = []
        for pair, flow in changes:
            old = self._shares[:, pair].copy()
            self._shares[:, pair] = 0.0
            for link, share in flow.items():
                self._shares[link, pair] = share
            before.append((pair, np.flatnonzero(self._shares[:, pair] != old), old))
        return before

    def _restore(self, before: list[tuple[int, Integers, Floats]]) -> None:
        for pair, _, old in reversed(before):
            self._shares[:, pair] = old

    def _updated(self, before: list[tuple[int, Integers, Floats]]) -> Floats:
        loads = self.loads.copy()
        touched = np.unique(np.concatenate([links for _, links, _ in before])) if before else np.zeros(0, dtype=int)
        if len(touched):
            link, pair = np.nonzero(self._shares[touched])
            start = np.searchsorted(link, np.arange(len(touched) + 1))
            # The crossings of the touched links alone, which stand one after another.
            whole = np.zeros(self.network.links + 1, dtype=int)
            whole[touched + 1] = np.diff(start)
            few = Crossings(np.cumsum(whole), pair, self._shares[touched[link], pair])
            loads[touched] = worst_loads(self.network, self.model, few, touched).load
        return loads


__all__ = ["Flow", "WorstLoads"]
