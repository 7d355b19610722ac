"""Section 6's claims."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers import statements
from anabranch.studies.papers.fixed_robust_routing import choices
from anabranch.studies.papers.fixed_robust_routing.choices import (
    HEURISTICS,
    LOAD_TOPOLOGIES,
    NSFNET_V2,
    OPTIMA,
    TOPOLOGIES,
    X,
)
from anabranch.studies.papers.fixed_robust_routing.network import NSFNET, Found
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.published import Published
from anabranch.studies.papers.study import Claim
from anabranch.studies.papers.verdicts import Truth, above, between, by_parts, difference, every, graded, quotient

_CLAIMS = statements.beside(__file__)

FULL_RATE = 10.0
"""Rate at which a connection's application writes, Mbit/s."""
ROUNDED = 0.005
"""The paper prints loads with two decimals."""
CLOSE = 0.05
"""Throughputs that differ by at most this share count as alike."""
SAME_RATE = 0.05
"""Throughputs that differ by at most this count as equal, Mbit/s."""


def claims(found: Found, published: Mapping[str, Published]) -> list[Claim]:
    """The verdicts of section 6."""
    return [
        _figure_9(published),
        _all(found),
        _figure_12(found, published),
        _figure_13(found, published),
        _load_order(found),
        _below_one(found, published),
        _rising(found, "hop", "figure-14"),
        _throughputs(found, published, "hop", "figure-14"),
        _rising(found, "delay", "figure-15"),
        _throughputs(found, published, "delay", "figure-15"),
        _throughput_order(found),
        _gain(found, published),
        _within_one(found),
        _trade_off(found),
    ]


def _figure_9(published: Mapping[str, Published]) -> Claim:
    wrong = {}
    for topology in LOAD_TOPOLOGIES:
        ours = choices.longest_delays(topology)
        wrong[topology] = [
            pair for pair, delay in ours.items() if abs(delay - (published[f"delay-{pair}"].value or 0)) > 0.1
        ]
    fitting = [topology for topology, pairs in wrong.items() if not pairs]
    return _CLAIMS.claim(
        "figure-9",
        graded(NSFNET in fitting, bool(fitting)),
        fitting=" and ".join(fitting) or "none",
        others="".join(f"; on {topology} {', '.join(pairs)} differ" for topology, pairs in wrong.items() if pairs),
    )


def _all(found: Found) -> Claim:
    names = [f"{heuristic}-{percent}" for heuristic in HEURISTICS for percent in X]
    load, rate = found.load("all"), found.rate("all")
    least = load < min(found.load(name) for name in names)
    lowest = every(*(above(difference(found.rates(name), found.rates("all")), 0.0) for name in names))
    return _CLAIMS.claim(
        "all",
        by_parts(least and abs(load - 0.455) < 0.001, lowest),
        load=load,
        rate=with_interval(*rate),
        other_load=found.load("all", TOPOLOGIES[1]),
        other_rate=with_interval(*found.rate("all", TOPOLOGIES[1])),
    )


def _figure_12(found: Found, published: Mapping[str, Published]) -> Claim:
    fits = found.fits
    rising = _loads_rise(found, "hop")
    return _CLAIMS.claim(
        "figure-12",
        graded(rising and bool(fits.loads), rising),
        fits=len(fits.loads),
        draws=fits.draws,
        fitting=f" (the first: {', '.join(f'{load:.3f}' for load in fits.loads[0])})" if fits.loads else "",
        ties_v2=_ranges(found, "hop", NSFNET_V2),
        ours=_all_loads(found, "hop"),
        ties=_ranges(found, "hop", NSFNET),
        inside=_inside(found, published, "hop")[1],
    )


def _figure_13(found: Found, published: Mapping[str, Published]) -> Claim:
    rising = _loads_rise(found, "delay")
    inside, shown = _inside(found, published, "delay")
    return _CLAIMS.claim(
        "figure-13",
        graded(rising and len(inside) == len(X), rising),
        ours=_all_loads(found, "delay"),
        ties=_ranges(found, "delay", NSFNET),
        ties_v2=_ranges(found, "delay", NSFNET_V2),
        inside=shown,
    )


def _loads_rise(found: Found, heuristic: str) -> bool:
    ours = [found.load(f"{heuristic}-{percent}") for percent in X]
    return all(one <= other + 1e-6 for one, other in pairwise(ours))


