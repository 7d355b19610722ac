"""Removes the broken parts of a scenario, so that names in the other parts can be checked as well."""

from collections.abc import Iterable
from typing import Any

from anabranch.foundation.toml_text import Path
from anabranch.scenario.problems import Problem
from anabranch.scenario.stacks import PRESETS

_LISTS = {("traffic",), ("impairments",), ("events",), ("capture",), ("topology", "override")}
"""Lists whose entries do not define what others name, so that a broken one is left out."""
_NAMED_BY = {"stacks": ("stack",), "routing": ("routing", "acks")}
"""Keys whose values cannot be judged where a whole section of definitions is broken."""
_OF_LINKS = {"capacity": "1Mbps", "delay": "1ms", "queue": "drop-tail"}
"""Replacements for broken properties of links, in the section and in its inline links."""
_NO_NAMES: dict[tuple[str, ...], frozenset[str]] = {
    ("topology", "links"): frozenset({"capacity", "delay", "length", "loss", "cost", "directed"}),
    ("topology", "nodes"): frozenset({"latitude", "longitude"}),
}
"""Keys of inline links and nodes without which the names of nodes are still known."""
_LONGEST_RUN = {"duration": "20h"}
_SOME_TRAFFIC = {"from": "all", "to": "all", "bulk": True, "stack": "newreno", "routing": "ospf"}
_SOME_TOPOLOGY = {"from": "unknown"}


class WithoutBrokenParts:
    """A document without its broken parts, and the way back to the places in the original."""

    def __init__(self, document: dict[str, Any], broken: Iterable[Path]) -> None:
        """``broken`` are the places of the problems."""
        self.document = dict(document)
        self.topology_known = True
        self._kept: dict[Path, list[int]] = {}
        self._unknown_keys: set[str] = set()
        for path in broken:
            self._take_out(path)
        if not self.topology_known:
            self.document["topology"] = _SOME_TOPOLOGY
        for section, kept in self._kept.items():
            self._keep(section, kept)
        if not self.document.get("traffic"):
            self._kept[("traffic",)] = []
            self.document["traffic"] = [_SOME_TRAFFIC]

    def _take_out(self, path: Path) -> None:
        section = path[0] if path else None
        entries = next((here for here in _LISTS if path[: len(here)] == here and len(path) > len(here)), None)
        if entries is not None:
            everything = range(len(self._at(entries)))
            self._kept[entries] = [
                index for index in self._kept.get(entries, everything) if index != path[len(entries)]
            ]
        elif section == "topology":
            self._take_out_of_topology(path)
        elif section == "run":
            self.document["run"] = _LONGEST_RUN
        elif section in _NAMED_BY and len(path) > 1:
            self.document[section] = self.document[section] | {path[1]: _definition(str(section), str(path[1]))}
        elif section is not None:
            self.document.pop(str(section), None)
            self._unknown_keys.update(_NAMED_BY.get(str(section), ()))

    def _take_out_of_topology(self, path: Path) -> None:
        section, key = self.document.get("topology"), path[1] if len(path) > 1 else None
        if not isinstance(section, dict) or key is None:
            self.topology_known = False
        elif key in _OF_LINKS:
            self.document["topology"] = section | {key: _OF_LINKS[str(key)]}
        elif key == "override":
            self.document["topology"] = {name: value for name, value in section.items() if name != key}
        elif len(path) > 3 and path[3] in _NO_NAMES.get(("topology", str(key)), ()):
            entries = list(section[key])
            broken = _NO_NAMES["topology", "nodes"] if key == "nodes" else {path[3]}  # a place is both or nothing
            kept = {name: value for name, value in entries[int(path[2])].items() if name not in broken}
            entries[int(path[2])] = kept | ({} if key == "nodes" else {"capacity": "1Mbps", "delay": "1ms"})
            self.document["topology"] = section | {key: entries}
        else:
            self.topology_known = False

    def _at(self, section: Path) -> list[Any]:
        here: Any = self.document
        for key in section:
            here = here[key]
        return list(here)

    def _keep(self, section: Path, kept: list[int]) -> None:
        if section[0] == "topology" and not self.topology_known:
            return
        entries = self._at(section)
        left = [entries[index] for index in kept]
        if section[0] == "topology":
            self.document["topology"] = self.document["topology"] | {"override": left}
        else:
            self.document[str(section[0])] = left

    def original(self, problem: Problem) -> Problem | None:
        """A problem of this document at its place in the original; ``None`` for one of what stands in for it."""
        path = problem.path
        if any(key in self._unknown_keys for key in path[-1:]):
            return None
        for section, kept in self._kept.items():
            if path[: len(section)] == section and len(path) > len(section):
                index = int(path[len(section)])
                if index >= len(kept):
                    return None
                return Problem((*section, kept[index], *path[len(section) + 1 :]), problem.message, problem.value)
        return problem


def _definition(section: str, name: str) -> dict[str, str]:
    """A replacement for a broken definition, so that its name is still known."""
    return {"preset": name if name in PRESETS else "newreno"} if section == "stacks" else {}
