"""Effects of other readings of the paper, other sources of the competitors, other paths and longer runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers import measures
from anabranch.studies.papers.kikolo.cells import KIKOLO, NAMES, RIVALS, Cells, at, carried, cells, power, rates
from anabranch.studies.papers.kikolo.throughput import CAPACITY, FIRST_ABOVE, RATE, compared, leaders
from anabranch.studies.papers.study import Table

KIKOLOS = {
    "kikolo": "as read",
    "s3-to-s1": "a third duplicate ACK leads from S3 to S1 (text), not S0 (equations)",
    "round-trip": "S2 refines every other round trip, not beyond the last loss",
    "threshold-3": "duplicate-ACK threshold 3, not 2",
    "table-1": "the ramp-up adds 1 + rho/cwnd (Table I), not rho/cwnd",
    "half": "a loss leaves ssthresh at half of the window, not at the reduced one",
    "unreduced": "a loss leaves ssthresh at the window before, not at the reduced one",
    "first": "ssthresh at half of the window, after the first loss by timeouts only",
    "wide": "gamma = 0.995, not 0.005",
    "wide-half": "gamma = 0.995, and ssthresh at half of the window",
}
COMPETITORS = {
    "westwood-of-linux": ("Westwood+", "constants of Linux in ns-2: keeps half at least, weight 1/16"),
    "bic-of-linux": ("BIC", "Linux's count of ACKs: 31/16 of the growth"),
    "scalable-of-linux": ("Scalable", "Linux: 0.02 for each ACK, Reno's growth at least, no legacy window"),
    "highspeed-of-linux": ("HighSpeed", "Linux: whole rows of its table"),
    "vegas-of-linux": ("Vegas", "Linux: alpha 2, beta 4"),
    "compound-5": ("Compound", "delay part shrinks from 5 waiting segments on, not 30"),
}
DEFAULTS = {"BIC": "Linux's constants"}
"""Source of the default constants of competitors that do not have those of their papers."""
LINUX = [key for key in COMPETITORS if key.endswith("-of-linux")]
WIDE = "gamma = 0.995"
THRESHOLDS = {
    "unreduced": "ssthresh at the window before a loss",
    "first": "ssthresh at half of the window, by the first loss and timeouts only",
}
"""Readings in which the window is below ssthresh also after slow start."""
SMALL = ("s3-to-s1", "round-trip", "threshold-3", "table-1", "half")
"""The other readings: they change neither gamma nor ssthresh in this way."""


def shares(result: Result, figure: str) -> Cells:
    """Payload in percent of what the link can carry, by the readings' keys."""
    flows = measures.flows(result).with_columns(variant=pl.col("stack"))
    return cells(carried(flows, CAPACITY[figure], ["variant", "loss"]), "share")


def ahead_of(found: Cells, base: Cells, reading: str, figure: str) -> tuple[int, int, str]:
    """Number of comparisons of the figure's claim that other variants lead, number of all comparisons, and the leaders as text."""
    losses = _judged(found, base, figure)
    behind = compared(base, found, reading, losses, RIVALS)
    where = {
        one: [loss for loss, names in zip(losses, behind, strict=True) if one in names]
        for one in RIVALS
        if any(one in names for names in behind)
    }
    text = "; ".join(f"{one} at {at(which)}" for one, which in where.items())
    return sum(map(len, behind)), len(losses) * len(RIVALS), text


def against_linux(found: Cells, reading: str, figure: str) -> str:
    """The competitors with Linux's constants that lead this reading, as text."""
    losses = rates(found, above=FIRST_ABOVE[figure])
    leads = {
        COMPETITORS[key][0]: [loss for loss in losses if found[key, loss].leads(found[reading, loss])] for key in LINUX
    }
    return "; ".join(f"{name} at {at(which)}" for name, which in leads.items() if which) or "none"


def reason(found: Cells, base: Cells, friendly: Mapping[str, Cells], figure: str) -> str:
    """Why Kikolo is not first everywhere, by the experiments with other readings.

    ``friendly`` is figure 7 by the readings' keys.
    """

    def led(key: str) -> str:
        count, _, text = ahead_of(found, base, key, figure)
        return f"{count}" + (f" ({text})" if text else "")

    def taken(key: str) -> str:
        shares = [
            friendly[key][name, loss].mean for name in ("BIC", "Scalable") for loss in rates(friendly[key], below=1e-4)
        ]
        return f"{min(shares):.0f} to {max(shares):.0f} %"

    lost, total, _ = ahead_of(found, base, "kikolo", figure)
    changing = [KIKOLOS[key] for key in SMALL if ahead_of(found, base, key, figure)[0] != lost]
    return (
        "Experiments show that gamma or ssthresh is the cause. As printed (0.005), the ramp-up ends after half a percent of the window. Kikolo "
        "then adds a segment a round trip and loses a quarter of the window at a loss. Its window is about 1.87/sqrt(p); Scalable's "
        "is 0.08/p, more below 1.8e-3. With gamma = 0.995, "
        'for which the words speak (the region beyond is that of windows "almost twice ssthresh"), others lead Kikolo in '
        f"{led('wide')} of the {total} comparisons at {at(_judged(found, base, figure))} instead of {lost}. But then it has {taken('wide')} "
        "against BIC and Scalable in figure 7; in the paper it suffers there. "
        + "".join(
            f"With {text}, others lead in {led(key)}, and it has {taken(key)} there. "
            for key, text in THRESHOLDS.items()
        )
        + (
            "The other readings change nothing here. "
            if not changing
            else f"Of the other readings these count: {'; '.join(changing)}. "
        )
        + "Westwood+ cuts its window to the rate that it measures on the path, and random losses do not lower this rate. So does "
        "Linux's Westwood in ns-2 "
        "(95.8 % of 1 Gbit/s at 1e-3 and 42.8 % at 1e-2 with a queue of a bandwidth-delay product: docs/validation/linux.csv)."
    )


