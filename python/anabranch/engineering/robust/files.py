"""Traffic from files, from a topology's own demands, and by gravity.

A **rate for each node** (hose) is a CSV with the header ``node,sent,received`` (or ``node,rate`` for both alike), or TOML:
``Seattle = "10Gbps"`` or ``Seattle = { sent = "10Gbps", received = "5Gbps" }``. A **traffic matrix** (pipe, explicit set, box)
is a file of one of these formats. A CSV has the header ``source,target,rate`` (or ``src,dst,rate``, ``from,to,rate``). TOML has ``[Seattle]`` with
``Denver = "1Gbps"`` below it. In SNDlib XML, demands have the unit of its capacities. :mod:`~anabranch.engineering.robust.data_sets` has those of data
sets. Pairs that are not named send nothing; every node of a hose must be named.
"""

import csv
import glob
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np

from anabranch.engineering.robust import data_sets
from anabranch.engineering.robust.errors import RobustError, shortened
from anabranch.engineering.robust.network import Network
from anabranch.foundation import csv_text, input_files, units
from anabranch.foundation.array_types import Floats
from anabranch.foundation.ends import ENDS, canonical
from anabranch.foundation.suggest import suggest
from anabranch.foundation.toml_text import TomlError, parse

_TOPOHUB_BPS = {"sndlib/brain": 1.0}
"""The unit of demands in TopoHub, which does not say it, where it is not Mbit/s: SNDlib's file has BITSPERSEC."""
_MBPS = 1e6
_RANGE = re.compile(r"(.+)#([0-9]{1,9})\.\.([0-9]{1,9})")
_NAMED = ("demands", "gravity")
_NODE_RATES = ("rate", "sent", "received")


def hose_rates(source: str, network: Network) -> tuple[Floats, Floats]:
    """The most that each node may send and receive, bit/s: a rate for all, or a file.

    Raises:
        RobustError: neither a rate nor a file that can be used.
    """
    plain = _rate_or_none(source)
    if plain is not None:
        return np.full(network.nodes, plain), np.full(network.nodes, plain)
    sent, received = np.full(network.nodes, np.nan), np.full(network.nodes, np.nan)
    place = {name: index for index, name in enumerate(network.names)}
    for where, name, values in _node_rows(Path(source)):
        node = _node(place, name, where, network)
        if not np.isnan(sent[node]):
            raise RobustError(f"{where}: node {name} appears twice")
        for rates, way in ((sent, "sent"), (received, "received")):
            if way not in values and "rate" not in values:
                raise RobustError(f"{where}: node {name} has no {way}; give sent and received, or rate for both")
            rates[node] = _rate(values.get(way, values.get("rate")), f"{where}, {way}")
    if np.isnan(sent).any():
        missing = network.names[int(np.argmax(np.isnan(sent)))]
        raise RobustError(f"{source}: node {missing} is missing; a hose needs a rate for every node")
    return sent, received


def pair_rates(source: str, network: Network) -> Floats:
    """The rate of each pair, bit/s: a rate for all, a file, ``demands`` (the topology's own) or ``gravity=TOTAL``.

    Raises:
        RobustError: none of these, or it cannot be used.
    """
    plain = _rate_or_none(source)
    if plain is not None:
        return np.full((network.nodes, network.nodes), plain)
    if source == "demands":
        return own_demands(network)
    if source.startswith("gravity="):
        return gravity(network, _rate(source.removeprefix("gravity="), "gravity ="))
    matrix = np.zeros((network.nodes, network.nodes))
    place = {name: index for index, name in enumerate(network.names)}
    numbered = network.topology.numbered()
    for where, src, dst, rate in pair_rows(Path(source)):
        matrix[_node(place, src, where, network, numbered), _node(place, dst, where, network, numbered)] = rate
    return matrix


def pair_rows(path: Path) -> Iterator[data_sets.Row]:
    """The place, source, destination and rate (bit/s) of each line of a file with a traffic matrix; no pair is there twice.

    A node is its name, or its number in the topology's file. ``FILE#3`` is the third matrix of a file with several.

    Raises:
        RobustError: the file cannot be used.
    """
    seen = set()
    for where, src, dst, value in _pair_rows(path):
        if src == dst:
            raise RobustError(f"{where}: {src} cannot send to itself")
        if (src, dst) in seen:
            raise RobustError(f"{where}: {src} -> {dst} appears twice")
        seen.add((src, dst))
        yield where, src, dst, value if isinstance(value, float) else _rate(value, where)


