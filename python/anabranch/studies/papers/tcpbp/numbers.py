"""Our numbers, for all of the paper's tables and for other readings."""

from collections.abc import Iterator

from anabranch.studies.papers.study import Number
from anabranch.studies.papers.tcpbp import absolute, asymmetry, law, running_times
from anabranch.studies.papers.tcpbp.evidence import OTHERS, Estimate, Evidence
from anabranch.studies.papers.tcpbp.networks import EXACT, TCPBP
from anabranch.studies.papers.tcpbp.throughput import FLOWS

ROUTES = {"tcpbp": "1-3-4-10", "hop-count": "1-5-10", "delay": "1-5-4-10"}


def all_of(evidence: Evidence) -> list[Number]:
    """All numbers, in the order of the tables."""
    parts = (_table_2, _table_3, _readings, _table_4, _table_5, _table_6, _optimum, _law, _controller, _asymmetry)
    return [number for part in parts for number in part(evidence)]


def _of(name: str, estimate: Estimate, remark: str = "", *, what: str = "", where: str = "", unit: str = "") -> Number:
    return Number(name, estimate[0], estimate[1], what=what, unit=unit, where=where, remark=remark)


def _table_2(evidence: Evidence) -> Iterator[Number]:
    pairs = len(evidence.bed.pairs)
    yield Number("routes", pairs)
    least, most = evidence.ties.same
    remarks = {
        "hop-count": f"{least} to {most} over all ways to break ties; here by delay, by the lower number "
        f"{pairs - evidence.lower_number.differing}",
        "delay": f"{pairs - evidence.other_gains['delay'].differing} with 0.0044 s between 2 and 3",
    }
    for label, remark in remarks.items():
        differing = evidence.gains[label, FLOWS[0]].differing
        yield Number(f"same-{label}", pairs - differing, remark=remark)
        yield Number(f"other-{label}", differing)
    for label in OTHERS:
        yield Number(
            f"same-{label}-best",
            pairs - evidence.optimum_gains[label, FLOWS[0]].differing,
            what=f"routes of least d sqrt(p) that are {label}'s",
            where="Table 2",
            remark=f"{pairs - evidence.other_optimum_gains[label].differing} with 0.0044 s between 2 and 3",
        )
    for label, estimate in evidence.measured_same.items():
        yield _of(
            f"same-{label}-measured",
            estimate,
            "over draws",
            what=f"routes of TCPBP that are {label}'s, by the controller's measurements",
            where="Table 2",
        )


def _table_3(evidence: Evidence) -> Iterator[Number]:
    for flows in FLOWS:
        for label in OTHERS:
            gain = evidence.gains[label, flows]
            yield _of(f"ar-{label}-{flows}", gain.of_sums)
            yield _of(f"dr-{label}-{flows}", gain.on_differing)
    for (label, flows), gain in evidence.optimum_gains.items():
        yield _of(
            f"dr-{label}-{flows}-best",
            gain.on_differing,
            what=f"routes of least d sqrt(p) / {label}, differing routes, {flows} flows",
            where="Table 3",
        )
    for (label, flows), estimate in evidence.measured_gains.items():
        yield _of(
            f"dr-{label}-{flows}-measured",
            estimate,
            "over draws",
            what=f"TCPBP / {label}, differing routes, {flows} flows, link values within 5 %, routes of the controller",
            where="Table 3",
        )


