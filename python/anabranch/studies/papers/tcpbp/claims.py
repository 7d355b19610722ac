"""The claims of the paper, with the rules for their verdicts."""

from collections.abc import Mapping
from math import log
from typing import Any

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers import statements
from anabranch.studies.papers.study import Claim
from anabranch.studies.papers.tcpbp import absolute, asymmetry, law, running_times
from anabranch.studies.papers.tcpbp.evidence import OTHERS, Estimate, Evidence
from anabranch.studies.papers.tcpbp.networks import EXACT, TCPBP
from anabranch.studies.papers.tcpbp.throughput import FLOWS, Gain
from anabranch.studies.papers.verdicts import Truth, above, below, between, by_parts, every, graded, quotient, some

_CLAIMS = statements.beside(__file__)

SAME, PARTLY = 0.1, 0.5
"""Spreads of quotients: 'quite close' holds up to the first, and partly up to the second."""
NO_EFFECT_ON_JAIN = 0.01
"""Greatest difference between the metrics' indexes that counts as none."""
PRINTED_JAIN = 0.02
"""Greatest difference from a printed index that counts as the same."""
CLEARLY = 1.03
"""Least ratio of two means at which the first is above the second."""
FOUND_BEST, MOSTLY_BEST = 0.95, 0.8
MUCH_CALMER = 0.6
"""Greatest share of route changes that may remain with a threshold which prevents changes."""
NO_LOSS = 0.98
"""Least share of the goodput that must remain for a measure to do no harm."""
LAW_EXPONENT = (-0.6, -0.4)


def all_of(evidence: Evidence) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        _law_range(evidence),
        _round_trips(evidence),
        _isotonic(evidence),
        _counts(evidence),
        _gain(evidence, "hop-count", 1.65),
        _gain(evidence, "delay", 1.40),
        _falls(evidence),
        _all_routes(evidence),
        _routes_1_10(evidence),
        _order_1_10(evidence),
        _proportional(evidence),
        _absolute(evidence),
        _fair(evidence),
        _running_time(evidence),
        _asymmetric(evidence),
        _link_state(evidence),
        _reconvergence(evidence),
        _sharing(evidence),
    ]


def _text(estimate: Estimate) -> str:
    return with_interval(*estimate)


def _law_range(evidence: Evidence) -> Claim:
    table = evidence.sweep
    delays = table["delay"].unique(maintain_order=True).to_list()
    low, high = LAW_EXPONENT
    whole = {delay: law.exponent(table, law.CUBIC, delay, (0.0, 0.05)) or 0.0 for delay in delays}
    inside: list[Truth] = [low <= slope <= high for slope in whole.values()]

    def many(stack: str) -> str:
        return ", ".join(f"{law.exponent(table, stack, delay, law.MANY):.2f}" for delay in delays)

    return _CLAIMS.claim(
        "law-range",
        by_parts(*inside),
        slopes=", ".join(
            f"{slope:.2f} at an RTT of {2 * float(delay.removesuffix('ms')):g} ms" for delay, slope in whole.items()
        ),
        cubic=many(law.CUBIC),
        newreno=many(law.NEWRENO),
    )


def _round_trips(evidence: Evidence) -> Claim:
    found = evidence.round_trips
    share = sum(found["share"]) / len(found["share"])
    return _CLAIMS.claim(
        "round-trips", graded(share == 0, False), share=share, worst=found["worst"], testbed=found["testbed"]
    )


def _isotonic(evidence: Evidence) -> Claim:
    pairs = [pair for pair in evidence.comparison.pairs if pair.heuristic_ratio > 1 + 1e-9]
    gains = evidence.gains["exact", FLOWS[-1]]
    return _CLAIMS.claim(
        "isotonic",
        graded(not pairs, False),
        missed=", ".join(
            f"{pair.source}-{pair.target} (cost {pair.heuristic_ratio:.3f} times the least)" for pair in pairs
        ),
        on_differing=_text(gains.on_differing),
        one_way=", ".join(map("-".join, evidence.one_way_only)),
        goodput="In goodput the exact routes even lose: the better path by the law has more losses, and these cost more than the law says."
        if gains.on_differing[0] < 1
        else "",
    )


