"""The claims of a paper, with the texts of our findings about them: ``claims.toml`` in the paper's folder.

| key | content |
|---|---|
| ``id`` | the name of the claim |
| ``where`` | the place in the paper |
| ``says`` | the claim |
| ``rule`` | when it holds, and when it holds partly; what is between is undecided |
| ``quick`` | ``false`` if the runs of the quick version are too short for a verdict |
| ``evidence`` | our numbers |
| ``reason`` | why the claim does not hold in full; only for claims that may fail |
| ``remark`` | instead of a reason: what to add whatever the verdict |

Evidence, reason and remark are texts with named values in braces, as in :meth:`str.format`. The code of a study computes these values.
``{share}`` is the share of comparisons that are as claimed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from anabranch.studies.papers.study import Claim, Verdict
from anabranch.studies.papers.verdicts import Truth, judged, share

FILE = "claims.toml"


@dataclass(frozen=True)
class Statements:
    """The claims of a paper, by their ids."""

    entries: Mapping[str, Mapping[str, Any]]

    def claim(
        self, id: str, judgement: Verdict | Sequence[Truth], *, reason_applies: bool = True, **values: object
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
        reason = "" if verdict in ("holds", "undecided") else entry.get("reason", "")
        reason = entry.get("remark", reason) if reason_applies else ""
        return Claim(
            id,
            entry["where"],
            entry["says"],
            entry["rule"],
            verdict,
            entry["evidence"].format(**values),
            reason.format(**values),
        )

    def for_quick(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims of a quick version: without the verdicts that its short runs cannot give."""
        return [
            claim if self.entries[claim.id].get("quick", True) else replace(claim, verdict="undecided", reason="")
            for claim in claims
        ]


@cache
def load(folder: Path) -> Statements:
    """The claims of the paper in this folder."""
    entries = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))["claim"]
    return Statements({entry["id"]: entry for entry in entries})


def beside(module: str) -> Statements:
    """The claims of the paper to which a module belongs; the argument is its ``__file__``."""
    return load(Path(module).parent)
