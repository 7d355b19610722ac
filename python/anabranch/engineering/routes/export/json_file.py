"""Routes as JSON, as ``anabranch routes --json`` prints them, and read back."""

from pathlib import Path as FilePath
from typing import Any

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.files import Files, document
from anabranch.engineering.routes.export.forwarding import checked
from anabranch.engineering.routes.export.plan import AddressPlan
from anabranch.engineering.routes.model import Path, Route, Routes
from anabranch.foundation.ends import key_of
from anabranch.foundation.input_files import InputError, json_document
from anabranch.network.topologies import Topology

NAME = "routes.json"
_FORWARDING = ("explicit", "hop-by-hop")


def files(routes: Routes, plan: AddressPlan) -> Files:
    """The document in one file; the addresses are in the plan beside it."""
    head = routes.document()
    records = head.pop("routes")
    return Files({NAME: document(head, "routes", records)})


def read_json(file: str | FilePath, topology: Topology) -> Routes:
    """Read routes on the topology back.

    Raises:
        ExportError: names file, place, value, and what would be right; also where a path does not fit the topology.
    """
    try:
        document = json_document(FilePath(file))
    except InputError as error:
        raise ExportError(str(error)) from None
    reader = _Reader(str(file))
    metric = reader.value(document, "", "metric", str, "the name of a metric")
    forwarding = reader.value(document, "", "forwarding", str, '"explicit" or "hop-by-hop"')
    if forwarding not in _FORWARDING:
        raise reader.error("forwarding", forwarding, '"explicit" or "hop-by-hop"')
    records = reader.value(document, "", "routes", list, "a list of routes")
    routes = Routes(
        topology, metric, forwarding, tuple(reader.route(record, f"routes[{i}]") for i, record in enumerate(records))
    )
    try:
        checked(routes)
    except ExportError as error:
        raise ExportError(f"{file}: {error}") from None
    return routes


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file

    def error(self, place: str, value: object, expectation: str) -> ExportError:
        shown = repr(value)
        return ExportError(
            f"{self.file}: {place} = {shown if len(shown) <= 80 else shown[:77] + '...'}: must be {expectation}"
        )

    def value(self, record: object, place: str, key: str, kind: type | tuple[type, ...], expectation: str) -> Any:
        if not isinstance(record, dict):
            raise self.error(place or "the document", record, "an object")
        where = f"{place}.{key}" if place else key
        if key not in record:
            raise ExportError(f"{self.file}: {where}: is missing; must be {expectation}")
        found = record[key]
        if not isinstance(found, kind) or (isinstance(found, bool)):
            raise self.error(where, found, expectation)
        return found

    def route(self, record: object, place: str) -> Route:
        written = record if isinstance(record, dict) else {}
        keys = [key_of("source", written) or "src", key_of("target", written) or "dst"]
        source, target = (self.value(record, place, key, str, "the name of a node") for key in keys)
        assert isinstance(record, dict)
        if "paths" in record:
            several = self.value(record, place, "paths", list, "a list of paths")
            paths = [self.path(path, f"{place}.paths[{i}]", True) for i, path in enumerate(several)]
        elif self.value(record, place, "path", (list, type(None)), "a list of nodes, or null") is None:
            paths = []
        else:
            paths = [self.path(record, place, False)]
        return Route(source, target, tuple(paths))

    def path(self, record: object, place: str, several: bool) -> Path:
        nodes = self.value(record, place, "path", list, "a list of nodes")
        for index, node in enumerate(nodes):
            if not isinstance(node, str):
                raise self.error(f"{place}.path[{index}]", node, "the name of a node")
        weight = self.value(record, place, "fraction", (int, float), "a number above 0, at most 1") if several else 1.0
        assert isinstance(record, dict)
        numbers = {
            key: self.value(record, place, key, (int, float, type(None)), "a number, or null")
            if key in record
            else None
            for key in ("delay_s", "loss", "cost")
        }
        return Path(tuple(nodes), weight, **numbers)