def _counts(evidence: Evidence) -> Claim:
    hops, delay = wanted = tuple(int(evidence.published(name)) for name in ("same-hop-count", "same-delay"))
    least, most = evidence.ties.same
    shares = {
        reading: sum(count == delay for count in found["same"]["delay"]) / len(found["same"]["delay"])
        for reading, found in evidence.noise.items()
    }
    best = _same(evidence, {label: evidence.optimum_gains[label, FLOWS[0]] for label in OTHERS})
    modified = _same(evidence, {label: evidence.gains[label, FLOWS[0]] for label in OTHERS})
    best_there, modified_there = (
        _same(evidence, gains) for gains in (evidence.other_optimum_gains, evidence.other_gains)
    )
    exact = wanted in (best, modified)
    return _CLAIMS.claim(
        "counts",
        graded(exact, least <= hops <= most and any(share >= 0.025 for share in shares.values())),
        best_hops=best[0],
        best_delay=best[1],
        other_best_hops=best_there[0],
        other_best_delay=best_there[1],
        hops=modified[0],
        delays=modified[1],
        other_hops=modified_there[0],
        other_delays=modified_there[1],
        tied=evidence.ties.tied,
        least=least,
        most=most,
        delay=delay,
        shares=" and ".join(f"{share:.0%} ({reading} s)" for reading, share in shares.items()),
        reason_applies=best == wanted != modified,
    )


def _same(evidence: Evidence, gains: Mapping[str, Gain]) -> tuple[int, ...]:
    """The number of pairs with the same route as each other metric."""
    return tuple(len(evidence.bed.pairs) - gains[label].differing for label in OTHERS)


def _gain(evidence: Evidence, label: str, wanted: float) -> Claim:
    gains = {flows: evidence.gains[label, flows].on_differing for flows in FLOWS}
    reached = [above(gain, wanted) for gain in gains.values()]
    measured = {flows: estimate for (other, flows), estimate in evidence.measured_gains.items() if other == label}
    ties = evidence.ties
    values: dict[str, Any] = {}
    if label == "hop-count":
        values["lower_number"] = _text(evidence.lower_number.on_differing)
        values["other_ties"] = (
            f"; all ways that agree with Tables 2 and 4 give {ties.with_count[0]:.2f} to {ties.with_count[1]:.2f}, and "
            f"{ties.without_outlier[0]:.2f} to {ties.without_outlier[1]:.2f} if hop-count takes 3-4-5 between 3 and 5, where the tied 3-1-5 "
            "gives a thirtieth"
            if ties.with_count and ties.without_outlier
            else ""
        )
    return _CLAIMS.claim(
        f"gain-{label}",
        graded(every(*reached), every(*(above(gain, 1.0) for gain in gains.values()))),
        gains=", ".join(_text(gain) for gain in gains.values()),
        flows=_flows(gains),
        measured=", ".join(_text(gain) for gain in measured.values()),
        measured_flows=_flows(measured),
        **values,
    )


def _flows(by_flows: dict[int, Estimate]) -> str:
    return ", ".join(str(flows) for flows in by_flows)


def _falls(evidence: Evidence) -> Claim:
    falls, back, texts = [], [], []
    for label in OTHERS:
        few, many = (evidence.gains[label, flows].on_differing for flows in FLOWS[1:])
        by_seed = [evidence.gains[label, flows].by_seed for flows in FLOWS[1:]]
        free = evidence.without_capacity[label].on_differing
        falls.append(above(quotient(*by_seed), CLEARLY))
        back.append(above(free, CLEARLY * many[0]))
        texts.append(
            f"over {label} {_text(few)} with 25 flows, {_text(many)} with 50, and {_text(free)} with 50 on links of 10 Gbit/s"
        )
    together = [evidence.together["delay", flows] for flows in FLOWS[1:]]
    return _CLAIMS.claim(
        "falls-with-50",
        by_parts(*(every(fall, again) for fall, again in zip(falls, back, strict=True))),
        gains="; ".join(texts),
        with_25=_text(together[0]),
        with_50=_text(together[1]),
        reason_applies=False in falls,
    )


def _all_routes(evidence: Evidence) -> Claim:
    gains = {(label, flows): evidence.gains[label, flows] for label in ("hop-count", "delay") for flows in FLOWS}
    small = [below(gain.of_sums, 1.01) for gain in gains.values()]
    hops, delay = gains["hop-count", FLOWS[0]], gains["delay", FLOWS[0]]
    said = {
        label: (1 - count / 45) + count / 45 * evidence.published(f"dr-{label}-10")
        for label, count in (("hop-count", 19), ("delay", 6))
    }
    return _CLAIMS.claim(
        "all-routes",
        by_parts(*small),
        sums_hops=_text(hops.of_sums),
        sums_delay=_text(delay.of_sums),
        means_hops=_text(hops.on_all),
        means_delay=_text(delay.on_all),
        hop_count=said["hop-count"],
        delay=said["delay"],
    )


