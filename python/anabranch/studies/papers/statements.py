"""The claims of a paper, with the texts of our findings about them: ``claims.toml`` in the paper's folder.

| key | content |
|---|---|
| ``id`` | the name of the claim |
| ``where`` | the place in the paper |
| ``says`` | the claim |
| ``evidence`` | our numbers |
| ``reason`` | why the claim does not hold in full; only for claims that may fail |
| ``remark`` | instead of a reason: what to add whatever the verdict |

Evidence, reason and remark are texts with named values in braces, as in :meth:`str.format`. The code of a study computes these values.
``{share}`` is the share of comparisons that are as claimed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from anabranch.studies.papers.study import Claim, Verdict

FILE = "claims.toml"


@dataclass(frozen=True)
class Statements:
    """The claims of a paper, by their ids."""

    entries: Mapping[str, Mapping[str, str]]

    def claim(
        self, id: str, judgement: Verdict | Sequence[bool], *, reason_applies: bool = True, **values: object
    ) -> Claim:
        """The claim with its verdict, which may come from comparisons, and with the values in its texts.

        ``reason_applies`` is false if the reason or remark does not fit what was found.

        Raises:
            LookupError: there is no such claim, or a text names a value that is not given.
        """
        entry = self.entries[id]
        if isinstance(judgement, str):
            verdict = judgement
        else:
            verdict = judged(judgement)
            values["share"] = share(judgement)
        reason = "" if verdict == "holds" else entry.get("reason", "")
        reason = entry.get("remark", reason) if reason_applies else ""
        return Claim(
            id, entry["where"], entry["says"], verdict, entry["evidence"].format(**values), reason.format(**values)
        )


@cache
def load(folder: Path) -> Statements:
    """The claims of the paper in this folder."""
    entries = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))["claim"]
    return Statements({entry["id"]: entry for entry in entries})


def beside(module: str) -> Statements:
    """The claims of the paper to which a module belongs; the argument is its ``__file__``."""
    return load(Path(module).parent)


def graded(holds: bool, partly: bool) -> Verdict:
    """The verdict on a claim that holds, holds partly, or does not hold."""
    return "holds" if holds else "holds partly" if partly else "does not hold"


def judged(comparisons: Sequence[bool]) -> Verdict:
    """The verdict on a claim: it holds if all comparisons are as claimed, and partly if at least half are."""
    return graded(all(comparisons), 2 * sum(comparisons) >= len(comparisons))


def share(comparisons: Sequence[bool]) -> str:
    """The number of comparisons that are as claimed, as text."""
    return f"{sum(comparisons)} of {len(comparisons)} comparisons"