def own_demands(network: Network) -> Floats:
    """The demands that TopoHub has for the topology of this name (SNDlib's instances have some), bit/s.

    Raises:
        RobustError: there are none, or the topology lacks one of its nodes.
    """
    from anabranch.network.topologies import topohub_names

    name = network.topology.name
    demands: dict[Any, Any] = {}
    nodes: dict[Any, int] = {}
    if name in topohub_names.names():
        document = topohub_names.document(name)
        demands = document["graph"].get("demands") or {}
        # A file may have this name, and other nodes or another order.
        place = {node: index for index, node in enumerate(network.names)}
        ids = [node["id"] for node in document["nodes"]]
        known = [node.name for node in topohub_names.load(name).nodes]
        nodes = {
            identity: _node(place, node, f"the demands of {name}", network)
            for identity, node in zip(ids, known, strict=True)
        }
    if not demands:
        raise RobustError(
            f"{name} has no demands of its own (SNDlib's topologies in TopoHub have); give a file or gravity=RATE"
        )
    matrix = np.zeros((network.nodes, network.nodes))
    for source, row in demands.items():
        for target, value in row.items():
            if source != target:
                matrix[nodes[source], nodes[target]] += float(value) * _TOPOHUB_BPS.get(name, _MBPS)
    return matrix


def gravity(network: Network, total: float) -> Floats:
    """A gravity model: traffic in proportion to the capacities that leave the source and enter the destination."""
    out = np.bincount(network.sources, weights=network.capacity, minlength=network.nodes)
    into = np.bincount(network.targets, weights=network.capacity, minlength=network.nodes)
    return in_proportion(out.astype(float), into.astype(float), total)


def in_proportion(sent: Floats, received: Floats, total: float) -> Floats:
    """A traffic matrix with this total whose entries are proportional to the source's and the destination's weight.

    It is zero if no source and destination with weights differ.
    """
    matrix = np.outer(_in_range(sent), _in_range(received))
    np.fill_diagonal(matrix, 0.0)
    matrix = _in_range(matrix)
    return matrix * (total / matrix.sum()) if matrix.any() else matrix


def _in_range(values: Floats) -> Floats:
    """Values divided by one power of two, with the greatest from 0.5 to 1: no product or sum of them overflows."""
    scaled: Floats = np.ldexp(values, -np.frexp(values.max(initial=0.0))[1])
    return scaled


def weight_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """The place, node and weight of each line of a CSV file with the header ``node,weight``.

    Raises:
        RobustError: the file is not of this kind.
    """
    for where, row in _csv(path, ("node", "weight"), also={"population": "weight"}):
        yield where, row["node"], row["weight"]


def path_lists(source: Path) -> list[list[str]]:
    """The user's candidate paths: JSON, a list of lists of node names, or what ``anabranch routes`` and ``robust`` print.

    Raises:
        RobustError: the file is neither.
    """
    return [path for path, _ in weighted_paths(source)]


def weighted_paths(source: Path) -> list[tuple[list[str], float]]:
    """As :func:`path_lists`, each with its fraction (1 if the file has none).

    Raises:
        RobustError: the file is neither.
    """
    wrong = RobustError(f'{source}: must be a list of paths such as [["A", "B", "C"]], or routes as JSON')
    document = input_files.json_document(source)
    if isinstance(document, dict):
        routes = document.get("splits", document.get("routes"))
        if not _are_objects(routes):
            raise wrong
        ways = [route.get("paths", [route]) for route in routes]
        if not all(map(_are_objects, ways)):
            raise wrong
        document = [(part["path"], part.get("fraction", 1.0)) for parts in ways for part in parts if part.get("path")]
    elif isinstance(document, list):
        document = [(path, 1.0) for path in document]
    else:
        raise wrong
    for path, fraction in document:
        if not isinstance(path, list) or not all(isinstance(name, str) for name in path):
            raise wrong
        if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction < float("inf"):
            shown = shortened(repr(fraction))
            raise RobustError(f"{source}: path {shortened(' '.join(path))}: fraction {shown} must be at least 0")
    return document


def several(source: str) -> list[str]:
    """The matrices that a text names: ``FILE#1..288`` are 288 of a sequence, and ``DIR/*.xml`` all files of that pattern, by name.

    Raises:
        RobustError: there are none.
    """
    found = _RANGE.fullmatch(source)
    if found is not None and not Path(source).exists():
        first, last = int(found[2]), int(found[3])
        if not 1 <= first <= last:
            raise RobustError(f"{source}: must be two numbers, the lower one first, such as {found[1]}#1..288")
        return [f"{found[1]}#{number}" for number in range(first, last + 1)]
    if "*" in source and not Path(source).exists():
        files = sorted(glob.glob(source))
        if not files:
            raise RobustError(f"{source}: there is no such file")
        return files
    return [source]


