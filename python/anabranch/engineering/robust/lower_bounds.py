"""Lower bounds on the worst-case load of any routing, from weighted traffic matrices alone.

Let each link ``l`` have a weight ``v_l`` with ``sum c_l v_l = 1`` and a traffic matrix ``T_l`` of the model. The worst-case
load of a routing is at least the weighted mean ``sum_l v_l (traffic of T_l over l)``. This mean is least if each pair takes the path
of least ``sum_l v_l T_l(pair)`` over its links. So any weights and matrices prove a bound, however they were found: weak duality
of equations 9 to 14.
"""

import numpy as np

from anabranch import _core
from anabranch.engineering.robust.blocks import Weighted
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.traffic import Bounds, TrafficModel
from anabranch.foundation.array_types import Floats, Integers


def prices(network: Network, model: TrafficModel, weighted: Weighted) -> Floats:
    """The price of each link for each pair (pair, link), so that the cheapest paths of all pairs add up to a lower bound."""
    found, paid = unscaled_prices(network, model, weighted)
    return found / paid if paid > 0 else found


def unscaled_prices(network: Network, model: TrafficModel, weighted: Weighted) -> tuple[Floats, float]:
    """The same before scaling, and the sum of weights times capacities that makes it a bound.

    The weights of the links are the least that keep the matrices within the model. If the model has a least traffic of pairs,
    a link may have a greater weight, with this least traffic alone.
    """
    if isinstance(model, Bounds):
        above = model.above
        ends = network.pair_sources, network.pair_targets
        upper = np.minimum(above.upper[ends], np.minimum(above.rows[ends[0]], above.columns[ends[1]]))
        possible = (weighted.amount > 0) & (upper[weighted.pair] > 0)
        key = weighted.pair[possible] * network.links + weighted.link[possible]
        size = network.pairs * network.links
        found = np.bincount(key, weights=weighted.amount[possible], minlength=size).astype(float)
        found = found.reshape(network.pairs, network.links)
        pair, link = np.nonzero(found)
        amount = found[pair, link]
        weight = np.zeros(network.links)
        np.maximum.at(weight, link, amount / upper[pair])
        for end, bound in zip(ends, (above.rows, above.columns), strict=True):
            line = link * network.nodes + end[pair]
            total = np.bincount(line, weights=amount, minlength=network.links * network.nodes)
            total = total.reshape(network.links, network.nodes)
            needed = np.divide(total, bound, out=np.zeros(total.shape), where=total > 0)
            weight = np.maximum(weight, needed.max(axis=1))
        lower = model.lower[ends]
        if lower.any():
            weight = np.maximum(weight, weighted.weight)
            found += lower[:, None] * weight[None, :]
    else:
        weight = np.zeros(network.links)
        np.add.at(weight, weighted.link, weighted.amount)
        found = np.zeros((network.pairs, network.links))
        of_pair = model.matrices[:, network.pair_sources, network.pair_targets]
        each = np.zeros((network.links, len(model.matrices)))
        np.add.at(each, (weighted.link, weighted.pair), weighted.amount)
        found = (each @ of_pair).T
    return found, float(network.capacity @ weight)


def over_candidates(candidates: Candidates, priced: Floats) -> tuple[float, Floats]:
    """The lower bound if only the candidates may be taken, and the price of each path."""
    path = np.repeat(np.arange(candidates.paths), candidates.hops)
    each = priced[candidates.pair[path], candidates.path_links]
    of_path = np.add.reduceat(each, candidates.start[:-1])
    return float(np.minimum.reduceat(of_path, candidates.first[:-1]).sum()), of_path


def over_all_paths(network: Network, priced: Floats) -> tuple[float, Floats, tuple[Integers, Integers, Integers]]:
    """The lower bound if any path may be taken, the least price of each pair, and a path of that price."""
    least, paths = _core.cheapest_paths(
        network.nodes,
        network.sources,
        network.targets,
        network.pair_sources,
        network.pair_targets,
        np.ascontiguousarray(priced).reshape(-1),
    )
    return float(least.sum()), least, paths
