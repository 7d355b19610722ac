"""What is left of a broken scenario without its broken parts, so that names in the rest can be checked as well."""

from collections.abc import Iterable
from typing import Any

from anabranch.scenario.problems import Path, Problem

_LISTS = ("traffic", "impairments", "events", "capture")
_NEUTRAL: dict[str, Any] = {"stacks": {"preset": "newreno"}, "routing": {}}
"""What stands for a broken definition: its name is still known."""
_LONGEST_RUN = {"duration": "20h"}


class Mended:
    """A document without its broken parts, and the way back to the places in the original."""

    def __init__(self, document: dict[str, Any], broken: Iterable[Path]) -> None:
        """``broken`` are the places of the problems; :class:`ValueError` if they leave nothing to check."""
        self.document = dict(document)
        self._kept: dict[str, list[int]] = {}
        for path in broken:
            self._take_out(path)
        for section, kept in self._kept.items():
            self.document[section] = [self.document[section][index] for index in kept]

    def _take_out(self, path: Path) -> None:
        section = path[0] if path else None
        if section == "run":
            self.document["run"] = _LONGEST_RUN
        elif section == "title":
            self.document.pop("title", None)
        elif section in _LISTS and len(path) > 1:
            everything = list(range(len(self.document[section])))
            kept = self._kept.setdefault(section, everything)
            self._kept[section] = [index for index in kept if index != path[1]]
        elif section in _NEUTRAL and len(path) > 1:
            self.document[section] = self.document[section] | {path[1]: _NEUTRAL[section]}
        else:
            raise ValueError("the rest means nothing without this part")

    def original(self, problem: Problem) -> Problem:
        """A problem of the mended document at its place in the original."""
        section = problem.path[0] if problem.path else None
        if section not in self._kept:
            return problem
        index = self._kept[str(section)][int(problem.path[1])]
        return Problem((*problem.path[:1], index, *problem.path[2:]), problem.message, problem.value)
