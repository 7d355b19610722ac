"""The addresses of an export by its ``plan.json``: which node or link they stand for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.forwarding import Shares
from anabranch.foundation import input_files
from anabranch.network.topologies import Topology

Costs = dict[tuple[str, str], int]
"""The cost of each link by its ends."""


@dataclass(frozen=True)
class ConfigLine:
    """A line of a configuration, or a part of it, with its place."""

    where: str
    text: str

    @cached_property
    def words(self) -> list[str]:
        """What blanks part."""
        return self.text.split()

    def after(self, key: str) -> str:
        """The word behind another.

        Raises:
            ExportError: the line has no such word.
        """
        if key not in self.words[:-1]:
            raise self.wrong(f"has no {key}")
        return self.words[self.words.index(key) + 1]

    def wrong(self, reason: str) -> ExportError:
        """The error of a line."""
        return ExportError(f"{self.where}: {self.text.strip()[:80]!r} {reason}")

    def whole(self, text: str, most: int) -> int:
        """A whole number from 1 to a bound.

        Raises:
            ExportError: it is none.
        """
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= most:
            raise self.wrong(f"has {text!r}, which must be a whole number from 1 to {most}")
        return int(text)


class Addresses:
    """The plan of an export, on the topology that reads it."""

    def __init__(self, directory: Path, plan: Any, topology: Topology) -> None:
        """``plan`` is the document of ``plan.json``.

        Raises:
            ExportError: the plan is none, or of another topology.
        """
        self.directory = directory
        self.topology = topology
        try:
            self.nodes: list[str] = [node["name"] for node in plan["nodes"]]
            self.identifiers = {node["name"]: str(node["identifier"]) for node in plan["nodes"]}
            self.prefixes: dict[str, str] = {node["prefix"]: node["name"] for node in plan["nodes"]}
            self.routers: dict[str, str] = {node["router"]: node["name"] for node in plan["nodes"]}
            self.labels: dict[int, str] = {node["label"]: node["name"] for node in plan["nodes"]}
            ends = plan["interfaces"]
            self.interfaces: dict[tuple[str, str], str] = {(end["node"], end["name"]): end["neighbour"] for end in ends}
            self.ports: dict[tuple[str, int], str] = {(end["node"], end["port"]): end["neighbour"] for end in ends}
            self.adjacencies: dict[tuple[str, int], str] = {
                (end["node"], end["label"]): end["neighbour"] for end in ends
            }
        except (KeyError, TypeError) as error:
            raise ExportError(f"{directory / 'plan.json'}: is no addressing plan of an export ({error})") from None
        known = {node.name for node in topology.nodes}
        for name in self.nodes:
            if name not in known:
                raise ExportError(
                    f"{directory / 'plan.json'}: is of another network: {topology.name} has no node {name!r}"
                )

    def has(self, node: str, suffix: str) -> bool:
        """Whether the export has a file of a node."""
        return (self.directory / f"{self.identifiers[node]}{suffix}").is_file()

    def lines(self, node: str, suffix: str) -> Iterator[ConfigLine]:
        """The lines of a node's file that are no comments."""
        file = self.directory / f"{self.identifiers[node]}{suffix}"
        for number, text in enumerate(input_files.text(file).splitlines(), 1):
            line = ConfigLine(f"{file}: line {number}", text)
            if line.words and line.words[0][0] not in "#!":
                yield line

    def target(self, line: ConfigLine, prefix: str) -> str:
        """The node whose hosts have a prefix."""
        return self._known(line, self.prefixes, prefix, "prefix")

    def neighbour(self, line: ConfigLine, node: str, interface: str) -> str:
        """The node behind an interface."""
        return self._known(line, self.interfaces, (node, interface), "interface")

    @staticmethod
    def _known(line: ConfigLine, names: Mapping[Any, str], key: Any, what: str) -> str:
        if key not in names:
            shown = key[1] if isinstance(key, tuple) else key
            raise line.wrong(f"has {what} {shown!r}, which is not in plan.json")
        return names[key]


def shares(weights: Mapping[str, int]) -> Shares:
    """Whole-number weights as shares."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