def _routes_1_10(evidence: Evidence) -> Claim:
    chosen = evidence.bed.chosen
    names = {"tcpbp": TCPBP, "hop-count": "hop-count, delay", "delay": "delay"}
    wanted = {"tcpbp": "1-3-4-10", "hop-count": "1-5-10", "delay": "1-5-4-10"}
    same = all("-".join(chosen[names[label]]["1", "10"]) == route for label, route in wanted.items())
    ranges = {
        label: (min(evidence.noise["0.0040"]["law"][route]), max(evidence.noise["0.0040"]["law"][route]))
        for label, route in wanted.items()
    }
    inside = all(low <= evidence.published(f"law-{label}") <= high for label, (low, high) in ranges.items())
    return _CLAIMS.claim(
        "routes-1-10",
        graded(same and inside, same),
        printed=", ".join(f"{evidence.law_value(route):.2f}" for route in wanted.values()),
        drawn=", ".join(f"{low:.0f} to {high:.0f}" for low, high in ranges.values()),
    )


def _order_1_10(evidence: Evidence) -> Claim:
    ours, delay, hops = (evidence.route_rate(route) for route in ("1-3-4-10", "1-5-4-10", "1-5-10"))

    def more(one: str, other: str) -> Truth:
        return above(quotient(*(evidence.route_rates(route) for route in (one, other))), CLEARLY)

    first = more("1-3-4-10", "1-5-4-10")
    second = more("1-5-4-10", "1-5-10")
    return _CLAIMS.claim(
        "order-1-10",
        by_parts(first, second),
        ours=_text(ours),
        delay=_text(delay),
        hops=_text(hops),
    )


def _proportional(evidence: Evidence) -> Claim:
    routes = ("1-3-4-10", "1-5-10", "1-5-4-10")
    quotients = [evidence.route_rate(route)[0] * 1e3 / evidence.law_value(route) for route in routes]
    spread = max(quotients) / min(quotients) - 1
    fit = evidence.agreement
    return _CLAIMS.claim(
        "proportional",
        graded(spread <= SAME, spread <= PARTLY),
        quotients=", ".join(f"{quotient:.1f}" for quotient in quotients),
        spread=spread,
        rtt_exponent=fit.rtt_exponent[0],
        loss_exponent=fit.loss_exponent[0],
        rank_agreement=fit.rank_agreement,
        by_loss=", ".join(f"{quotient:.2f} on paths that lose {label}" for label, quotient in fit.quotients.items()),
    )


def _absolute(evidence: Evidence) -> Claim:
    names = dict(zip(("tcpbp", "hop-count", "delay"), absolute.ROUTES, strict=True))
    off = {label: evidence.published(f"rate-{label}") / evidence.route_rate(route)[0] for label, route in names.items()}
    unit = 1e6 * evidence.published("rate-tcpbp") / evidence.published("law-tcpbp")
    scaled = [evidence.scaled_gain("hop-count", flows, unit) for flows in FLOWS]
    ours = [evidence.scaled_gain("hop-count", flows, unit / off["tcpbp"]) for flows in FLOWS]
    mathis_mbps = [evidence.law_value(route) * law.SEGMENT_BITS * 1.5**0.5 / 1e6 for route in names.values()]
    tried = "; ".join(
        f"{absolute.title(setting)}: {', '.join(f'{evidence.absolute[setting, route][0]:.1f}' for route in absolute.ROUTES)}"
        for setting in absolute.settings()
    )
    nearest = min(
        absolute.settings(),
        key=lambda setting: max(
            abs(log(evidence.absolute[setting, route][0] / evidence.published(f"rate-{label}")))
            for label, route in names.items()
        ),
    )
    return _CLAIMS.claim(
        "rate-1-10",
        graded(all(0.75 < ratio < 1.33 for ratio in off.values()), False),
        rates=", ".join(_text(evidence.route_rate(route)) for route in names.values()),
        least=min(off.values()),
        most=max(off.values()),
        mathis=", ".join(f"{rate:.1f}" for rate in mathis_mbps),
        full_10=scaled[0],
        full_25=scaled[1],
        full_50=scaled[2],
        own_10=ours[0],
        own_25=ours[1],
        own_50=ours[2],
        tried=tried,
        nearest=absolute.title(nearest).capitalize(),
    )


def _fair(evidence: Evidence) -> Claim:
    apart = max(
        max(evidence.jain[label, flows][0] for label in ("tcpbp", "delay", "hop-count"))
        - min(evidence.jain[label, flows][0] for label in ("tcpbp", "delay", "hop-count"))
        for flows in FLOWS
    )
    as_printed = every(
        *(
            between(index, printed - PRINTED_JAIN, printed + PRINTED_JAIN)
            for (label, flows), index in evidence.jain.items()
            for printed in [evidence.published(f"jain-{label}-{flows}")]
        )
    )
    return _CLAIMS.claim(
        "fairness",
        by_parts(apart <= NO_EFFECT_ON_JAIN, as_printed),
        apart=apart,
        tcpbp=", ".join(_text(evidence.jain["tcpbp", flows]) for flows in FLOWS),
        windows=", ".join(f"{length} s is {_text(index)}" for length, index in evidence.jain_by_window.items()),
    )