def on_compound(found: Cells) -> str:
    """Why Compound is last, from the run in which its delay part reacts to a shorter queue."""
    loss = rates(found)[0]
    return (
        "Compound's delay part shrinks when 30 segments of a flow wait, but this queue has room for 13 segments of each flow. So it "
        "grows until packets are dropped, for many flows at once. If it shrinks from 5 segments on, Compound has "
        f"{found['compound-5', loss].text()} % at {power(loss)}."
    )


def _judged(found: Cells, base: Cells, figure: str) -> list[float]:
    return [loss for loss in rates(found, above=FIRST_ABOVE[figure]) if ("NewReno", loss) in base]


def kikolo_table(found: Cells, base: Cells, figure: str) -> Table:
    """Kikolo by every reading."""
    losses = rates(found)
    rows = []
    for key, text in KIKOLOS.items():
        lost, total, who = ahead_of(found, base, key, figure)
        rows.append(
            [text, *(found[key, loss].text() for loss in losses), f"{lost} of {total}" + (f": {who}" if who else "")]
        )
    return Table(
        f"readings-{figure}",
        f"Kikolo by other readings, {RATE[figure]}",
        "Payload in percent of the payload that the link can carry, by packet error rate. The last column has the number of "
        "comparisons in which another variant leads, above "
        f"{power(FIRST_ABOVE[figure])}.",
        ["Reading", *map(power, losses), "led by"],
        rows,
    )


def competitor_table(found: Cells, base: Cells, figure: str) -> Table:
    """The competitors with other constants, beside the default ones."""
    losses = [loss for loss in rates(found) if (KIKOLO, loss) in base]
    rows = []
    for key, (name, text) in COMPETITORS.items():
        source = DEFAULTS.get(name, "its paper's constants")
        rows.append([name, source, *(base[name, loss].text() for loss in losses)])
        rows.append([name, text, *(found[key, loss].text() for loss in losses)])
    rows.append([KIKOLO, "as read", *(base[KIKOLO, loss].text() for loss in losses)])
    rows.append([KIKOLO, WIDE, *(found["wide", loss].text() for loss in losses)])
    return Table(
        f"competitors-{figure}",
        f"Competitors with other constants, {RATE[figure]}",
        "Payload in percent of the payload that the link can carry. These variants with Linux's constants lead Kikolo above "
        f"{power(FIRST_ABOVE[figure])}: {against_linux(found, 'kikolo', figure)}; with {WIDE}: "
        f"{against_linux(found, 'wide', figure)}.",
        ["Variant", "Source", *map(power, losses)],
        rows,
    )


def paths(result: Result) -> Table:
    """Other delays and queues of the bottleneck."""
    flows = measures.flows(result).with_columns(variant=pl.col("stack").replace(NAMES))
    rows = []
    for (delay, queue), some in flows.group_by(["bottleneck_delay", "limit"], maintain_order=True):
        found = cells(carried(some, CAPACITY["figure-5"], ["variant", "loss"]), "share")
        for loss in rates(found):
            names = sorted({name for name, _ in found}, key=list(NAMES.values()).index)
            first = leaders(found, loss, names)
            rows.append(
                [
                    str(delay),
                    str(queue),
                    power(loss),
                    *(found[name, loss].text() for name in names),
                    _names(first, names),
                ]
            )
    return Table(
        "paths",
        "Other delays and queues of the bottleneck, 1 Gbit/s",
        "Payload in percent of the payload that the link can carry. With a queue of a bandwidth-delay product all variants fill the "
        "link below 1e-4. With 50 ms "
        "Westwood+ falls behind Kikolo, BIC and Scalable at 1e-6, as in the paper. But losses then count from 1e-4 on, not beyond "
        "it, and Scalable leads there by far. Kikolo as printed is not first at 1e-3 or 1e-2 with any of these delays and queues.",
        ["Delay", "Queue", "Packet error rate", *names, "first"],
        rows,
    )


def _names(some: Sequence[str], every: Sequence[str]) -> str:
    return "level" if len(some) == len(every) else ", ".join(some)


def lengths(pairs: Sequence[tuple[str, Cells, Cells, str]]) -> Table:
    """Our runs beside runs of the paper's 1000 s; a pair is a description, our cells, the long runs' cells, and the unit."""
    rows = [
        [what, name, power(loss), ours[name, loss].text(unit), long[name, loss].text(unit)]
        for what, ours, long, unit in pairs
        for name, loss in long
    ]
    return Table(
        "lengths",
        "Runs of 1000 s",
        "The paper's runs last 1000 s. The table has cells with this length and one seed, beside the same cells with our length.",
        ["What", "Variant", "Packet error rate", "Ours", "1000 s"],
        rows,
    )