def _readings(evidence: Evidence) -> Iterator[Number]:
    flows = FLOWS[0]
    for label in OTHERS:
        yield _of(
            f"mean-{label}-{flows}",
            evidence.gains[label, flows].on_all,
            what=f"TCPBP / {label}, all routes as the mean of ratios, {flows} flows",
            where="Table 3",
        )
        yield _of(
            f"dr-{label}-{flows}-d23",
            evidence.other_gains[label].on_differing,
            what=f"TCPBP / {label}, differing routes, {flows} flows, 0.0044 s between 2 and 3",
            where="Table 3",
        )
        yield _of(
            f"dr-{label}-{flows}-data-losses",
            evidence.data_losses[1][label].on_differing,
            what=f"TCPBP / {label}, differing routes, {flows} flows, no ACKs lost",
            where="Table 3",
        )
        yield _of(
            f"dr-{label}-{FLOWS[-1]}-10g",
            evidence.without_capacity[label].on_differing,
            what=f"TCPBP / {label}, differing routes, {FLOWS[-1]} flows, links of 10 Gbit/s",
            where="Section 5.2",
        )
    for (label, count), estimate in evidence.together.items():
        yield _of(
            f"dr-{label}-{count}-together",
            estimate,
            what=f"TCPBP / {label}, differing routes, {count} flows of each of three metrics at once",
            where="Table 3",
        )
    yield _of(
        "dr-hop-count-10-lower",
        evidence.lower_number.on_differing,
        what="TCPBP / hop-count, differing routes, 10 flows, hop-count's ties by the lower number",
        where="Table 3",
    )
    yield _of(
        "dr-hop-count-10-averaged",
        evidence.averaged_ties,
        what="TCPBP / hop-count, differing routes, 10 flows, hop-count over all its ties alike",
        where="Table 3",
    )


def _table_4(evidence: Evidence) -> Iterator[Number]:
    for label, route in ROUTES.items():
        yield Number(f"law-{label}", evidence.law_value(route), remark="from the printed matrices")
    lossless = evidence.data_losses[0]
    for label, route in ROUTES.items():
        path = tuple(route.split("-"))
        yield _of(
            f"rate-{label}",
            evidence.route_rate(route),
            f"{lossless.mean_bps(path, FLOWS[0]) / 1e6:.2f} if no ACKs are lost",
        )
    for label, rate in evidence.from_the_start.items():
        yield _of(
            f"rate-{label}-from-start",
            rate,
            what=f"throughput of a flow on {ROUTES[label]}, slow start with it",
            unit="Mbit/s",
            where="Table 4",
        )
    for delay, segments in absolute.settings():
        yield _of(
            f"rate-alone-{delay.replace(' ', '-')}-{segments}",
            evidence.absolute[(delay, segments), absolute.ROUTES[0]],
            what=f"throughput of a lone flow on 1-3-4-10, {absolute.title((delay, segments))}",
            where="Table 4",
            unit="Mbit/s",
        )


def _table_5(evidence: Evidence) -> Iterator[Number]:
    for flows in FLOWS:
        for label in ("tcpbp", "delay", "hop-count"):
            yield _of(f"jain-{label}-{flows}", evidence.jain[label, flows])
    for length, index in evidence.jain_by_window.items():
        yield _of(
            f"jain-{length}-s",
            index,
            what=f"Jain's index of shares of {length} s, ten flows from 1 to 10",
            where="Table 5",
        )


def _table_6(evidence: Evidence) -> Iterator[Number]:
    if evidence.lab.quick:
        return  # tests expect no times
    for kind, way in (("standard", running_times.ARRAY_STANDARD), ("modified", running_times.ARRAY_MODIFIED)):
        for nodes in (10, 25, 50, 100):
            yield Number(
                f"time-{kind}-{nodes}", evidence.timings[way][str(nodes)], remark="an array in Python, one thread"
            )


def _optimum(evidence: Evidence) -> Iterator[Number]:
    missed = [pair for pair in evidence.comparison.pairs if pair.heuristic_ratio > 1 + 1e-9]
    for pair in missed:
        yield Number(
            f"missed-{pair.source}-{pair.target}",
            pair.heuristic_ratio,
            what=f"cost of TCPBP's route over the least, {pair.source} to {pair.target}",
            where="Section 4.1",
        )
    for flows in FLOWS:
        yield _of(
            f"dr-exact-{flows}",
            evidence.gains["exact", flows].on_differing,
            f"{len(missed)} routes",
            what=f"throughput of the exact optimum / TCPBP, differing routes, {flows} flows",
            where="Section 4.1",
        )
    share = evidence.round_trips["share"]
    yield Number(
        "round-trips-missed",
        sum(share) / len(share),
        what="share of pairs whose best round trip is not the best path each way, asymmetric ten nodes",
        where="Section 4",
    )


