"""All paths at once: the single program in shares of pairs on links, instead of shares of paths.

A pair's traffic is a unit flow: any set of paths makes one, and it can be decomposed into paths again. The program has a
column for each pair and link, whatever the number of paths. So no path is enumerated or priced. Where a network is the same
both ways (links, capacities and traffic model), some best routing is so too: the program then holds one of each two pairs and
one of each two links.
"""

import heapq

import numpy as np

from anabranch.engineering.robust.blocks import Weighted
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.lp import LinearProgram, Method
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.problem import Best, Problem
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds
from anabranch.foundation.array_types import Floats, Integers

_SMALL = 20_000
"""Columns of a program that an interior point solves in a second."""
_COARSE = (1e-2, 1e-3)
"""The first tolerances of the first-order method: the first gives an answer early, the second suffices for a gap of 1 %."""
_FINEST = 1e-9
"""The least tolerance of the first-order method."""
_NOTHING = 1e-7
"""Shares of a pair on a link below this count as zero, which interior points do not reach."""


def mirrored_links(problem: Problem) -> Integers | None:
    """The link back of each link, if the network and the traffic model are the same both ways."""
    network, model = problem.network, problem.model
    if not isinstance(model, Bounds):
        return None
    ends = zip(network.targets.tolist(), network.sources.tolist(), strict=True)
    back = [network.link_index.get(pair) for pair in ends]
    if None in back:
        return None
    mirror = np.array(back)
    same = (
        np.array_equal(network.capacity, network.capacity[mirror])
        and np.array_equal(model.rows, model.columns)
        and np.array_equal(model.upper, model.upper.T)
        and np.array_equal(model.lower, model.lower.T)
    )
    return mirror if same else None


def all_paths(best: Best, gap: float) -> None:
    """Solve the program to this relative gap; the traffic model must not be an explicit set.

    A first-order method comes close very fast. Its points violate rows a little. Splits and bounds made of these points do not, and
    have a gap of their own. So its tolerance is lowered until that gap is small enough. An interior point is the last resort,
    and the first for small programs. Of these, simplex closes a gap that an interior point leaves.
    """
    problem = best.problem
    program = _Program(problem, mirrored_links(problem))
    what = f"one program of {program.program.columns} columns for all paths"
    best.say(what)
    finer = [tolerance for tolerance in (gap / 10, gap / 50, gap / 250) if tolerance < _COARSE[-1]]
    attempts: list[tuple[Method, float]] = []
    if program.program.columns > _SMALL:
        attempts += [("first-order", tolerance) for tolerance in (*_COARSE, *finer) if tolerance > _FINEST]
    attempts += [("interior-point", max(_FINEST, gap / 4)), ("interior-point", _FINEST)]
    if program.program.columns <= _SMALL:
        attempts += [("simplex", _FINEST)]
    for method, tolerance in attempts:
        if best.gap <= gap:
            return
        optimum = program.program.solve(method, tolerance, best.left_s)
        best.bound(program.weighted(optimum.row_duals))
        best.offer(split_up(problem.network, program.flows(optimum.columns), program.mirror))
        best.say(f"{what}, {method} to {tolerance:.0e}")