def _running_time(evidence: Evidence) -> Claim:
    same = True
    for nodes in (10, 100):
        standard, modified = running_times.counts(nodes)
        same = same and standard.steps == modified.steps and standard.examined == modified.examined
    sizes = (10, 25, 50, 100)

    def ratios(modified: str, standard: str) -> str:
        times = evidence.timings
        return ", ".join(f"{times[modified][str(nodes)] / times[standard][str(nodes)]:.2f}" for nodes in sizes)

    paper = [
        f"{evidence.published(f'time-modified-{nodes}') / evidence.published(f'time-standard-{nodes}'):.2f}"
        for nodes in sizes
    ]
    return _CLAIMS.claim(
        "running-time",
        graded(same, False),
        steps=standard.steps,
        examined=standard.examined,
        standard_improved=standard.improved,
        modified_improved=modified.improved,
        arrays=ratios(running_times.ARRAY_MODIFIED, running_times.ARRAY_STANDARD),
        paper=", ".join(paper),
        heaps=ratios(running_times.HEAP_MODIFIED, running_times.HEAP_STANDARD),
    )


def _asymmetric(evidence: Evidence) -> Claim:
    shapes = asymmetry.shapes(evidence.lab)

    def more(name: str, shape: str) -> Truth:
        ours, other = evidence.asymmetry[shape, "asymmetric"][name], evidence.asymmetry[shape, "symmetric"][name]
        return above((ours[0] - CLEARLY * other[0], (ours[1] or 0.0) + CLEARLY * (other[1] or 0.0)), 0.0)

    routes = [more("share", shape) for shape in shapes]
    gains = [more("differing", shape) for shape in shapes]
    texts = []
    for shape in shapes:
        parts = [
            f"{evidence.asymmetry[shape, kind]['share'][0]:.0%} of the pairs differ ({kind}), by the law "
            f"{_text(evidence.asymmetry[shape, kind]['differing'])} times the throughput"
            + (
                f", measured {_text(evidence.asymmetry_measured[shape, kind])}"
                if (shape, kind) in evidence.asymmetry_measured
                else ""
            )
            for kind in ("asymmetric", "symmetric")
        ]
        texts.append(f"{shape}: {'; '.join(parts)}")
    return _CLAIMS.claim(
        "asymmetric",
        graded(every(*routes, *gains), some(*routes)),
        shapes=". ".join(texts),
        ratios=", ".join(
            f"{evidence.asymmetry[shape, 'asymmetric']['one'][0]:.2f} where one way differs and "
            f"{evidence.asymmetry[shape, 'asymmetric']['both'][0]:.2f} where both do ({shape})"
            for shape in shapes
        ),
        reason_applies=False in gains,
    )


def _link_state(evidence: Evidence) -> Claim:
    shares = evidence.found_best
    return _CLAIMS.claim(
        "link-state",
        graded(
            *(
                every(*(above(shares[metric], least) for metric in (TCPBP, EXACT)))
                for least in (FOUND_BEST, MOSTLY_BEST)
            )
        ),
        tcpbp=shares[TCPBP][0],
        exact=shares[EXACT][0],
        delay=shares["delay"][0],
    )


def _reconvergence(evidence: Evidence) -> Claim:
    rows = {row["hysteresis"]: row for row in evidence.hysteresis.to_dicts()}
    thresholds = sorted(rows)
    without, widest = rows[thresholds[0]], rows[thresholds[-1]]
    moves = without["steady"] > 0 or without["flows"] > 0
    calmer = widest["steady"] <= MUCH_CALMER * without["steady"]
    return _CLAIMS.claim(
        "reconvergence",
        graded(moves and calmer, moves),
        thresholds="; ".join(
            f"threshold {float(threshold):.0%}: {rows[threshold]['steady']:.1f}, {rows[threshold]['flows']:.1f}, "
            f"{with_interval(rows[threshold]['mbps'], rows[threshold]['mbps_half'])} Mbit/s"
            for threshold in thresholds
        ),
        without_changes=10 * evidence.route_rate("1-3-4-10")[0],
    )


def _sharing(evidence: Evidence) -> Claim:
    table = {(row["flows"], row["way"]): row for row in evidence.sharing.to_dicts()}
    counts = sorted({flows for flows, _ in table})
    near = [table[flows, "within-5"]["mean"] / table[flows, "best"]["mean"] for flows in counts]
    wide = [table[flows, "within-30"]["mean"] / table[flows, "best"]["mean"] for flows in counts]
    return _CLAIMS.claim(
        "sharing",
        graded(min(near) >= NO_LOSS and max(near) > 1.1, max(*near, *wide) > 1.1),
        near=", ".join(f"{ratio:.2f} with {flows} flows" for ratio, flows in zip(near, counts, strict=True)),
        wide=", ".join(f"{ratio:.2f}" for ratio in wide),
    )
