"""A routing to judge: OSPF by a metric, or what other commands wrote."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.engineering.robust.errors import RobustError, shortened
from anabranch.engineering.robust.files import weighted_paths
from anabranch.engineering.robust.judging import METRICS, Routing, explicit, ospf, weights_by
from anabranch.engineering.robust.network import Network
from anabranch.foundation import input_files
from anabranch.foundation.array_types import Floats
from anabranch.foundation.toml_text import TomlError, parse

_READ_BACK = {"json": "routes.json", "scenario": "routing.toml"}


def routing_of(given: str, network: Network) -> Routing:
    """The routing that ``--judge`` names.

    A metric of :data:`~anabranch.engineering.robust.judging.METRICS` means OSPF with equal-cost multipath. A file is the JSON of
    ``anabranch robust``, ``plan``, ``routes`` or ``weights``, or a scenario's table of paths. A directory is an export in any format.

    Raises:
        InputError: the file cannot be read.
        RobustError: it is none of these, or it does not fit the network.
    """
    if given in METRICS:
        return ospf(network, weights_by(network, given))
    path = Path(given)
    if not path.exists():
        raise RobustError(f"must be {', '.join(METRICS)}, a file, or the directory of an export")
    if path.is_dir():
        written = _format(path)
        if written not in _READ_BACK:
            return _exported(path, network)
        path /= _READ_BACK[written]
    if path.suffix.lower() == ".toml":
        return explicit(network, _toml_paths(path))
    document = input_files.json_document(path)
    if isinstance(document, dict) and isinstance(document.get("weights"), list) and "splits" not in document:
        weights = _weights(document["weights"], network)
        segments = document.get("two_segments")
        return ospf(network, weights) if segments is None else _segments(segments, weights, network)
    if isinstance(document, dict) and "forwarding" in document:
        return explicit(network, _routes(path, network))
    return explicit(network, weighted_paths(path))


def _format(directory: Path) -> str:
    manifest = directory / "export.json"
    if not manifest.is_file():
        raise RobustError("is a directory without export.json, so it is no export")
    document = input_files.json_document(manifest)
    return str(document.get("format")) if isinstance(document, dict) else ""


def _exported(directory: Path, network: Network) -> Routing:
    from anabranch.engineering.routes.export.errors import ExportError
    from anabranch.engineering.routes.export.reading import read_back

    try:
        found = read_back(directory, network.topology)
    except ExportError as error:
        raise RobustError(str(error)) from None
    if found.costs is None:
        return explicit(network, [way for ways in found.paths.values() for way in ways])
    costs = [{"src": source, "dst": target, "weight": cost} for (source, target), cost in found.costs.items()]
    return ospf(network, _weights(costs, network))


def _routes(path: Path, network: Network) -> Iterable[tuple[Sequence[str], float]]:
    from anabranch.engineering.routes.export.errors import ExportError
    from anabranch.engineering.routes.export.forwarding import paths
    from anabranch.engineering.routes.export.json_file import read_json

    try:
        return [way for ways in paths(read_json(path, network.topology)).values() for way in ways]
    except ExportError as error:
        raise RobustError(str(error)) from None


def _toml_paths(path: Path) -> Iterable[tuple[Sequence[str], float]]:
    try:
        tables = parse(input_files.text(path)).get("routing", {})
    except TomlError as error:
        raise RobustError(str(error)) from None
    listed = [table for table in tables.values() if isinstance(table, dict) and isinstance(table.get("paths"), list)]
    if len(listed) != 1:
        raise RobustError(f"has {len(listed)} tables [routing.NAME] with a list of paths; it must have one")
    ways = listed[0]["paths"]
    weights = listed[0].get("weights", [1.0] * len(ways))
    right = all(isinstance(way, list) and all(isinstance(node, str) for node in way) for way in ways)
    if not right or not _are_shares(weights) or len(weights) != len(ways):
        raise RobustError("paths must be lists of node names, and weights a number of at least 0 for each of them")
    return zip(ways, weights, strict=True)


def _are_shares(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one < float("inf") for one in values
    )


def _segments(segments: Any, weights: Floats, network: Network) -> Routing:
    from anabranch.engineering.weights.intermediate_nodes import routing

    place = {name: index for index, name in enumerate(network.names)}
    entries: list[tuple[int, int, int, float]] = []
    try:
        for record in segments["pairs"]:
            source, target = place[record["src"]], place[record["dst"]]
            for way in record["via"]:
                via = target if way["node"] is None else place[way["node"]]
                entries.append((source, target, via, float(way["fraction"])))
    except (KeyError, TypeError, ValueError) as error:
        raise RobustError(f"two_segments: must be as anabranch weights --labels 2 --json writes it ({error})") from None
    if not entries or not _are_shares([share for *_, share in entries]):
        raise RobustError("two_segments: must have pairs with fractions of at least 0")
    sources, targets, nodes, shares = (np.array(part) for part in zip(*entries, strict=True))
    return routing(network, weights, (sources, targets, nodes, shares))


def _weights(records: list[Any], network: Network) -> Any:
    place = {network.link_name(link): link for link in range(network.links)}
    weights = np.zeros(network.links)
    for number, record in enumerate(records):
        where = f"weights[{number}]"
        if not isinstance(record, dict):
            raise RobustError(f"{where}: must have src, dst and weight")
        ends, weight = (record.get("src"), record.get("dst")), record.get("weight")
        if ends not in place:
            raise RobustError(
                f"{where}: {network.topology.name} has no link {shortened(str(ends[0]))} -> {shortened(str(ends[1]))}"
            )
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= 2**32:
            raise RobustError(f"{where}: weight {shortened(repr(weight))} must be a whole number of at least 1")
        weights[place[ends]] = weight
    if not weights.all():
        raise RobustError(f"has no weight of the link {' -> '.join(network.link_name(int(np.argmin(weights))))}")
    return weights
