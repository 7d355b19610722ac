"""Several nodes by one word, as the ends of traffic: ``all``, ``hosts``, or a pattern such as ``p1*``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology

ALL = "all"
HOSTS = "hosts"
"""The nodes with one neighbour: the senders and receivers of a dumbbell, the servers of a fat tree, the stubs of a backbone.
A generator may name others with several neighbours."""


def is_one(word: str) -> bool:
    """Whether the word can name several nodes; which ones, and whether a single one has this name, depends on the topology."""
    return word in (ALL, HOSTS) or "*" in word


@dataclass(frozen=True)
class Names:
    """The nodes of a topology and the ends of its links by name, in its order."""

    nodes: Sequence[str]
    links: Sequence[tuple[str, str]]
    multihomed: Sequence[str] = ()
    """Hosts with several neighbours."""
    numbered: Mapping[int, str] = field(default_factory=dict)
    """The nodes by their numbers in the topology's file."""

    @staticmethod
    def of(topology: "Topology") -> "Names":
        """The names of a topology."""
        nodes = [node.name for node in topology.nodes]
        links = list(topology.ends())
        return Names(nodes, links, topology.multihomed, topology.numbered())

    @cached_property
    def node_index(self) -> dict[str, int]:
        """The index of each node."""
        return {name: index for index, name in enumerate(self.nodes)}

    @cached_property
    def link_index(self) -> dict[tuple[str, str], int]:
        """The index of each link."""
        return {ends: index for index, ends in enumerate(self.links)}

    @cached_property
    def hosts(self) -> Sequence[str]:
        """The nodes that :data:`HOSTS` names."""
        neighbour: dict[str, str] = {}
        with_several: set[str] = set()
        for source, target in self.links:
            if neighbour.setdefault(source, target) != target:
                with_several.add(source)
            if neighbour.setdefault(target, source) != source:
                with_several.add(target)
        with_several.difference_update(self.multihomed)
        return [node for node in self.nodes if node in neighbour and node not in with_several]

    def members(self, word: str) -> Sequence[str]:
        """The nodes that a word names; a node of this very name comes before ``hosts`` and patterns.

        Raises:
            ValueError: there are none; the message follows the word.
        """
        if word == ALL:
            return self.nodes
        if not is_one(word) or word in self.node_index:
            return [word]
        if word == HOSTS:
            if not self.hosts:
                raise ValueError(
                    "are nodes with one neighbour, and leaf-spine hosts with several leaves; here is none; "
                    'name the nodes, or give "all"'
                )
            return self.hosts
        matches = re.compile(".*".join(map(re.escape, word.split("*")))).fullmatch
        found = [node for node in self.nodes if matches(node)]
        if not found:
            raise ValueError("no node has such a name; * stands for any letters")
        return found

    def several(self, words: Sequence[str]) -> Sequence[str]:
        """The nodes that words name, one after the other; groups leave out nodes that stand there already.

        Raises:
            ValueError: as :meth:`members`.
        """
        if not any(map(is_one, words)):
            return words
        found: dict[str, None] = {}
        for word in words:
            found |= dict.fromkeys(self.members(word))
        return list(found)

    def links_between(self, link: Sequence[str] | str, one_way: bool) -> list[int]:
        """The indexes of the directed links between two nodes, or of ``"all"``."""
        if isinstance(link, str):
            return list(range(len(self.links)))
        if not link:
            return []
        source, target = link
        ends = [(source, target)] if one_way else [(source, target), (target, source)]
        return [self.link_index[pair] for pair in ends if pair in self.link_index]
