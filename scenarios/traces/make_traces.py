"""Writes the trace and the table of `cellular.toml` and `satellite.toml`: ``python scenarios/traces/make_traces.py``.

Both are made up. The cellular trace has the format of mahimahi: a line for each millisecond at which 1500 bytes may depart. Its rate is a random walk
between 0.5 and 24 Mbit/s around 8 Mbit/s, with two fades. The satellite's table has a handover every 15 s: 150 ms without transmission, then
another delay and capacity. Within 15 s the satellite comes nearer and goes away again.
"""

from math import exp, log
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
MILLISECONDS = 10_000
FADES = ((3000, 3400), (7600, 7800))


def cellular() -> str:
    """The milliseconds of all opportunities."""
    draw = Random("cellular")
    level, owed, lines = log(8.0), 0.0, []
    for millisecond in range(1, MILLISECONDS + 1):
        if millisecond % 20 == 0:
            level += 0.1 * (log(8.0) - level) + draw.gauss(0, 0.25)
        mbps = min(24.0, max(0.5, exp(level)))
        if any(begin <= millisecond < end for begin, end in FADES):
            mbps = 0.0
        owed += mbps * 1000 / (1500 * 8)
        lines += [str(millisecond)] * int(owed)
        owed %= 1
    return "\n".join([*lines, str(MILLISECONDS)]) + "\n"


def satellite() -> str:
    """The rows of four satellites, one after another."""
    rows = ["# A satellite every 15 s, made by make_traces.py", "time,delay,capacity"]
    for index, (delay_ms, mbps) in enumerate([(22, 40), (35, 20), (27, 50), (41, 30)]):
        begin = 15 * index
        rows.append(f"{begin}s,{delay_ms + 4}ms,0bps")
        for second in range(15):
            nearer = delay_ms + 4 * abs(second - 7) / 7
            at = f"{begin}.15s" if second == 0 else f"{begin + second}s"
            rows.append(f"{at},{nearer:.1f}ms,{mbps}Mbps")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    (HERE / "cellular.down").write_text(cellular(), encoding="utf-8")
    (HERE / "satellite.csv").write_text(satellite(), encoding="utf-8")
