"""Tables 2 to 6 as the paper prints them, with our rows below its own, and tables of other readings."""

from collections.abc import Sequence

from anabranch.pages.report.chart import three_digits, with_interval
from anabranch.studies.papers.study import Table
from anabranch.studies.papers.tcpbp import absolute, networks, running_times
from anabranch.studies.papers.tcpbp.evidence import OTHERS, Evidence
from anabranch.studies.papers.tcpbp.networks import DELAY, EXACT, HOPS, TCPBP
from anabranch.studies.papers.tcpbp.throughput import FLOWS, Gain


def all_of(evidence: Evidence) -> list[Table]:
    """All tables, in the order of the paper."""
    return [
        _links(evidence),
        _table_3(evidence),
        _routes(evidence),
        _rates(evidence),
        _readings(evidence),
        _times(evidence),
    ]


def _links(evidence: Evidence) -> Table:
    links = {(link.source, link.target): link for link in evidence.bed.topology.links}
    rows = [
        ["-".join(pair), f"{links[pair].delay_s:g}", f"{links[pair].loss:g}"]
        for pair in networks.cables(evidence.bed.topology)
    ]
    return Table(
        "links",
        "Figures 3 and 4",
        "The links of the testbed, alike in both directions. Figure 3 prints 0.004 s from 2 to 3 and 0.0044 s from 3 to 2.",
        ["Link", "Delay, s", "Loss"],
        rows,
    )


def _table_3(evidence: Evidence) -> Table:
    rows = []
    for flows in FLOWS:
        paper, ours = [f"{flows} flows, paper"], [f"{flows} flows, ours"]
        for label in OTHERS:
            gain = evidence.gains[label, flows]
            paper += [f"{evidence.published(f'{kind}-{label}-{flows}'):g}" for kind in ("ar", "dr")]
            ours += [with_interval(*gain.of_sums), with_interval(*gain.on_differing)]
        rows += [paper, ours]
    return Table(
        "table-3",
        "Table 3",
        "Throughput of TCPBP's routes over that of other metrics' routes: all routes (AR; ours is the ratio of the sums) and "
        "differing routes (DR; mean of the ratios).",
        ["", "hop-count (AR)", "hop-count (DR)", "delay (AR)", "delay (DR)"],
        rows,
    )


def _routes(evidence: Evidence) -> Table:
    chosen, rates = evidence.bed.chosen, evidence.rates
    rows = []
    for pair in evidence.bed.pairs:
        own = chosen[TCPBP][pair]
        others = {label: chosen[metric][pair] for label, metric in (("exact", EXACT), ("delay", DELAY), ("hops", HOPS))}
        if all(path == own for path in others.values()):
            continue
        rate = rates.mean_bps(own, FLOWS[0])
        cells = [
            "same" if path == own else f"{networks.name(path)}: {rate / rates.mean_bps(path, FLOWS[0]):.2f}"
            for path in others.values()
        ]
        rows.append(["-".join(pair), networks.name(own), f"{rate / 1e6:.2f}", *cells])
    return Table(
        "differing-routes",
        "Table 2",
        "Pairs whose routes are not all the same: TCPBP's route with the goodput of each of ten flows in Mbit/s, and others' routes "
        "with TCPBP's goodput over theirs.",
        ["Pair", "TCPBP", "Mbit/s", "Exact optimum", "Delay", "Hop-count"],
        rows,
    )


def _rates(evidence: Evidence) -> Table:
    rows = []
    for setting in absolute.settings():
        rates = [evidence.absolute[setting, route] for route in absolute.ROUTES]
        rows.append([absolute.title(setting), *(with_interval(*rate) for rate in rates)])
    paper = [f"{evidence.published(f'rate-{label}'):g}" for label in ("tcpbp", "hop-count", "delay")]
    return Table(
        "rates",
        "Table 4",
        "Settings that might give the paper's rates, with Mbit/s of a lone flow. Delay is emulated on both ways or on one way only. "
        "NetEm loses several segments as one if the host has not split them yet.",
        ["", *absolute.ROUTES],
        [["paper", *paper], *rows],
    )


def _readings(evidence: Evidence) -> Table:
    flows = FLOWS[0]
    base = [evidence.gains[label, flows] for label in OTHERS]
    other = [evidence.other_gains[label] for label in OTHERS]
    lossless = [evidence.data_losses[1][label] for label in OTHERS]
    rows = [
        ["as taken: 0.0040 s, losses both ways, ties by delay", *_two(base)],
        ["0.0044 s between 2 and 3", *_two(other)],
        ["routes of least d sqrt(p)", *_two([evidence.optimum_gains[label, flows] for label in OTHERS])],
        ["the same, 0.0044 s between 2 and 3", *_two([evidence.other_optimum_gains[label] for label in OTHERS])],
        ["links lose data and no ACKs", *_two(lossless)],
        ["hop-count's ties by the lower number", *_two([evidence.lower_number]), "", ""],
        ["hop-count over all tied paths alike", "", with_interval(*evidence.averaged_ties), "", ""],
    ]
    for count in FLOWS:
        ratios = [with_interval(*evidence.together[label, count]) for label in OTHERS]
        rows.append(
            [
                f"{count} flows of each metric at the same time",
                str(base[0].differing),
                ratios[0],
                str(base[1].differing),
                ratios[1],
            ]
        )
    paper = [
        f"{evidence.published('other-hop-count'):g}",
        f"{evidence.published('dr-hop-count-10'):g}",
        f"{evidence.published('other-delay'):g}",
        f"{evidence.published('dr-delay-10'):g}",
    ]
    return Table(
        "readings",
        "Other readings",
        "The number of pairs that differ from TCPBP, and the mean ratio on these pairs, in every reading; ten flows unless stated otherwise.",
        ["Reading", "hop-count: pairs", "ratio", "delay: pairs", "ratio "],
        [["paper", *paper], *rows],
    )


def _two(gains: Sequence[Gain]) -> list[str]:
    return [text for gain in gains for text in (str(gain.differing), with_interval(*gain.on_differing))]


def _times(evidence: Evidence) -> Table:
    timings = evidence.timings
    sizes = list(next(iter(timings.values())))
    rows = [[way, *(three_digits(timings[way][size]) for size in sizes)] for way in running_times.WAYS]
    for kind in ("standard", "modified"):
        published = {str(size): f"{evidence.published(f'time-{kind}-{size}'):g}" for size in (10, 25, 50, 100)}
        rows.append([f"paper, {kind}", *(published.get(size, "") for size in sizes)])
    return Table(
        "table-6",
        "Table 6",
        "CPU seconds for all routes of a random network by its number of nodes, one thread: the naive search with an array in "
        "Python, ours with a heap in Rust. "
        "For large networks only some sources are timed, and the time is scaled up.",
        ["", *(f"{int(size):,}" for size in sizes)],
        rows,
    )
