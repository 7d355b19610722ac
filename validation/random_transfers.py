"""Random links over which many transfers go that end, alone or beside flows that do not. Nothing was fitted to them."""

import math
import random

from validation.real_linux_cells import CONGESTION, CONTROLS, WIRE_BYTES, Cell

FIRST_S, LAST_S = 0.5, 16.0
"""The transfers start between these instants."""


def transfers(number: int) -> Cell:
    """A random link with up to 55 transfers; with every third one to three flows that do not end."""
    draw = random.Random(f"transfers over a link {number}")
    rate_bps, round_trip_s = round(_log(draw, 2e6, 40e6)), round(_log(draw, 0.008, 0.2), 4)
    names = (*CONGESTION, *CONGESTION, *CONTROLS)
    control = draw.choice(names)
    others = (control if draw.random() < 0.6 else draw.choice(names),) * (draw.randint(1, 3) if number % 3 == 2 else 0)
    count, load = draw.randint(25, 55), draw.uniform(0.1, 0.5)
    drawn = [_log(draw, 0.7, 300) for _ in range(count)]
    shrink = min(1.0, load * rate_bps * (LAST_S - FIRST_S) / (8 * WIRE_BYTES * sum(drawn)))
    return Cell(
        flows=(*others, *(control for _ in drawn)),
        rate_bps=rate_bps,
        round_trips_s=(round_trip_s,),
        queue_bdp=max(5 * 8 * WIRE_BYTES / (rate_bps * round_trip_s), _log(draw, 0.3, 3)),
        loss=round(_log(draw, 0.0005, 0.03), 5) if draw.random() < 0.4 else 0.0,
        draws=range(number + 1, number + 2),
        segments=(*(None for _ in others), *(max(1, round(segments * shrink)) for segments in drawn)),
        starts_s=(
            *(round(0.1 * index, 4) for index in range(len(others))),
            *sorted(round(draw.uniform(FIRST_S, LAST_S), 4) for _ in drawn),
        ),
    )


def _log(draw: random.Random, low: float, high: float) -> float:
    return low * math.exp(draw.random() * math.log(high / low))
