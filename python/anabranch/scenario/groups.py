"""Several nodes by one word, as the ends of traffic: ``all``, ``hosts``, or a pattern such as ``p1*``."""

import re
from collections.abc import Sequence
from functools import lru_cache

ALL = "all"
HOSTS = "hosts"
"""The nodes with one neighbour: the senders and receivers of a dumbbell, the servers of a fat tree, the stubs of a backbone."""

Links = Sequence[tuple[str, str]]


def is_one(word: str) -> bool:
    """Whether the word can name several nodes; which ones, and whether a single one has this name, depends on the topology."""
    return word in (ALL, HOSTS) or "*" in word


def members(word: str, nodes: Sequence[str], links: Links) -> Sequence[str]:
    """The nodes that a word names, in the order of the topology; a node of this very name comes before ``hosts`` and patterns.

    Raises:
        ValueError: there are none; the message follows the word.
    """
    if word == ALL:
        return nodes
    if not is_one(word) or word in nodes:
        return [word]
    if word == HOSTS:
        hosts = _hosts(tuple(nodes), tuple(links))
        if not hosts:
            raise ValueError('are nodes with one neighbour, and here is none; name the nodes, or give "all"')
        return hosts
    matches = re.compile(".*".join(map(re.escape, word.split("*")))).fullmatch
    found = [node for node in nodes if matches(node)]
    if not found:
        raise ValueError("no node has such a name; * stands for any letters")
    return found


def several(words: Sequence[str], nodes: Sequence[str], links: Links) -> Sequence[str]:
    """The nodes that words name, one after the other; groups leave out nodes that stand there already.

    Raises:
        ValueError: as :func:`members`.
    """
    if not any(map(is_one, words)):
        return words
    found: dict[str, None] = {}
    for word in words:
        found |= dict.fromkeys(members(word, nodes, links))
    return list(found)


@lru_cache(1)  # each check of a scenario asks again
def _hosts(nodes: tuple[str, ...], links: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    neighbour: dict[str, str] = {}
    with_several: set[str] = set()
    for source, target in links:
        if neighbour.setdefault(source, target) != target:
            with_several.add(source)
        if neighbour.setdefault(target, source) != source:
            with_several.add(target)
    return tuple(node for node in nodes if node in neighbour and node not in with_several)
