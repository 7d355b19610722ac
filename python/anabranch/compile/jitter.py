"""Runs that differ as little as chance would have them: other link delays and other starts, within bounds.

Without random loss every seed gives the packet engine the same run, so seeds would hide how much a run depends on chance.
"""

import random
from typing import Any

from anabranch.foundation.units import PICOSECONDS_PER_SECOND

DELAY_SHARE = 0.02
"""Link delays are within this share of the scenario's."""
LATEST_START_S = 5.0
"""A group of flows begins later by at most this, and its starts are spread over less than this more. So a flow starts less than 10 s later."""
SHARE_OF_RUN = 20
"""Each of the two is at most 1/20 of the run: a flow starts later by less than a tenth of it."""


def jittered(spec: dict[str, Any], seed: int, share: float = DELAY_SHARE) -> dict[str, Any]:
    """A compiled run with this seed, and with other delays and starts."""
    draw = random.Random(f"jitter {seed}")
    latest_s = min(LATEST_START_S, spec["duration"] / PICOSECONDS_PER_SECOND / SHARE_OF_RUN)
    links = [link | {"delay": round(link["delay"] * draw.uniform(1 - share, 1 + share))} for link in spec["links"]]
    groups = []
    for group in spec["traffic"]:
        later = round(draw.uniform(0, latest_s) * PICOSECONDS_PER_SECOND)
        flows = max(1, len(group["pairs"]) * group["flows_per_pair"])
        apart = round(draw.uniform(0, latest_s / flows) * PICOSECONDS_PER_SECOND)
        # Arrivals of short flows are random already; a later start would change which flows there are.
        if group["application"]["kind"] != "short-flows":
            group = group | {"start": group["start"] + later, "stagger": group["stagger"] + apart}
        groups.append(group)
    return spec | {"seed": seed, "links": links, "traffic": groups}
