"""What limits flows: the greatest share of their time, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

LIMITS: Mapping[str, str] = {
    "limited_by_receive_window": "receive window",
    "limited_by_application": "application",
    "limited_by_congestion_window": "congestion window",
    "limited_by_pacing": "pacing",
}
"""The columns of flows with the shares of their time, and the limit of each in words."""
REST = "set-up and last ACKs"
"""The rest of the time: the handshake, and the wait for the last acknowledgements of a flow with a size."""
NOTE = "Limited by: what most often kept the senders from sending more, with its share of their time."


def limits_by(flows: pl.DataFrame, by: Sequence[str]) -> dict[tuple[Any, ...], str]:
    """For each group of flows, the greatest mean share of their time, such as ``receive window 98 %``.

    Groups of which it is not known have no entry: their shares are null, or one that is null may be the greatest.
    """
    if not set(LIMITS) <= set(flows.columns):
        return {}
    means = flows.group_by(by).agg(pl.col(*LIMITS).mean()).rows(named=True)
    texts = ((tuple(row[name] for name in by), _greatest(row)) for row in means)
    return {group: text for group, text in texts if text is not None}


def _greatest(shares: Mapping[str, float | None]) -> str | None:
    known = {words: share for name, words in LIMITS.items() if (share := shares[name]) is not None}
    rest = 1 - sum(known.values())
    if len(known) == len(LIMITS):
        known[REST] = rest
    elif not known or max(known.values()) < rest:
        return None
    words = max(known, key=lambda one: known[one])
    return f"{words} {round(100 * known[words])} %"
