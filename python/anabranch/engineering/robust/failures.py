"""Failures of links: sets of them, and their effect on splits that are renormalised."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import Splits, crossings
from anabranch.engineering.robust.traffic import TrafficModel
from anabranch.foundation.array_types import Booleans, Floats, Integers
from anabranch.foundation.input_files import json_document

_MOST_TOGETHER = 3
_MOST_FAILURES = 100_000


@dataclass(frozen=True)
class Failure:
    """Links that fail together."""

    name: str
    links: tuple[int, ...]
    nodes: tuple[int, ...] = ()
    """Nodes that fail with all their links. What they send and receive is no lost traffic of others."""
    probability: float | None = None
    """That it is present at some time, independently of the others."""


@dataclass(frozen=True)
class AfterFailure:
    """The network after a failure."""

    failure: Failure
    load: float
    """The worst-case load of the links that are left."""
    lost_pairs: tuple[int, ...]
    """Pairs that may send, none of whose paths is left though both ends work; their traffic is not carried."""


def failures_of(given: str, network: Network) -> list[Failure]:
    """What ``--fail`` says: ``links``, ``links=2`` (every two of them), ``nodes``, or a file of groups.

    Raises:
        InputError: the file cannot be read, or it is not JSON.
        RobustError: none of these, or more failures than can be judged.
    """
    if given in ("links", "links=1"):
        return single_links(network)
    if given == "nodes":
        return single_nodes(network)
    if given.startswith("links="):
        return several_links(network, given.removeprefix("links="))
    if not Path(given).exists():
        raise RobustError(f'--fail {given}: must be "links", links=2, "nodes", or a file of groups of links')
    return shared_risks(Path(given), network)


def several_links(network: Network, number: str) -> list[Failure]:
    """Each link, and every set of up to so many of them.

    Raises:
        RobustError: the number is none, or there are too many sets.
    """
    if not number.isdecimal() or not 1 <= int(number[:9]) <= _MOST_TOGETHER:
        raise RobustError(f"--fail links={number}: must be links=1 to links={_MOST_TOGETHER}")
    each = single_links(network)
    sizes = range(1, int(number) + 1)
    sets = sum(math.comb(len(each), size) for size in sizes)
    if sets > _MOST_FAILURES:
        raise RobustError(f"--fail links={number}: these are {sets:,} failures, more than {_MOST_FAILURES:,}")
    return [
        Failure(", ".join(one.name for one in some), tuple(sorted(link for one in some for link in one.links)))
        for size in sizes
        for some in combinations(each, size)
    ]


def single_nodes(network: Network) -> list[Failure]:
    """Each node by itself, with all its links."""
    return [
        Failure(name, tuple(np.flatnonzero((network.sources == node) | (network.targets == node)).tolist()), (node,))
        for node, name in enumerate(network.names)
    ]


def lost_pairs(model: TrafficModel, failure: Failure, without_path: Integers, network: Network) -> tuple[int, ...]:
    """Of the pairs without a path after a failure, those that may send and whose ends both work."""
    ends = network.pair_sources[without_path], network.pair_targets[without_path]
    lost = (model.largest[ends] > 0) & ~np.isin(ends, failure.nodes).any(axis=0)
    return tuple(without_path[lost].tolist())


def single_links(network: Network) -> list[Failure]:
    """Each link by itself, both ways at once where it goes both ways."""
    found = []
    for link in range(network.links):
        source, target = int(network.sources[link]), int(network.targets[link])
        back = network.link_index.get((target, source))
        if back is None or link < back:
            name = " - ".join(network.link_name(link))
            found.append(Failure(name, (link,) if back is None else (link, back)))
    return found


def shared_risks(path: Path, network: Network) -> list[Failure]:
    """Groups of links from JSON: ``{"duct 7": [["A", "B"], ["A", "C"]]}``; each link fails both ways.

    With a probability for each: ``{"duct 7": {"links": [["A", "B"]], "probability": 0.001}}``.

    Raises:
        InputError: the file cannot be read, or it is not JSON.
        RobustError: it is not that.
    """
    document = json_document(path)
    if not isinstance(document, dict) or not document:
        raise RobustError(f'{path}: must be groups of links by name, such as {{"duct 7": [["A", "B"], ["A", "C"]]}}')
    place = {name: index for index, name in enumerate(network.names)}
    found = []
    for name, given in document.items():
        links: list[int] = []
        ends, probability = _with_probability(given, f"{path}: {name}")
        for pair in ends if isinstance(ends, list) and ends else [ends]:
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
                raise RobustError(f'{path}: {name}: {pair!r} is no link; a link is its two ends, such as ["A", "B"]')
            there = [(place.get(pair[0]), place.get(pair[1])), (place.get(pair[1]), place.get(pair[0]))]
            both = [network.link_index[hop] for hop in there if hop in network.link_index]
            if not both:
                raise RobustError(f"{path}: {name}: there is no link between {pair[0]} and {pair[1]}")
            links += both
        found.append(Failure(name, tuple(sorted(set(links))), probability=probability))
    without = next((one.name for one in found if one.probability is None), None)
    if without is not None and any(one.probability is not None for one in found):
        raise RobustError(f"{path}: {without}: has no probability, though others have; give all of them one, or none")
    return found


def _with_probability(given: object, where: str) -> tuple[object, float | None]:
    if not isinstance(given, dict):
        return given, None
    if given.keys() != {"links", "probability"}:
        raise RobustError(f'{where}: must be a list of links, or {{"links": [["A", "B"]], "probability": 0.001}}')
    probability = given["probability"]
    if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability < 1:
        raise RobustError(f"{where}: probability {probability!r:.60} must be from 0 to less than 1")
    return given["links"], float(probability)


@dataclass(frozen=True)
class Availability:
    """How probable states of the network are, if failures are independent."""

    within_capacity: float
    """That no failure or exactly one is present, no link is overloaded, and no traffic is lost."""
    judged: float
    """That no failure or exactly one is present."""


def availability(load_before: float, after: Sequence[AfterFailure]) -> Availability | None:
    """The availability; ``None`` if failures have no probability."""
    each = [one.failure.probability for one in after if one.failure.probability is not None]
    if not after or len(each) < len(after):
        return None
    none = math.prod(1 - one for one in each)
    alone = [none * one / (1 - one) for one in each]
    fit = [one.load <= 1 and not one.lost_pairs for one in after]
    within = none * (load_before <= 1) + sum(share for share, fits in zip(alone, fit, strict=True) if fits)
    return Availability(within, none + sum(alone))


def cut_by(network: Network, failure: Failure) -> set[int]:
    """The pairs between which a failure leaves no path in the network."""
    links = LinkArrays(network)
    weights = np.ones(network.links)
    weights[list(failure.links)] = np.inf
    distance = EqualCostPaths.of(links, weights, np.arange(network.nodes)).distance
    return set(np.flatnonzero(~np.isfinite(distance[network.pair_sources, network.pair_targets])).tolist())


def surviving(splits_paths: Splits, failure: Failure) -> Booleans:
    """Whether each path has none of the links that fail."""
    candidates = splits_paths.candidates
    fails = np.zeros(candidates.network.links, dtype=bool)
    fails[list(failure.links)] = True
    return ~np.logical_or.reduceat(fails[candidates.path_links], candidates.start[:-1])


def renormalised(splits: Splits, failure: Failure) -> tuple[Floats, Integers]:
    """The shares of all paths after a failure, in proportion to those before, and the pairs that have no path in use left."""
    pair, pairs = splits.candidates.pair, splits.candidates.network.pairs
    left = np.where(surviving(splits, failure), splits.shares, 0.0)
    sums = np.bincount(pair, weights=left, minlength=pairs)
    scale = np.divide(1.0, sums, out=np.zeros(pairs), where=sums > 0)
    return left * scale[pair], np.flatnonzero(sums <= 0)


def after(model: TrafficModel, splits: Splits, failures: Sequence[Failure]) -> list[AfterFailure]:
    """The worst-case load after each failure, with the splits renormalised."""
    found = []
    for failure in failures:
        shares, without_path = renormalised(splits, failure)
        gone = lost_pairs(model, failure, without_path, splits.candidates.network)
        found.append(AfterFailure(failure, load_of(model, splits, shares), gone))
    return found


def load_of(model: TrafficModel, splits: Splits, shares: Floats) -> float:
    """The worst-case load if paths have these shares."""
    network = splits.candidates.network
    return float(worst_loads(network, model, crossings(splits.candidates, shares)).load.max())
