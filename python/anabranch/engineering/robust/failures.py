"""Failures of links: sets of them, and their effect on splits that are renormalised."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import Splits, crossings
from anabranch.engineering.robust.traffic import TrafficModel
from anabranch.foundation.array_types import Booleans, Floats, Integers
from anabranch.foundation.input_files import json_document


@dataclass(frozen=True)
class Failure:
    """Links that fail together."""

    name: str
    links: tuple[int, ...]


@dataclass(frozen=True)
class AfterFailure:
    """The network after a failure."""

    failure: Failure
    load: float
    """The worst-case load of the links that are left."""
    lost_pairs: tuple[int, ...]
    """Pairs none of whose paths is left; their traffic is not carried."""


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

    Raises:
        InputError: the file cannot be read, or it is not JSON.
        RobustError: it is not that.
    """
    document = json_document(path)
    if not isinstance(document, dict) or not document:
        raise RobustError(f'{path}: must be groups of links by name, such as {{"duct 7": [["A", "B"], ["A", "C"]]}}')
    place = {name: index for index, name in enumerate(network.names)}
    found = []
    for name, ends in document.items():
        links: list[int] = []
        for pair in ends if isinstance(ends, list) and ends else [ends]:
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
                raise RobustError(f'{path}: {name}: {pair!r} is no link; a link is its two ends, such as ["A", "B"]')
            there = [(place.get(pair[0]), place.get(pair[1])), (place.get(pair[1]), place.get(pair[0]))]
            both = [network.link_index[hop] for hop in there if hop in network.link_index]
            if not both:
                raise RobustError(f"{path}: {name}: there is no link between {pair[0]} and {pair[1]}")
            links += both
        found.append(Failure(name, tuple(sorted(set(links)))))
    return found


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
        shares, lost = renormalised(splits, failure)
        found.append(AfterFailure(failure, load_of(model, splits, shares), tuple(lost.tolist())))
    return found


def load_of(model: TrafficModel, splits: Splits, shares: Floats) -> float:
    """The worst-case load if paths have these shares."""
    network = splits.candidates.network
    return float(worst_loads(network, model, crossings(splits.candidates, shares)).load.max())
