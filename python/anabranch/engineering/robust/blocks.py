"""The rows that bear the worst matrix of a link: the dual of its worst case inside the program (equations 10 to 14).

For a link ``l`` of capacity ``c``, these rows require some ``r``, ``y`` and ``q`` of at least 0 for which
``sum R_i r_i + sum C_j y_j + sum w_ij q_ij <= c t``. They also require ``share_ij(l) <= r_i + y_j + q_ij`` for every pair that may
cross the link. The dual values of the latter are a worst matrix times the weight of the link: a proof of a lower bound.
"""

from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.lp import LinearProgram, Optimum
from anabranch.engineering.robust.traffic import Bounds, TrafficModel
from anabranch.foundation.array_types import Floats, Integers


@dataclass(frozen=True, eq=False)
class Weighted:
    """Traffic matrices of links, each times the weight of its link: what proves a lower bound."""

    link: Integers
    pair: Integers
    amount: Floats
    """Bit/s times weight, above the model's lower bounds; of an explicit set, the weights of matrices, not pairs."""
    weight: Floats
    """Least weight of each link of the network; counts only where the model has lower bounds."""


@dataclass(frozen=True, eq=False)
class RoutingColumns:
    """A program's columns for the shares of paths, and for the worst-case load."""

    program: LinearProgram
    candidates: Candidates
    """A path may stand there several times, with a column each: its share is their sum."""
    scale: float
    """Bit/s that count one in the program."""
    load: int
    column: Integers
    """The column of each path."""
    load_scale: float = 1.0
    """Load that counts one in the program."""

    @staticmethod
    def new(program: LinearProgram, candidates: Candidates, scale: float, load_scale: float = 1.0) -> "RoutingColumns":
        """New columns, and the rows by which the shares of a pair add up to 1 (equation 9)."""
        load = program.add_columns(1, cost=1.0)
        column = program.add_columns(candidates.paths) + np.arange(candidates.paths)
        pairs = candidates.network.pairs
        rows = program.add_rows(np.ones(pairs), np.ones(pairs))
        program.add_entries(rows + candidates.pair, column, 1.0)
        return RoutingColumns(program, candidates, scale, load, column, load_scale)

    def shares(self, optimum: Optimum) -> Floats:
        """The share of each path."""
        found: Floats = optimum.columns[self.column]
        return found

    def least_load(self, optimum: Optimum) -> float:
        """The least worst-case load by the program's rows, if the load is all that it minimises."""
        return optimum.objective * self.load_scale


class Blocks:
    """The rows of some links."""

    def __init__(self, routing: RoutingColumns, model: TrafficModel, links: Integers) -> None:
        """Adds the rows to the program."""
        self.model = model
        self.scale = routing.scale
        self.links = links
        self.network_links = routing.candidates.network.links
        candidates, network = routing.candidates, routing.candidates.network
        wanted = np.zeros(network.links, dtype=bool)
        wanted[links] = True
        path = np.repeat(np.arange(candidates.paths), candidates.hops)
        listed = wanted[candidates.path_links]
        path, link = path[listed], candidates.path_links[listed].astype(np.int64)
        pair = candidates.pair[path].astype(np.int64)
        sources, targets = network.pair_sources, network.pair_targets
        program = routing.program
        if isinstance(model, Bounds):
            self._bounds(routing, model, links, path, link, pair)
            return
        # One row for each link and matrix.
        self.matrices = model.matrices
        count = len(model.matrices)
        place = np.full(network.links, -1)
        place[links] = np.arange(len(links))
        self.link = np.repeat(links, count)
        self.matrix = np.tile(np.arange(count), len(links))
        self.first = program.add_rows(np.full(len(self.link), -np.inf), np.zeros(len(self.link)))
        rows = self.first + np.arange(len(self.link))
        carried = network.capacity * routing.load_scale / self.scale
        program.add_entries(rows, np.full(len(rows), routing.load), -carried[self.link])
        for matrix in range(count):
            amount = model.matrices[matrix][sources[pair], targets[pair]] / self.scale
            some = amount > 0
            row = self.first + place[link[some]] * count + matrix
            program.add_entries(row, routing.column[path[some]], amount[some])

    def _bounds(
        self, routing: RoutingColumns, model: Bounds, links: Integers, path: Integers, link: Integers, pair: Integers
    ) -> None:
        network, program = routing.candidates.network, routing.program
        above, scale = model.above, self.scale
        sources, targets = network.pair_sources.astype(np.int64), network.pair_targets.astype(np.int64)
        place = np.full(network.links, -1)
        place[links] = np.arange(len(links))
        load_rows = program.add_rows(np.full(len(links), -np.inf), np.zeros(len(links))) + np.arange(len(links))
        self.load_rows = load_rows
        carried = network.capacity * routing.load_scale / scale
        program.add_entries(load_rows, np.full(len(links), routing.load), -carried[links])
        fixed = model.lower[sources[pair], targets[pair]] / scale
        some = fixed > 0
        program.add_entries(load_rows[place[link[some]]], routing.column[path[some]], fixed[some])

        room = np.minimum(above.upper, np.minimum(above.rows[:, None], above.columns[None, :]))
        variable = room[sources[pair], targets[pair]] > 0
        path, link, pair = path[variable], link[variable], pair[variable]
        key, row = np.unique(link * network.pairs + pair, return_inverse=True)
        self.link, self.pair = key // network.pairs, key % network.pairs
        self.first = program.add_rows(np.full(len(key), -np.inf), np.zeros(len(key)))
        rows = self.first + np.arange(len(key))
        program.add_entries(self.first + row, routing.column[path], 1.0)
        source, target = sources[self.pair], targets[self.pair]
        for end, bound in ((source, above.rows), (target, above.columns)):
            bounded = np.isfinite(bound[end])
            ends, of = np.unique(self.link[bounded] * network.nodes + end[bounded], return_inverse=True)
            column = program.add_columns(len(ends)) + np.arange(len(ends))
            program.add_entries(load_rows[place[ends // network.nodes]], column, bound[ends % network.nodes] / scale)
            program.add_entries(rows[bounded], column[of], -1.0)
        upper = above.upper[source, target]
        # A bound of a pair that its row's or column's bound implies is left out.
        own = upper < np.minimum(above.rows[source], above.columns[target])
        column = program.add_columns(int(own.sum())) + np.arange(int(own.sum()))
        program.add_entries(load_rows[place[self.link[own]]], column, upper[own] / scale)
        program.add_entries(rows[own], column, -1.0)

    def weighted(self, optimum: Optimum) -> Weighted:
        """The traffic that the dual values weigh."""
        duals = np.maximum(0.0, -optimum.row_duals[self.first : self.first + len(self.link)])
        weight = np.zeros(self.network_links)
        if isinstance(self.model, Bounds):
            weight[self.links] = np.maximum(0.0, -optimum.row_duals[self.load_rows])
            some = duals > 0
            return Weighted(self.link[some], self.pair[some], duals[some] * self.scale, weight)
        return Weighted(self.link, self.matrix, duals, weight)
