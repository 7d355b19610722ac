"""The claims of a paper, with the texts of our findings about them: ``claims.toml`` in the paper's folder.

| key | content |
|---|---|
| ``id`` | the name of the claim |
| ``where`` | the place in the paper |
| ``says`` | the claim |
| ``evidence`` | our numbers |
| ``reason`` | why the claim does not hold in full; only for claims that may fail |

Evidence and reason are texts with named values in braces. ``{share}`` is the share of comparisons that are as claimed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.studies.papers.study import Claim, Verdict

FILE = "claims.toml"


@dataclass(frozen=True)
class Statements:
    """The claims of a paper, by their ids."""

    entries: Mapping[str, Mapping[str, str]]

    def claim(self, id: str, comparisons: Sequence[bool], **values: object) -> Claim:
        """The claim with its verdict from the comparisons, and with the values in its texts.

        Raises:
            LookupError: there is no such claim, or a text names a value that is not given.
        """
        entry = self.entries[id]
        verdict = judged(comparisons)
        values["share"] = share(comparisons)
        reason = "" if verdict == "holds" else entry.get("reason", "")
        return Claim(
            id, entry["where"], entry["says"], verdict, entry["evidence"].format(**values), reason.format(**values)
        )


def load(folder: Path) -> Statements:
    """The claims of the paper in this folder."""
    entries = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))["claim"]
    return Statements({entry["id"]: entry for entry in entries})


def judged(comparisons: Sequence[bool]) -> Verdict:
    """The verdict on a claim: it holds if all comparisons are as claimed, and partly if at least half are."""
    if all(comparisons):
        return "holds"
    return "holds partly" if 2 * sum(comparisons) >= len(comparisons) else "does not hold"


def share(comparisons: Sequence[bool]) -> str:
    """The number of comparisons that are as claimed, as text."""
    return f"{sum(comparisons)} of {len(comparisons)} comparisons"