def _are_objects(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _node_rows(path: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    if path.suffix.lower() == ".toml":
        for name, value in _toml(path).items():
            where, values = f"{path}: {name}", value if isinstance(value, dict) else {"rate": value}
            for key in values:
                if key not in _NODE_RATES:
                    raise RobustError(f"{where}: {shortened(key)} is none of {', '.join(_NODE_RATES)}")
            yield where, name, values
        return
    for where, row in _csv(path, ("node",), _NODE_RATES):
        yield where, row["node"], row


def _pair_rows(source: Path) -> Iterator[tuple[str, str | data_sets.Numbered, str | data_sets.Numbered, str | float]]:
    path, number = data_sets.file_of(source)
    if path.suffix.lower() == ".toml":
        for src, row in _toml(path).items():
            if not isinstance(row, dict):
                raise RobustError(f"{path}: [{src}] must be a table of rates by destination")
            for dst, value in row.items():
                where = f"{path}: {src}.{dst}"
                yield where, src, dst, _rate(value, where)
    elif path.suffix.lower() in (".xml", ".sndlib"):
        yield from _sndlib(path)
    elif (rows := data_sets.rows(path, number)) is not None:
        yield from rows
    else:
        for where, row in _csv(path, ("source", "target", "rate")):
            yield where, row["source"], row["target"], row["rate"]


def _sndlib(path: Path) -> Iterator[tuple[str, str, str, float]]:
    from anabranch.network.topologies.formats.sndlib import unit_bps
    from anabranch.network.topologies.formats.xml import content, root

    found: dict[tuple[str, str], float] = {}
    network = root(input_files.content(path), str(path))
    unit = unit_bps(network, str(path))
    for number, demand in enumerate(network.iter("demand"), 1):
        where = f"{path}: <demand> {demand.get('id', number)}"
        ends = content(demand.find("source")), content(demand.find("target"))
        # The capacity that one unit of the demand takes (Orlowski et al., "SNDlib 1.0", Networks 2010, section 2.1).
        value = float(unit)
        for tag, absent in (("demandValue", ""), ("routingUnit", "1")):
            try:
                value *= float(content(demand.find(tag)) or absent)
            except ValueError:
                raise RobustError(f"{where}: has no number in <{tag}>") from None
        if not ends[0] or not ends[1] or not 0 <= value < float("inf"):
            raise RobustError(f"{where}: needs <source>, <target> and a <demandValue> of at least 0")
        found[ends[0], ends[1]] = found.get((ends[0], ends[1]), 0.0) + value
    if not found:
        raise RobustError(f"{path}: has no <demand>; SNDlib's networks with demands have them")
    for (src, dst), rate in found.items():
        yield str(path), src, dst, rate


def _toml(path: Path) -> dict[str, Any]:
    try:
        return parse(input_files.text(path))
    except TomlError as error:
        raise RobustError(f"{path}: {error}") from None


def _csv(
    path: Path, needed: tuple[str, ...], optional: tuple[str, ...] = (), also: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and values of each row; ``also`` has other names of columns."""
    rows = csv_text.rows(input_files.text(path))
    try:
        written = [column.strip() for column in next(rows, [])]
        header = [also.get(column, column) for column in map(canonical, written)]
        known = {*needed, *optional}
        if not set(needed) <= set(header) or not set(header) <= known or len(set(header)) < len(header):
            expected = ",".join((*needed, *(f"[{name}]" for name in optional)))
            names = [(name, other) for name in needed for other in ENDS.get(name, ())[1:]]
            others = ", ".join(
                f"{name} may be called {other}"
                for name, other in [*names, *((name, other) for other, name in also.items())]
            )
            raise RobustError(
                f"{path}: the header is {shortened(','.join(written)) or 'missing'}; it must be {expected}"
                + (f" ({others})" if others else "")
            )
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            where = f"{path}: line {rows.line_num}"
            if len(row) != len(header):
                raise RobustError(f"{where}: has {len(row)} values; the header has {len(header)}")
            yield where, dict(zip(header, (cell.strip() for cell in row), strict=True))
    except csv.Error as error:
        raise RobustError(f"{path}: line {rows.line_num} is not CSV ({error})") from None


def _node(
    place: dict[str, int],
    name: str | data_sets.Numbered,
    where: str,
    network: Network,
    numbered: Mapping[int, str] = MappingProxyType({}),
) -> int:
    if isinstance(name, data_sets.Numbered):
        try:
            name = name.name(numbered)
        except ValueError as error:
            raise RobustError(f"{where}: {network.topology.name}: {error}") from None
    if name not in place:
        raise RobustError(f"{where}: {network.topology.name} has no node {shortened(name)}; {suggest(name, place)}")
    return place[name]


def _rate_or_none(text: str) -> float | None:
    try:
        return float(units.rate(text))
    except units.UnitError as error:
        if data_sets.file_of(text)[0].exists() or text.startswith(_NAMED):
            return None
        raise RobustError(f"{text}: is neither a file nor a rate: it {error}") from None


def _rate(value: object, where: str) -> float:
    try:
        return float(units.rate(value))  # type: ignore[arg-type]  # refuses what is no text
    except units.UnitError as error:
        raise RobustError(f"{where} {shortened(repr(value))}: {error}") from None