def _law(evidence: Evidence) -> Iterator[Number]:
    fit = evidence.agreement
    yield _of(
        "fit-rtt",
        fit.rtt_exponent,
        what="exponent of RTT that fits goodput on the testbed's paths (law: -1)",
        where="Section 3",
    )
    yield _of(
        "fit-loss",
        fit.loss_exponent,
        what="exponent of p that fits goodput on the testbed's paths (law: -0.5)",
        where="Section 3",
    )
    yield Number(
        "rank-agreement",
        fit.rank_agreement,
        what="share of rival paths of which the law names the better one",
        where="Section 5.2",
    )
    for delay in evidence.sweep["delay"].unique(maintain_order=True):
        yield Number(
            f"exponent-{delay}",
            law.exponent(evidence.sweep, law.CUBIC, delay, (0.0, 0.05)),
            what=f"exponent of p, CUBIC over a link of {delay} (law: -0.5)",
            where="Section 3",
        )
        yield Number(
            f"exponent-newreno-{delay}",
            law.exponent(evidence.sweep, law.NEWRENO, delay, law.MANY),
            what=f"exponent of p from 0.003 on, NewReno over a link of {delay} (law: -0.5)",
            where="Section 3",
        )


def _controller(evidence: Evidence) -> Iterator[Number]:
    for metric, label in ((TCPBP, "tcpbp"), (EXACT, "exact")):
        yield _of(
            f"found-best-{label}",
            evidence.found_best[metric],
            "over draws",
            what=f"share of the controller's routes that the true values give, {metric}",
            where="Section 5.1",
        )
    for row in evidence.hysteresis.to_dicts():
        percent = f"{float(row['hysteresis']):.0%}"
        yield Number(
            f"changes-{percent.rstrip('%')}",
            row["steady"],
            row["steady_half"],
            what=f"changes of the 90 routes a minute, nothing changes, threshold {percent}",
            where="Section 7",
        )
        yield Number(
            f"rate-threshold-{percent.rstrip('%')}",
            row["mbps"],
            row["mbps_half"],
            what=f"ten flows from 1 to 10 over measured routes, threshold {percent}",
            unit="Mbit/s",
            where="Section 7",
        )
    for row in evidence.sharing.to_dicts():
        yield Number(
            f"sharing-{row['way']}-{row['flows']}",
            row["mean"],
            row["half_width"],
            what=f"{row['flows']} flows from 1 to 10, {row['way']}",
            unit="Mbit/s",
            where="Section 7",
        )


def _asymmetry(evidence: Evidence) -> Iterator[Number]:
    for (shape, kind), found in evidence.asymmetry.items():
        short = shape.rpartition("/")[2].replace(" ", "-").lower()
        yield _of(
            f"differing-{short}-{kind}",
            found["share"],
            "over draws",
            what=f"share of pairs whose round trip differs between TCPBP and delay, {shape}, {kind}",
            where="Section 5.2",
        )
        yield _of(
            f"gain-{short}-{kind}-law",
            found["differing"],
            "over draws, by the law",
            what=f"TCPBP / delay on differing round trips, {shape}, {kind}",
            where="Section 5.2",
        )
        if (shape, kind) in evidence.asymmetry_measured:
            yield _of(
                f"gain-{short}-{kind}",
                evidence.asymmetry_measured[shape, kind],
                f"over draws, {asymmetry.FLOWS} flows",
                what=f"throughput TCPBP / delay on differing round trips, {shape}, {kind}",
                where="Section 5.2",
            )
