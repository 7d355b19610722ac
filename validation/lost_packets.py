"""Draws the lost packets once for two simulators, so that their results do not differ by the draw."""

import random
from math import log, log1p


def bernoulli(ratio: float, packets: int, seed: int) -> list[int]:
    """Numbers of the lost ones among `packets`, ascending, counted from 1; each is lost with probability `ratio`.

    A longer list of the same ratio and seed begins with the shorter one.
    """
    if ratio == 0:
        return []
    draw = random.Random(f"{ratio:g}/{seed}").random
    lost: list[int] = []
    number = 0
    while True:
        # The gaps between losses are geometric.
        number += 1 + int(log(1 - draw()) / log1p(-ratio))
        if number > packets:
            return lost
        lost.append(number)