def _inside(found: Found, published: Mapping[str, Published], heuristic: str) -> tuple[list[int], str]:
    """The X whose published load lies in the range over ties on nsfnet, and the same as text."""
    inside = []
    for percent in X:
        low, high = found.load_range(f"{heuristic}-{percent}")
        if low - ROUNDED <= (published[f"load-{heuristic}-{percent}"].value or 0) <= high + ROUNDED:
            inside.append(percent)
    return inside, f"X = {', '.join(map(str, inside))}" if inside else "none"


def _all_loads(found: Found, heuristic: str) -> str:
    return ", ".join(f"{found.load(f'{heuristic}-{percent}'):.2f}" for percent in X)


def _ranges(found: Found, heuristic: str, topology: str) -> str:
    ranges = (found.load_range(f"{heuristic}-{percent}", topology) for percent in X)
    return ", ".join(f"{low:.2f} to {high:.2f}" for low, high in ranges)


def _load_order(found: Found) -> Claim:
    pairs = {topology: [(f"delay-{percent}", f"hop-{percent}") for percent in X] for topology in LOAD_TOPOLOGIES}
    higher = {
        topology: all(found.load(delay, topology) > found.load(hop, topology) for delay, hop in of)
        for topology, of in pairs.items()
    }
    touching = {
        topology: [
            str(percent)
            for percent, (delay, hop) in zip(X, of, strict=True)
            if found.load_range(delay, topology)[0] <= found.load_range(hop, topology)[1]
        ]
        for topology, of in pairs.items()
    }
    always = [topology for topology, percentages in touching.items() if not percentages]
    return _CLAIMS.claim(
        "load-order",
        graded(all(higher.values()), any(higher.values())),
        loads="; ".join(
            f"{topology}: "
            + ", ".join(f"{found.load(delay, topology):.2f} > {found.load(hop, topology):.2f}" for delay, hop in of)
            for topology, of in pairs.items()
        ),
        ties="; ".join(
            [f"for all ties on {' and '.join(always) or 'none'}"]
            + [f"on {name} the ranges over ties touch at X = {', '.join(at)}" for name, at in touching.items() if at]
        ),
    )


def _below_one(found: Found, published: Mapping[str, Published]) -> Claim:
    ours = {heuristic: max(found.below_one(heuristic), default=None) for heuristic in HEURISTICS}
    same = all(
        [percent for percent in X if (published[f"load-{heuristic}-{percent}"].value or 0) < 1]
        == found.below_one(heuristic)
        for heuristic in HEURISTICS
    )
    further = (ours["hop"] if ours["hop"] is not None else -1) > (ours["delay"] if ours["delay"] is not None else -1)
    worst = max(found.load_range(f"hop-{percent}")[1] for percent in X)
    return _CLAIMS.claim(
        "below-one",
        graded(same, further),
        hop=_or_none(ours["hop"]),
        worst=worst,
        delay=_or_none(ours["delay"]),
        delay_at_0=found.load("delay-0"),
    )


def _or_none(value: int | None) -> str:
    return "no X" if value is None else str(value)


def _rising(found: Found, heuristic: str, name: str) -> Claim:
    right, shown = {}, []
    for topology in TOPOLOGIES:
        run = [f"{heuristic}-{percent}" for percent in X if found.measured(f"{heuristic}-{percent}", topology)]
        ours = [found.rate(one, topology) for one in run]
        if len(run) == len(X):
            steps = [difference(found.rates(two, topology), found.rates(one, topology)) for one, two in pairwise(run)]
            over_all = [difference(found.rates(one, topology), found.rates("all", topology)) for one in run]
            right[topology] = every(
                *(above(step, -SAME_RATE) for step in steps),
                *(above(gain, 0.0) for gain in over_all),
                above(ours[-1], FULL_RATE - SAME_RATE),
            )
            shown.append(f"{topology}: {', '.join(with_interval(*value) for value in ours)} Mbit/s")
    return _CLAIMS.claim(f"{name}-order", by_parts(*right.values()), throughputs="; ".join(shown))


def _throughputs(found: Found, published: Mapping[str, Published], heuristic: str, name: str) -> Claim:
    wanted = [published[f"throughput-{heuristic}-{percent}"].value or 0 for percent in X]
    off = {
        percent: found.rate(f"{heuristic}-{percent}")[0] / value - 1 for percent, value in zip(X, wanted, strict=True)
    }
    inside = {
        percent: between(found.rate(f"{heuristic}-{percent}"), value * (1 - CLOSE), value * (1 + CLOSE))
        for percent, value in zip(X, wanted, strict=True)
    }
    close = [percent for percent, truth in inside.items() if truth]
    return _CLAIMS.claim(
        name,
        by_parts(*inside.values()),
        off=", ".join(f"{share:+.1%}" for share in off.values()),
        limit=CLOSE,
        close=", ".join(map(str, close)) or "none",
    )


