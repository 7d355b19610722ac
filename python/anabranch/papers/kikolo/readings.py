"""What other readings of the paper, other sources of the competitors, other paths and longer runs would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from anabranch.papers import measures
from anabranch.papers.kikolo.cells import KIKOLO, NAMES, OTHERS, Cells, at, carried, cells, power, rates
from anabranch.papers.kikolo.throughput import CAPACITY, FIRST_ABOVE, RATE, compared, leaders
from anabranch.papers.study import Table
from anabranch.results import Result

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
    "linux-westwood": ("Westwood+", "constants of Linux in ns-2: keeps half at least, weight 1/16"),
    "linux-bic": ("BIC", "Linux's count of ACKs: 31/16 of the growth"),
    "linux-scalable": ("Scalable", "Linux: 0.02 for each ACK, Reno's growth at least, no legacy window"),
    "linux-highspeed": ("HighSpeed", "Linux: whole rows of its table"),
    "linux-vegas": ("Vegas", "Linux: alpha 2, beta 4"),
    "compound-5": ("Compound", "delay part shrinks from 5 waiting segments on, not 30"),
}
LINUX = [key for key in COMPETITORS if key.startswith("linux-")]
WIDE = "gamma = 0.995"
THRESHOLDS = {
    "unreduced": "ssthresh at the window before a loss",
    "first": "ssthresh at half of the window, by the first loss and timeouts only",
}
"""The readings in which windows below ssthresh are not for slow start only."""
STACKS = {
    "unreduced": '{ preset = "kikolo", congestion = { name = "kikolo", threshold = "unreduced" } }',
    "first": '{ preset = "kikolo", congestion = { name = "kikolo", threshold = "half", threshold_by = "first" } }',
}
"""Their stacks, as readings.toml has them."""
SMALL = ("s3-to-s1", "round-trip", "threshold-3", "table-1", "half")
"""The readings other than of gamma and of these."""


def shares(result: Result, figure: str) -> Cells:
    """Payload in percent of what the link can carry, by the readings' keys."""
    flows = measures.flows(result).with_columns(variant=pl.col("stack"))
    return cells(carried(flows, CAPACITY[figure], ["variant", "loss"]), "share")


def ahead_of(found: Cells, base: Cells, reading: str, figure: str) -> tuple[int, int, str]:
    """In how many comparisons of the figure's claim others lead that reading, of how many, and which."""
    losses = _judged(found, base, figure)
    behind = compared(base, found, reading, losses, OTHERS)
    where = {
        one: [loss for loss, names in zip(losses, behind, strict=True) if one in names]
        for one in OTHERS
        if any(one in names for names in behind)
    }
    text = "; ".join(f"{one} at {at(which)}" for one, which in where.items())
    return sum(map(len, behind)), len(losses) * len(OTHERS), text


def against_linux(found: Cells, reading: str, figure: str) -> str:
    """Who of the competitors with Linux's constants leads that reading, as text."""
    losses = rates(found, above=FIRST_ABOVE[figure])
    leads = {
        COMPETITORS[key][0]: [loss for loss in losses if found[key, loss].leads(found[reading, loss])] for key in LINUX
    }
    return "; ".join(f"{name} at {at(which)}" for name, which in leads.items() if which) or "none"


def reason(found: Cells, base: Cells, friendly: Mapping[str, Cells], figure: str) -> str:
    """Why Kikolo is not first everywhere: what the experiments with other readings say.

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
        "By experiment it is gamma or ssthresh: as printed (0.005) the ramp-up ends after half a percent of the window; Kikolo then adds a segment "
        "a round trip and loses a quarter, for a window of about 1.87/sqrt(p), and Scalable's is 0.08/p, more below 1.8e-3. With gamma = 0.995, "
        'for which the words speak (the region beyond is that of windows "almost twice ssthresh"), others lead Kikolo in '
        f"{led('wide')} of the {total} comparisons at {at(_judged(found, base, figure))} instead of {lost}; but then it has {taken('wide')} "
        "against BIC and Scalable in figure 7, where the paper has it suffer. "
        + "".join(
            f"With {text}, they lead in {led(key)}, and it has {taken(key)} there. " for key, text in THRESHOLDS.items()
        )
        + (
            "The other readings change nothing here. "
            if not changing
            else f"Of the other readings these count: {'; '.join(changing)}. "
        )
        + "Westwood+ cuts to what it measures the path to carry, which random losses do not lessen; so does Linux's Westwood in ns-2 "
        "(95.8 % of 1 Gbit/s at 1e-3 and 42.8 % at 1e-2 with a queue of a bandwidth-delay product: docs/validation/linux.csv)."
    )


def on_compound(found: Cells) -> str:
    """Why Compound is last, from the run in which its delay part heeds a shorter queue."""
    loss = rates(found)[0]
    return (
        "Compound's delay part shrinks when 30 segments of a flow wait, and this queue has room for 13 of each: it grows until packets are "
        f"dropped, for many flows at once. Shrinking from 5 segments on, Compound has {found['compound-5', loss].text()} % at {power(loss)}."
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
        "Payload in percent of what the link can carry, by packet error rate; in the last column, in how many comparisons above "
        f"{power(FIRST_ABOVE[figure])} another variant leads.",
        ["Reading", *map(power, losses), "led by"],
        rows,
    )


def competitor_table(found: Cells, base: Cells, figure: str) -> Table:
    """The competitors with other constants, beside those of their papers."""
    losses = [loss for loss in rates(found) if (KIKOLO, loss) in base]
    rows = []
    for key, (name, text) in COMPETITORS.items():
        rows.append([name, "its paper's constants", *(base[name, loss].text() for loss in losses)])
        rows.append([name, text, *(found[key, loss].text() for loss in losses)])
    rows.append([KIKOLO, "as read", *(base[KIKOLO, loss].text() for loss in losses)])
    rows.append([KIKOLO, WIDE, *(found["wide", loss].text() for loss in losses)])
    return Table(
        f"competitors-{figure}",
        f"Competitors with other constants, {RATE[figure]}",
        "Payload in percent of what the link can carry. Of those with Linux's constants, these lead Kikolo above "
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
        "Payload in percent of what the link can carry. With a queue of a bandwidth-delay product all fill the link below 1e-4. With 50 ms "
        "Westwood+ falls behind Kikolo, BIC and Scalable at 1e-6, as the paper has it; but losses then count from 1e-4 on, not beyond it, and "
        "Scalable leads there by far. At no delay and queue is Kikolo as printed first at 1e-3 or 1e-2.",
        ["Delay", "Queue", "Packet error rate", *names, "first"],
        rows,
    )


def _names(some: Sequence[str], every: Sequence[str]) -> str:
    return "level" if len(some) == len(every) else ", ".join(some)


def lengths(pairs: Sequence[tuple[str, Cells, Cells, str]]) -> Table:
    """Runs of the paper's 1000 s beside ours: what it is, ours, the long ones, the unit."""
    rows = [
        [what, name, power(loss), ours[name, loss].text(unit), long[name, loss].text(unit)]
        for what, ours, long, unit in pairs
        for name, loss in long
    ]
    return Table(
        "lengths",
        "Runs of 1000 s",
        "The paper's runs last 1000 s. Cells run for as long, one seed, beside the committed length.",
        ["What", "Variant", "Packet error rate", "Ours", "1000 s"],
        rows,
    )
