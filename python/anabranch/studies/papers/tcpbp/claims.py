"""The claims of the paper, with the rules for their verdicts."""

from collections.abc import Mapping
from math import log

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers.study import Claim, Verdict
from anabranch.studies.papers.tcpbp import absolute, asymmetry, law, running_times
from anabranch.studies.papers.tcpbp.evidence import OTHERS, Estimate, Evidence
from anabranch.studies.papers.tcpbp.networks import EXACT, TCPBP
from anabranch.studies.papers.tcpbp.throughput import FLOWS, Gain

SAME, PARTLY = 0.1, 0.5
"""Spreads of quotients: 'quite close' holds up to the first, and partly up to the second."""
NO_EFFECT_ON_JAIN = 0.05
CLEARLY = 1.03
"""Least ratio of two means at which the first is above the second."""
FOUND_BEST, MOSTLY_BEST = 0.95, 0.8
MUCH_CALMER = 0.6
"""Greatest share of route changes that may remain with a threshold which prevents changes."""
NO_LOSS = 0.98
"""Least share of the goodput that must remain for a measure to do no harm."""
LAW_EXPONENT = (-0.65, -0.35)


def all_of(evidence: Evidence) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        _law_range(evidence),
        _round_trips(evidence),
        _isotonic(evidence),
        _counts(evidence),
        _gain(evidence, "hop-count", 1.65, "more than 65 %"),
        _gain(evidence, "delay", 1.40, "more than 40 %"),
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


def _verdict(holds: bool, partly: bool) -> Verdict:
    return "holds" if holds else "holds partly" if partly else "does not hold"


def _text(estimate: Estimate) -> str:
    return with_interval(*estimate)


def _law_range(evidence: Evidence) -> Claim:
    table = evidence.sweep
    delays = table["delay"].unique(maintain_order=True).to_list()
    low, high = LAW_EXPONENT
    whole = {delay: law.exponent(table, law.CUBIC, delay, (0.0, 0.05)) or 0.0 for delay in delays}
    inside = [low <= slope <= high for slope in whole.values()]

    def many(stack: str) -> str:
        return ", ".join(f"{law.exponent(table, stack, delay, law.MANY):.2f}" for delay in delays)

    return Claim(
        "law-range",
        "Section 3",
        "The inverse-square root law holds for CUBIC, from p = 1e-5 up to 0.05.",
        _verdict(all(inside), any(inside)),
        "Goodput goes with p to the power of "
        + ", ".join(
            f"{slope:.2f} at an RTT of {2 * float(delay.removesuffix('ms')):g} ms" for delay, slope in whole.items()
        )
        + f"; from p = 0.003 on {many(law.CUBIC)}, that of NewReno {many(law.NEWRENO)}.",
        "At long RTTs and few losses CUBIC leaves its Reno-friendly region and goes with p^-0.75 (RFC 9438, section 5.1). With many "
        "losses the window is a few segments. It does not grow in the round trip of a recovery, which is a good part of the time "
        "between losses. This is so for NewReno too. In addition, Linux's CUBIC counts whole segments.",
    )


def _round_trips(evidence: Evidence) -> Claim:
    found = evidence.round_trips
    share = sum(found["share"]) / len(found["share"])
    return Claim(
        "round-trips",
        "Section 4",
        "The least RTT sqrt(p) of a round trip follows from the least d sqrt(p) each way.",
        _verdict(share == 0, False),
        f"On asymmetric ten-node networks the best path there and the best one back are not the best round trip for {share:.1%} of "
        f"the pairs; at worst their RTT sqrt(p) is {found['worst']:.2f} times the least. On the symmetric testbed this is so for "
        f"{found['testbed']} pairs.",
        "The metric is not isotonic: the best path on one way depends on the delay and loss of the other way.",
    )