def _throughput_order(found: Found) -> Claim:
    gains = {percent: difference(found.rates(f"delay-{percent}"), found.rates(f"hop-{percent}")) for percent in X}
    higher = {percent: above(gain, SAME_RATE) for percent, gain in gains.items()}
    better = [percent for percent, truth in higher.items() if truth]
    equal = [percent for percent, gain in gains.items() if between(gain, -SAME_RATE, SAME_RATE)]
    verdict = by_parts(*higher.values())
    optima = "; ".join(_higher_with(found, optimum) for optimum in OPTIMA)
    return _CLAIMS.claim(
        "throughput-order",
        verdict,
        better=", ".join(map(str, better)) or "none",
        equal=", ".join(map(str, equal)) or "none",
        otherwise=", otherwise lower" if len(better) + len(equal) < len(X) else "",
        optima=optima,
    )


def _higher_with(found: Found, optimum: str) -> str:
    """The X at which HYBRID-DELAY has more throughput than HYBRID-HOP, of the X at which both were simulated with this optimum."""
    higher, run = [], []
    for percent in X:
        delay, hop = (f"{heuristic}-{percent}-{optimum}" for heuristic in ("delay", "hop"))
        if found.measured(delay) and found.measured(hop):
            run.append(percent)
            if found.rate(delay)[0] > found.rate(hop)[0] + SAME_RATE:
                higher.append(percent)
    return f"{optimum} higher at X = {', '.join(map(str, higher)) or 'none'} of {', '.join(map(str, run))}"


def _gain(found: Found, published: Mapping[str, Published]) -> Claim:
    base = found.rate("all")[0]
    shares = {name: found.rate(name)[0] / base for name in choices.paper_names()[1:]}
    best = max(found.below_one("hop"), default=None)
    factor = shares[f"hop-{best}"] if best is not None else 0.0
    at_40 = shares["hop-40"]
    times = _times(found, "hop-40")
    least = min(shares.values())
    return _CLAIMS.claim(
        "six-times",
        graded(
            every(above(times, 5.0), found.load("hop-40") < 1),
            above(_times(found, f"hop-{best}"), 3.0) if best is not None else False,
        ),
        at_40=at_40,
        load=found.load("hop-40"),
        factor=factor,
        best=_or_none(best),
        least=least,
    )


def _times(found: Found, name: str) -> Mean:
    """Throughput as a multiple of ALL's, seed by seed."""
    return quotient(found.rates(name), found.rates("all"))


def _within_one(found: Found) -> Claim:
    best = {heuristic: max(found.below_one(heuristic), default=None) for heuristic in HEURISTICS}
    rates = {
        heuristic: found.rate(f"{heuristic}-{percent}")[0] for heuristic, percent in best.items() if percent is not None
    }
    more: Truth = "hop" in rates
    if "hop" in rates and "delay" in rates:
        names = [f"{heuristic}-{best[heuristic]}" for heuristic in ("hop", "delay")]
        more = above(difference(*map(found.rates, names)), 0.0)
    verdict = graded(more, False)
    delay = f"{rates['delay']:.2f} Mbit/s" if "delay" in rates else "no X that keeps to it"
    return _CLAIMS.claim("within-one", verdict, hop=rates.get("hop", 0), hop_x=_or_none(best["hop"]), delay=delay)


def _trade_off(found: Found) -> Claim:
    plans = found.plans
    beaten, shown = [], []
    for heuristic in HEURISTICS:
        for percent in X:
            name = f"{heuristic}-{percent}"
            load, rate = found.load(name), found.rate(name)[0]
            better = [
                plan for plan in plans if found.load(plan) <= load + 1e-6 and found.rate(plan)[0] >= rate - SAME_RATE
            ]
            if better and (found.load(better[0]) < load - 1e-3 or found.rate(better[0])[0] > rate + SAME_RATE):
                beaten.append(name)
    for plan in plans:
        shown.append(f"{found.load(plan):.2f}: {found.rate(plan)[0]:.2f} ({found.single(plan)})")
    total = len(HEURISTICS) * len(X)
    return _CLAIMS.claim(
        "trade-off",
        graded(not beaten, len(beaten) < total / 2),
        beaten=len(beaten),
        total=total,
        shown="; ".join(shown),
    )