class _Program:
    def __init__(self, problem: Problem, mirror: Integers | None) -> None:
        network, model, scale = problem.network, problem.model, problem.scale
        assert isinstance(model, Bounds)
        self.network = network
        self.mirror = mirror
        self.scale = scale
        self.program = program = LinearProgram()
        nodes, links, pairs = network.nodes, network.links, network.pairs
        sources, targets = network.pair_sources.astype(np.int64), network.pair_targets.astype(np.int64)
        self.back = np.array(
            [network.pair(int(target), int(source)) for source, target in zip(sources, targets, strict=True)]
        )
        own = np.flatnonzero(sources < targets) if mirror is not None else np.arange(pairs)
        self.blocks = np.flatnonzero(np.arange(links) < mirror) if mirror is not None else np.arange(links)
        load = program.add_columns(1, cost=1.0)
        # A column for each pair and link, except links that lead back to the source or away from the destination.
        enters, leaves = network.sources.astype(np.int64), network.targets.astype(np.int64)
        useful = (leaves[None, :] != sources[own, None]) & (enters[None, :] != targets[own, None])
        self.column = np.full((pairs, links), -1)
        first = program.add_columns(int(useful.sum()))
        ids = np.full(useful.shape, -1)
        ids[useful] = first + np.arange(int(useful.sum()))
        self.column[own] = ids
        if mirror is not None:
            self.column[self.back[own]] = ids[:, mirror]
        # Flow conservation: the flow that enters a node leaves it; a flow of one leaves the source.
        row = np.full((pairs, nodes), -1)
        kept = np.ones((len(own), nodes), dtype=bool)
        kept[np.arange(len(own)), targets[own]] = False
        begins = np.zeros((len(own), nodes))
        begins[np.arange(len(own)), sources[own]] = 1.0
        numbered = np.full((len(own), nodes), -1)
        numbered[kept] = program.add_rows(begins[kept], begins[kept]) + np.arange(int(kept.sum()))
        row[own] = numbered
        pair, link = np.nonzero(useful)
        pair = own[pair]
        for end, sign in ((enters, 1.0), (leaves, -1.0)):
            at = row[pair, end[link]]
            program.add_entries(at[at >= 0], self.column[pair, link][at >= 0], sign)
        # The blocks of links, as for candidate paths.
        above = model.above
        count = len(self.blocks)
        self.load_rows = program.add_rows(np.full(count, -np.inf), np.zeros(count)) + np.arange(count)
        carried = network.capacity * problem.load_scale / scale
        program.add_entries(self.load_rows, np.full(count, load), -carried[self.blocks])
        block, pair = np.nonzero(self.column[:, self.blocks].T >= 0)
        column = self.column[pair, self.blocks[block]]
        fixed = model.lower[sources[pair], targets[pair]] / scale
        program.add_entries(self.load_rows[block[fixed > 0]], column[fixed > 0], fixed[fixed > 0])
        room = above.upper[sources[pair], targets[pair]]
        within = np.minimum(above.rows[sources[pair]], above.columns[targets[pair]])
        some = np.minimum(room, within) > 0
        self.block, self.pair, column = block[some], pair[some], column[some]
        self.first = program.add_rows(np.full(len(column), -np.inf), np.zeros(len(column)))
        rows = self.first + np.arange(len(column))
        program.add_entries(rows, column, 1.0)
        for ends, bound in ((sources, above.rows), (targets, above.columns)):
            bounded = np.isfinite(bound[ends[self.pair]])
            kinds, of = np.unique(self.block[bounded] * nodes + ends[self.pair[bounded]], return_inverse=True)
            price = program.add_columns(len(kinds)) + np.arange(len(kinds))
            program.add_entries(self.load_rows[kinds // nodes], price, bound[kinds % nodes] / scale)
            program.add_entries(rows[bounded], price[of], -1.0)
        bounding = (room < within)[some]
        price = program.add_columns(int(bounding.sum())) + np.arange(int(bounding.sum()))
        program.add_entries(self.load_rows[self.block[bounding]], price, room[some][bounding] / scale)
        program.add_entries(rows[bounding], price, -1.0)

    def flows(self, columns: Floats) -> Floats:
        """The share of each pair on each link."""
        return np.where(self.column >= 0, columns[self.column], 0.0)

    def weighted(self, duals: Floats) -> Weighted:
        link = self.blocks[self.block]
        amount = np.maximum(0.0, -duals[self.first : self.first + len(self.pair)]) * self.scale
        weight = np.zeros(self.network.links)
        weight[self.blocks] = np.maximum(0.0, -duals[self.load_rows])
        if self.mirror is None:
            return Weighted(link, self.pair, amount, weight)
        return Weighted(
            np.concatenate((link, self.mirror[link])),
            np.concatenate((self.pair, self.back[self.pair])),
            np.concatenate((amount, amount)),
            weight + weight[self.mirror],
        )


def split_up(network: Network, flows: Floats, mirror: Integers | None = None) -> Splits:
    """Paths that make up the unit flow of each pair (shares by pair and link), widest first; cycles are left out.

    With ``mirror``, the link back of each link, the way back takes the same paths.
    """
    found: list[tuple[int, list[int], float]] = []
    for pair in range(network.pairs):
        source, target = int(network.pair_sources[pair]), int(network.pair_targets[pair])
        if mirror is not None and source > target:
            continue
        there = _taken_apart(network, flows[pair], source, target)
        found += [(pair, path, share) for path, share in there]
        if mirror is not None:
            back = network.pair(target, source)
            found += [(back, [int(mirror[link]) for link in reversed(path)], share) for path, share in there]
    found.sort(key=lambda entry: entry[0])
    candidates = Candidates(
        network,
        np.array([pair for pair, _, _ in found], dtype=np.uint32),
        np.cumsum([0] + [len(path) for _, path, _ in found]).astype(np.uint32),
        np.array([link for _, path, _ in found for link in path], dtype=np.uint32),
    ).checked()
    return Splits.rounded(candidates, np.array([share for _, _, share in found]))


def _taken_apart(network: Network, flow: Floats, source: int, target: int) -> list[tuple[list[int], float]]:
    links = np.flatnonzero(flow > _NOTHING)
    left = dict(zip(links.tolist(), flow[links].tolist(), strict=True))
    leaving: dict[int, list[tuple[int, int]]] = {}
    for link in left:
        leaving.setdefault(int(network.sources[link]), []).append((link, int(network.targets[link])))
    found = []
    while path := _widest(left, leaving, network, source, target):
        share = min(left[link] for link in path)
        for link in path:
            left[link] -= share
            if left[link] <= _NOTHING:
                left[link] = 0.0
        found.append((path, share))
    return found


def _widest(
    left: dict[int, float], leaving: dict[int, list[tuple[int, int]]], network: Network, source: int, target: int
) -> list[int]:
    """The path of greatest least share over links that have some left; none if there is none."""
    width, entered = {source: np.inf}, dict[int, int]()
    heap = [(-np.inf, source)]
    while heap:
        negative, node = heapq.heappop(heap)
        if node == target:
            break
        if -negative < width[node]:
            continue
        for link, following in leaving.get(node, ()):
            wide = min(-negative, left[link])
            if wide > width.get(following, 0.0):
                width[following], entered[following] = wide, link
                heapq.heappush(heap, (-wide, following))
    else:
        return []
    path = []
    while node != source:
        path.append(entered[node])
        node = int(network.sources[entered[node]])
    return path[::-1]