def _isotonic(evidence: Evidence) -> Claim:
    pairs = [pair for pair in evidence.comparison.pairs if pair.heuristic_ratio > 1 + 1e-9]
    gains = evidence.gains["exact", FLOWS[-1]]
    return Claim(
        "isotonic",
        "Section 4.1.1",
        "d sqrt(p) is isotonic, so that the modified Dijkstra finds the best paths.",
        _verdict(not pairs, False),
        "On the paper's own ten nodes it misses "
        + ", ".join(f"{pair.source}-{pair.target} (cost {pair.heuristic_ratio:.3f} times the least)" for pair in pairs)
        + f"; with 50 flows the exact routes of these get {_text(gains.on_differing)} times the goodput. For "
        + ", ".join(map("-".join, evidence.one_way_only))
        + " it finds another route from the other end, although all links are alike in both directions.",
        "1 ms at 9 % loss costs less than 2 ms at 3 %, but more after a further 10 ms at 0.1 % (docs/models/routing.md). "
        + (
            "In goodput the exact routes even lose: the better path by the law has more losses, and these cost more than the law says."
            if gains.on_differing[0] < 1
            else ""
        ),
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
    return Claim(
        "counts",
        "Table 2",
        "TCPBP's route is hop-count's for 26 of 45 pairs, and delay's for 39.",
        _verdict(exact, least <= hops <= most and any(share >= 0.025 for share in shares.values())),
        f"The route of least d sqrt(p) is hop-count's for {best[0]} pairs and delay's for {best[1]}, by the printed matrices; with "
        f"0.0044 s between 2 and 3 for {best_there[0]} and {best_there[1]}. That of the modified Dijkstra is so for {modified[0]} and "
        f"{modified[1]}, with 0.0044 s for {modified_there[0]} and {modified_there[1]}. Over all ways to break hop-count's ties "
        f"({evidence.ties.tied} pairs have some) the modified Dijkstra has {least} to {most} of its routes. With link values drawn within 5 %, "
        f"{delay} of its routes are delay's in "
        + " and ".join(f"{share:.0%} ({reading} s)" for reading, share in shares.items())
        + " of the draws.",
        "So the paper seems to have counted the best routes. Its modified Dijkstra, as printed, misses two of them."
        if best == wanted != modified
        else "",
    )


def _same(evidence: Evidence, gains: Mapping[str, Gain]) -> tuple[int, ...]:
    """The number of pairs with the same route as each other metric."""
    return tuple(len(evidence.bed.pairs) - gains[label].differing for label in OTHERS)


def _gain(evidence: Evidence, label: str, wanted: float, words: str) -> Claim:
    gains = {flows: evidence.gains[label, flows].on_differing for flows in FLOWS}
    reached = [mean >= wanted for mean, _ in gains.values()]
    above_one = all(mean - (half or 0) > 1 for mean, half in gains.values())
    measured = {flows: estimate for (other, flows), estimate in evidence.measured_gains.items() if other == label}
    ties = evidence.ties
    extra = ""
    if label == "hop-count":
        extra = f" Ties broken by the lower number give {_text(evidence.lower_number.on_differing)} instead"
        if ties.with_count and ties.without_outlier:
            extra += (
                f"; all ways that agree with Tables 2 and 4 give {ties.with_count[0]:.2f} to {ties.with_count[1]:.2f}, and "
                f"{ties.without_outlier[0]:.2f} to {ties.without_outlier[1]:.2f} if hop-count takes 3-4-5 between 3 and 5, where the tied 3-1-5 "
                "gives a thirtieth"
            )
        extra += "."
    return Claim(
        f"gain-{label}",
        "Table 3",
        f"Where routes differ, TCPBP gets {words} more than {label}, with 10, 25 and 50 flows.",
        _verdict(all(reached), above_one),
        f"{', '.join(_text(gain) for gain in gains.values())} times with {_flows(gains)} flows; over routes of the link-state controller with link "
        f"values within 5 % {', '.join(_text(gain) for gain in measured.values())} ({_flows(measured)} flows).{extra}",
        "" if all(reached) else "With 50 flows the best routes are full: see below.",
    )


def _flows(by_flows: dict[int, Estimate]) -> str:
    return ", ".join(str(flows) for flows in by_flows)


def _falls(evidence: Evidence) -> Claim:
    falls, back, texts = [], [], []
    for label in OTHERS:
        few, many = (evidence.gains[label, flows].on_differing for flows in FLOWS[1:])
        free = evidence.without_capacity[label].on_differing
        falls.append(few[0] > CLEARLY * many[0])
        back.append(free[0] > CLEARLY * many[0])
        texts.append(
            f"over {label} {_text(few)} with 25 flows, {_text(many)} with 50, and {_text(free)} with 50 on links of 10 Gbit/s"
        )
    together = [evidence.together["delay", flows] for flows in FLOWS[1:]]
    return Claim(
        "falls-with-50",
        "Section 5.2",
        "From 25 to 50 flows the gains diminish, as the available bandwidth is too small for what the law predicts.",
        _verdict(all(falls) and all(back), any(fall and again for fall, again in zip(falls, back, strict=True))),
        f"TCPBP {'; '.join(texts)}.",
        ""
        if all(falls)
        else "Where delay's routes differ, 50 flows do not fill any link. With the flows of all metrics at once that gain falls too, "
        f"from {_text(together[0])} to "
        f"{_text(together[1])}.",
    )


def _all_routes(evidence: Evidence) -> Claim:
    gains = {(label, flows): evidence.gains[label, flows] for label in ("hop-count", "delay") for flows in FLOWS}
    small = [gain.of_sums[0] < 1.01 for gain in gains.values()]
    hops, delay = gains["hop-count", FLOWS[0]], gains["delay", FLOWS[0]]
    said = {
        label: (1 - count / 45) + count / 45 * evidence.published(f"dr-{label}-10")
        for label, count in (("hop-count", 19), ("delay", 6))
    }
    return Claim(
        "all-routes",
        "Table 3",
        "Over all routes the improvement is slight, less than 1 %.",
        _verdict(all(small), any(small)),
        f"Ten flows: the sum over all pairs is {_text(hops.of_sums)} times hop-count's and {_text(delay.of_sums)} times delay's; the mean of all "
        f"pairs' ratios {_text(hops.on_all)} and {_text(delay.on_all)}.",
        f"By the paper's own numbers the mean over all routes would be (26 + 19 x 1.8222) / 45 = {said['hop-count']:.3f} and (39 + 6 "
        "x 1.5523) / 45 = "
        f"{said['delay']:.3f}. It does not say how it computed 1.0095 and 1.0025. Ratios of sums come nearest; in sums a few short "
        "routes at full rate outweigh all others.",
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
    return Claim(
        "routes-1-10",
        "Table 4",
        "From 1 to 10 TCPBP takes 1-3-4-10, hop-count 1-5-10, delay 1-5-4-10, with 1 / (RTT sqrt(p)) of 324.09, 265.18 and 321.99.",
        _verdict(same and inside, same),
        "The same routes. By the printed values "
        + ", ".join(f"{evidence.law_value(route):.2f}" for route in wanted.values())
        + "; with values drawn within 5 % "
        + ", ".join(f"{low:.0f} to {high:.0f}" for low, high in ranges.values())
        + ".",
    )


def _order_1_10(evidence: Evidence) -> Claim:
    ours, delay, hops = (evidence.route_rate(route) for route in ("1-3-4-10", "1-5-4-10", "1-5-10"))

    def above(one: Estimate, other: Estimate) -> bool:
        return one[0] > CLEARLY * other[0]

    return Claim(
        "order-1-10",
        "Table 4",
        "From 1 to 10 TCPBP gets more than delay, and delay more than hop-count.",
        _verdict(above(ours, delay) and above(delay, hops), ours[0] > hops[0]),
        f"{_text(ours)}, {_text(delay)} and {_text(hops)} Mbit/s for each of ten flows.",
    )


def _proportional(evidence: Evidence) -> Claim:
    routes = ("1-3-4-10", "1-5-10", "1-5-4-10")
    quotients = [evidence.route_rate(route)[0] * 1e3 / evidence.law_value(route) for route in routes]
    spread = max(quotients) / min(quotients) - 1
    fit = evidence.agreement
    return Claim(
        "proportional",
        "Section 5.2",
        "Throughput and 1 / (RTT sqrt(p)) have quite close quotients, so the law predicts which route is better.",
        _verdict(spread <= SAME, spread <= PARTLY),
        f"{', '.join(f'{quotient:.1f}' for quotient in quotients)} kbit on the three routes, {spread:.0%} apart (the paper's are 5 % "
        "apart). Over all "
        f"paths that ten flows do not fill goodput goes with RTT^{fit.rtt_exponent[0]:.2f} p^{fit.loss_exponent[0]:.2f}, and the law names the "
        f"better one of two rival paths in {fit.rank_agreement:.0%}.",
        "Over Mathis's formula a flow gets "
        f"{', '.join(f'{quotient:.2f} on paths that lose {label}' for label, quotient in fit.quotients.items())}. With a window of a "
        "few segments the round trips of recovery are much of the time, and the law does not model them. TCPBP takes such paths for "
        "their short delay.",
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
    return Claim(
        "rate-1-10",
        "Table 4",
        "Each flow from 1 to 10 gets 17.1, 13.3 and 16.8 Mbit/s by TCPBP, hop-count and delay.",
        _verdict(all(0.75 < ratio < 1.33 for ratio in off.values()), False),
        f"{', '.join(_text(evidence.route_rate(route)) for route in names.values())} Mbit/s: the paper has {min(off.values()):.1f} to "
        f"{max(off.values()):.1f} times as much.",
        f"Mathis's formula gives {', '.join(f'{rate:.1f}' for rate in mathis_mbps)} Mbit/s with C = 1.22, and 1.4 times that if only "
        "losses of data count. The paper contradicts itself: if a flow had the paper's rate, 1 Gbit/s would be full on most "
        f"differing routes, and Table 3's ratios would be {scaled[0]:.2f}, {scaled[1]:.2f}, {scaled[2]:.2f} "
        f"for 10, 25 and 50 flows; with our rates the law gives {ours[0]:.2f}, {ours[1]:.2f}, {ours[2]:.2f}, as in the paper's 1.82, "
        "1.84, 1.65. What could raise "
        f"the rate (Mbit/s of a lone flow on the three routes): {tried}. {absolute.title(nearest).capitalize()} comes nearest.",
    )


def _fair(evidence: Evidence) -> Claim:
    apart = max(
        max(evidence.jain[label, flows][0] for label in ("tcpbp", "delay", "hop-count"))
        - min(evidence.jain[label, flows][0] for label in ("tcpbp", "delay", "hop-count"))
        for flows in FLOWS
    )
    return Claim(
        "fairness",
        "Table 5",
        "TCPBP does not harm fairness: Jain's index does not differ significantly across the metrics.",
        _verdict(apart <= NO_EFFECT_ON_JAIN, apart <= 2 * NO_EFFECT_ON_JAIN),
        f"The metrics' indexes are at most {apart:.4f} apart: TCPBP "
        + ", ".join(_text(evidence.jain["tcpbp", flows]) for flows in FLOWS)
        + " with 10, 25, 50 flows.",
        "The indexes themselves are above the paper's .88 to .95: ten flows on one path lose often enough to get about the same "
        "throughput. From 1 to 10 the index of shares over "
        + ", ".join(f"{length} s is {_text(index)}" for length, index in evidence.jain_by_window.items())
        + ".",
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
    return Claim(
        "running-time",
        "Section 4.2",
        "The modified Dijkstra has the same complexity, and is slightly slower.",
        _verdict(same, False),
        f"Over all sources of a random network of 100 nodes both take {standard.steps:,} steps and examine {standard.examined:,} "
        "edges; labels improve "
        f"{standard.improved:,} and {modified.improved:,} times. With an array the modified search takes "
        f"{ratios(running_times.ARRAY_MODIFIED, running_times.ARRAY_STANDARD)} times as long for 10, 25, 50 and 100 nodes "
        f"(the paper: {', '.join(paper)}); with a heap {ratios(running_times.HEAP_MODIFIED, running_times.HEAP_STANDARD)} times.",
    )


def _asymmetric(evidence: Evidence) -> Claim:
    shapes = asymmetry.shapes(evidence.lab)

    def more(name: str, shape: str) -> bool:
        ours, other = evidence.asymmetry[shape, "asymmetric"][name], evidence.asymmetry[shape, "symmetric"][name]
        return ours[0] > CLEARLY * other[0]

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
    return Claim(
        "asymmetric",
        "Section 5.2",
        "With asymmetric routing there would be more different round trips, and a greater gain over delay.",
        _verdict(all(routes) and all(gains), any(routes)),
        ". ".join(texts) + ".",
        ""
        if all(gains)
        else "More pairs differ, because either way may differ. But most differ on one way only, and delay and loss of the other way "
        "reduce the gain: on asymmetric networks "
        + ", ".join(
            f"{evidence.asymmetry[shape, 'asymmetric']['one'][0]:.2f} where one way differs and "
            f"{evidence.asymmetry[shape, 'asymmetric']['both'][0]:.2f} where both do ({shape})"
            for shape in shapes
        )
        + ", by the law.",
    )


def _link_state(evidence: Evidence) -> Claim:
    shares = evidence.found_best
    least = min(shares[TCPBP][0], shares[EXACT][0])
    return Claim(
        "link-state",
        "Section 7",
        "TCPBP provides viable routes if link states can be measured adequately.",
        _verdict(least >= FOUND_BEST, least >= MOSTLY_BEST),
        "With the testbed's probes (50 Mbit/s, averages of three samples of 10 s) and link values within 5 % the controller finds "
        "the route that the true "
        f"values give for {shares[TCPBP][0]:.1%} of the pairs by TCPBP, {shares[EXACT][0]:.1%} by the exact search, "
        f"{shares['delay'][0]:.1%} by delay.",
    )


def _reconvergence(evidence: Evidence) -> Claim:
    rows = {row["hysteresis"]: row for row in evidence.hysteresis.to_dicts()}
    thresholds = sorted(rows)
    without, widest = rows[thresholds[0]], rows[thresholds[-1]]
    moves = without["steady"] > 0 or without["flows"] > 0
    calmer = widest["steady"] <= MUCH_CALMER * without["steady"]
    return Claim(
        "reconvergence",
        "Section 7",
        "Measurements alone trigger re-convergence between routes of close cost, and a threshold may prevent it.",
        _verdict(moves and calmer, moves),
        "By threshold: changes of all 90 routes in a minute of a network that does not change, changes of the route from 1 to 10 in "
        "a minute of ten flows, and the goodput of these flows: "
        + "; ".join(
            f"threshold {float(threshold):.0%}: {rows[threshold]['steady']:.1f}, {rows[threshold]['flows']:.1f}, "
            f"{with_interval(rows[threshold]['mbps'], rows[threshold]['mbps_half'])} Mbit/s"
            for threshold in thresholds
        )
        + f". Without changes they get {10 * evidence.route_rate('1-3-4-10')[0]:.1f} Mbit/s.",
    )


def _sharing(evidence: Evidence) -> Claim:
    table = {(row["flows"], row["way"]): row for row in evidence.sharing.to_dicts()}
    counts = sorted({flows for flows, _ in table})
    near = [table[flows, "within-5"]["mean"] / table[flows, "best"]["mean"] for flows in counts]
    wide = [table[flows, "within-30"]["mean"] / table[flows, "best"]["mean"] for flows in counts]
    return Claim(
        "sharing",
        "Section 7",
        "Routes of close cost could be used to balance traffic.",
        _verdict(min(near) >= NO_LOSS and max(near) > 1.1, max(*near, *wide) > 1.1),
        "Goodput from 1 to 10 shared over all paths that cost at most 5 % more, over that of the best path: "
        + ", ".join(f"{ratio:.2f} with {flows} flows" for ratio, flows in zip(near, counts, strict=True))
        + "; at most 30 % more: "
        + ", ".join(f"{ratio:.2f}" for ratio in wide)
        + ".",
        "The two paths of nearly the same cost share the link 4-10, so their capacities do not add up. Sharing pays if the paths "
        "include one without this link, and only once the best path is full.",
    )
