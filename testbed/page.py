"""The page: Tables 2 to 5 of the paper, of the live testbed, and of the packet engine over the same paths."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from statistics import fmean, median

import polars as pl

from anabranch import version
from anabranch.engines.openflow.plan import Probing
from anabranch.foundation.output_files import write_text
from anabranch.runs import execute
from anabranch.scenario import Scenario
from anabranch.studies.papers.tcpbp import copies, networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, METRICS, TCPBP, Chosen, Pair
from anabranch.studies.testbed.tests import BUSY
from testbed import paper
from testbed.paper import CAPACITY_BPS, PRINTED, SECONDS, WARM_UP_S, Paper

FILE, TABLE, ROUTES = "testbed.md", "testbed.csv", "testbed-routes.json"
PROBING = Probing()
SEEDS = 3
"""Number of seeds in the packet engine."""
OTHERS = {"hop-count": HOPS, "delay": DELAY}
PAPER_RATIOS = {("hop-count", 10): 1.8222, ("hop-count", 25): 1.8362, ("hop-count", 50): 1.650} | {
    ("delay", 10): 1.5523, ("delay", 25): 1.5321, ("delay", 50): 1.412,
}  # fmt: skip
PAPER_SAME = {"hop-count": 26, "delay": 39}
PAPER_RATES = {TCPBP: 17.1, HOPS: 13.3, DELAY: 16.8}
"""Table 4: Mbit/s of a flow."""
NEAR = 0.1
"""Share within which rates are the paper's, in the median."""
EQUAL_JAIN = 0.01
"""Indexes of Jain that differ by less are the same."""
PAPER_JAIN = {10: (0.88, 0.91, 0.90), 25: (0.89, 0.93, 0.92), 50: (0.95, 0.94, 0.94)}
"""Jain's indexes of TCPBP, delay and hop-count, by number of flows."""
_NOT_THERE = "–"


def write(out: File, seed: int, slower: float) -> None:
    """Write the page beside the tables."""
    table = paper.table(out, slower)
    write_text(out / TABLE, table.write_csv())
    routes = json.loads((out / ROUTES).read_text(encoding="utf-8"))["routes"]
    chosen: Chosen = {
        metric: {(source, target): tuple(path) for source, target, path in found} for metric, found in routes.items()
    }
    parts = []
    for (fewer,), rows in table.group_by("fewer_losses", maintain_order=True):
        parts.append(_with_packet_engine(rows, Paper(seed, slower, float(str(fewer)))))
    both = pl.concat(parts)
    write_text(out / FILE, _page(both, chosen, seed, slower))


def _with_packet_engine(rows: pl.DataFrame, network: Paper) -> pl.DataFrame:
    """The table with the packet engine's goodput and index over the same paths of the same network."""
    ways, topology = sorted(set(rows.select("path", "back").rows())), network.topology
    own = [
        copies.copy_of(f"{there} {back}", topology, tuple(there.split("-")), tuple(back.split("-")))
        for there, back in ways
    ]
    flows = sorted(set(rows["flows"]))
    text = copies.text("The paths of the live testbed", own, flows, f"{CAPACITY_BPS / network.slower:.0f}bps", (1460,))
    text += f'[run]\nduration = "{SECONDS + WARM_UP_S}s"\nwarm_up = "{WARM_UP_S}s"\nseeds = {SEEDS}\n'
    measured = copies.measured(execute(Scenario.from_toml(text)))
    means = measured.group_by("copy", "flows").agg(
        packet_bps=pl.col("bps").mean() * network.slower, packet_jain=pl.col("jain").mean()
    )
    with_copy = rows.with_columns(copy=pl.col("path") + " " + pl.col("back"))
    return with_copy.join(means, on=["copy", "flows"], how="left").drop("copy")


def _page(table: pl.DataFrame, chosen: Chosen, seed: int, slower: float) -> str:
    valid = table.filter(pl.col("busy") <= BUSY)
    own = valid.filter(pl.col("fewer_losses") == 1)
    return "\n".join(
        [
            "# TCPBP's testbed, live",
            "",
            f"*Written by `make testbed`, Anabranch {version()}: {table.height} tests, seed {seed}. The study of the paper in the packet engine is [there](README.md).*",
            "",
            "The testbed has ten switches of Open vSwitch in user space with a Linux host at each. 21 cables have the delays and losses of Figures 3 and 4, drawn within 5 %. An",
            f"OpenFlow controller uses os-ken. For {PROBING.length_s:.0f} s random packets go between neighbours ({PROBING.rate_bps / 1e6:g} Mbit/s; the paper has 50). Every 10 s the controller samples the",
            "loss of every cable by the counters at its ends, and its delay by its own frames. It takes the mean of three samples, and installs the routes of all metrics. These stay during the tests.",
            f"The TCP source port of a flow chooses its metric. iperf3 then sends with Linux's CUBIC, {SECONDS} s after {WARM_UP_S} s of warm-up, one path at a time.",
            "",
            f"The network is {slower:g} times slower than the paper's: rates are divided by {slower:g}, delays multiplied. Goodputs here are in the paper's time. CUBIC stays in its",
            f"Reno-friendly region at these losses, so that its window is the same. Two cores do not carry more. A test in which the switches take over {BUSY:.0%} of their processor",
            f"counts as not measured. These are {table.filter(pl.col('busy') > BUSY).height} tests, all of fast paths.",
            "Pairs with one route by all metrics are not measured: their ratio is 1.",
            "",
            "## Verdicts",
            "",
            "| the paper says | it holds if | verdict | live |",
            "|---|---|---|---|",
            *_verdicts(own, valid, chosen),
            "",
            "## Live beside the packet engine",
            "",
            _agreement(own),
            "",
            "## Table 2: routes",
            "",
            "| TCPBP's route is that of | paper | live | by the drawn values |",
            "|---|---|---|---|",
            *_table_2(chosen, seed),
            "",
            "## Table 3: throughput of TCPBP over others, where routes differ",
            "",
            "| flows | over | paper | live | pairs measured, of | packet engine, same pairs |",
            "|---|---|---|---|---|---|",
            *_table_3(own, chosen),
            "",
            "## Table 4: from 1 to 10, ten flows, Mbit/s a flow",
            "",
            "The paths are those that the paper prints, by whatever metric a controller would choose them.",
            "",
            "| | TCPBP | hop-count | delay |",
            "|---|---|---|---|",
            *_table_4(valid),
            "",
            "## Table 5: Jain's index, mean of the pairs measured",
            "",
            "| flows | metric | paper | live | packet engine |",
            "|---|---|---|---|---|",
            *_table_5(own, chosen),
            "",
            f"All {table.height} tests: [{TABLE}]({TABLE}).",
            "",
        ]
    )


def _agreement(own: pl.DataFrame) -> str:
    shares = (own["goodput_bps"] / own["packet_bps"] - 1).abs().sort().to_list()
    if not shares:
        return "No test counts yet."
    return (
        f"There are {own.height} tests over {own['path'].n_unique()} paths. The mean goodput of a flow differs from the packet engine's over the same path by "
        f"{median(shares):.1%} in the median, {shares[round(0.9 * (len(shares) - 1))]:.1%} at the 90th percentile and {shares[-1]:.1%} at most."
    )


def _lookup(rows: pl.DataFrame, column: str) -> Mapping[tuple[str, int], float]:
    return {(path, flows): value for path, flows, value in rows.select("path", "flows", column).rows()}


def _ratios(rows: pl.DataFrame, chosen: Chosen, other: str, flows: int, column: str) -> dict[Pair, float]:
    """TCPBP's goodput over another metric's, for pairs whose two routes differ and were both measured."""
    rates = _lookup(rows, column)
    found = {}
    for pair in _differing(chosen, other):
        keys = [(networks.name(chosen[metric][pair]), flows) for metric in (TCPBP, other)]
        if all(key in rates for key in keys):
            found[pair] = rates[keys[0]] / rates[keys[1]]
    return found


def _differing(chosen: Chosen, other: str) -> list[Pair]:
    pairs = networks.pairs(networks.ten_nodes())
    return [pair for pair in pairs if chosen[TCPBP][pair] != chosen[other][pair]]


def _table_2(chosen: Chosen, seed: int) -> list[str]:
    true = networks.chosen(networks.noisy(networks.ten_nodes(), seed), METRICS)
    count = len(networks.pairs(networks.ten_nodes()))
    return [
        f"| {label} | {PAPER_SAME[label]} of 45 | {count - len(_differing(chosen, metric))} | {count - len(_differing(true, metric))} |"
        for label, metric in OTHERS.items()
    ]


def _table_3(rows: pl.DataFrame, chosen: Chosen) -> list[str]:
    lines = []
    for flows in sorted(set(rows["flows"])):
        for label, metric in OTHERS.items():
            live, packet = (_ratios(rows, chosen, metric, flows, column) for column in ("goodput_bps", "packet_bps"))
            figures = [f"{fmean(ratios.values()):.2f}" if ratios else _NOT_THERE for ratios in (live, packet)]
            lines.append(
                f"| {flows} | {label} | {PAPER_RATIOS[label, flows]:.2f} | {figures[0]} | {len(live)} of {len(_differing(chosen, metric))} | {figures[1]} |"
            )
    return lines


def _shown(rows: pl.DataFrame, fewer: float, column: str) -> list[float | None]:
    """Goodput in Mbit/s of a flow over each of Table 4's paths, as the paper prints them."""
    rates = _lookup(rows.filter(pl.col("fewer_losses") == fewer), column)
    keys = [(networks.name(PRINTED[metric]), 10) for metric in PAPER_RATES]
    return [rates[key] / 1e6 if key in rates else None for key in keys]


def _cells(values: Sequence[float | None]) -> str:
    return " | ".join(_NOT_THERE if value is None else f"{value:.1f}" for value in values)


def _table_4(valid: pl.DataFrame) -> list[str]:
    lines = [
        f"| path | {' | '.join(networks.name(PRINTED[metric]) for metric in PAPER_RATES)} |",
        f"| paper | {_cells(list(PAPER_RATES.values()))} |",
    ]
    for fewer in sorted(set(valid["fewer_losses"])):
        losses = _losses(fewer)
        lines += [
            f"| live, losses {losses} | {_cells(_shown(valid, fewer, 'goodput_bps'))} |",
            f"| packet engine, losses {losses} | {_cells(_shown(valid, fewer, 'packet_bps'))} |",
        ]
    return lines


def _losses(fewer: float) -> str:
    return "as printed" if fewer == 1 else f"divided by {fewer:g}"


def _table_5(rows: pl.DataFrame, chosen: Chosen) -> list[str]:
    lines = []
    for flows in sorted(set(rows["flows"])):
        for place, (label, metric) in enumerate((("TCPBP", TCPBP), ("delay", DELAY), ("hop-count", HOPS))):
            indexes = (_mean_jain(rows, chosen, metric, flows, column) for column in ("jain", "packet_jain"))
            live, packet = (_NOT_THERE if index is None else f"{index:.3f}" for index in indexes)
            lines.append(f"| {flows} | {label} | {PAPER_JAIN[flows][place]:.2f} | {live} | {packet} |")
    return lines


def _mean_jain(rows: pl.DataFrame, chosen: Chosen, metric: str, flows: int, column: str) -> float | None:
    found = _lookup(rows, column)
    keys = {(networks.name(path), flows) for path in chosen[metric].values()}
    indexes = [value for key, value in found.items() if key in keys]
    return fmean(indexes) if indexes else None


def _verdicts(own: pl.DataFrame, valid: pl.DataFrame, chosen: Chosen) -> list[str]:
    lines = [_of_gains(own, chosen, label, least) for label, least in (("hop-count", 1.65), ("delay", 1.40))]
    return [*lines, _of_fairness(own, chosen), _of_rates(valid)]


def _of_gains(own: pl.DataFrame, chosen: Chosen, label: str, least: float) -> str:
    """The row of the verdict on TCPBP's gain over another metric. Pairs without a measurement leave it undecided."""
    pairs = len(_differing(chosen, OTHERS[label]))
    means, said, complete = [], [], True
    for flows in paper.FLOWS:
        ratios = _ratios(own, chosen, OTHERS[label], flows, "goodput_bps")
        complete &= len(ratios) == pairs
        if ratios:
            means.append(fmean(ratios.values()))
            said.append(f"{means[-1]:.2f} with {flows} flows ({len(ratios)} of {pairs} pairs)")
        else:
            said.append(f"not measured with {flows} flows")
    verdict = "undecided" if not complete else _of_means(means, least)
    rule = f"at least {least:g} times with {_listed(paper.FLOWS)} flows, over all pairs; partly: more than once"
    return f"| where routes differ, TCPBP gets more than {100 * (least - 1):.0f} % more than {label} | {rule} | {verdict} | {', '.join(said)} |"


def _of_means(means: Sequence[float], least: float) -> str:
    return "holds" if min(means) >= least else "holds partly" if min(means) > 1 else "does not hold"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _of_fairness(own: pl.DataFrame, chosen: Chosen) -> str:
    apart = []
    for flows in paper.FLOWS:
        by_tcpbp = _mean_jain(own, chosen, TCPBP, flows, "jain")
        others = (_mean_jain(own, chosen, metric, flows, "jain") for metric in (DELAY, HOPS))
        apart += [abs(by_tcpbp - other) for other in others if by_tcpbp is not None and other is not None]
    complete = len(apart) == 2 * len(paper.FLOWS)
    verdict = "undecided" if not complete else "holds" if max(apart) <= EQUAL_JAIN else "does not hold"
    said = f"the mean indexes of Jain are at most {max(apart):.3f} apart" if apart else "not measured"
    return (
        f"| the fairness of flows does not differ between metrics | at most {EQUAL_JAIN:g} apart | {verdict} | {said} |"
    )


def _of_rates(valid: pl.DataFrame) -> str:
    """The row of the verdict on the paper's rates, with losses as printed and with smaller losses."""
    said, verdict = [], "undecided"
    for fewer in sorted(set(valid["fewer_losses"])):
        live = _shown(valid, fewer, "goodput_bps")
        if None in live:
            continue
        ratios = [
            rate / published for rate, published in zip(live, PAPER_RATES.values(), strict=True) if rate is not None
        ]
        if fewer == 1:
            verdict = "holds" if abs(median(ratios) - 1) < NEAR else "does not hold"
        rates = _cells(live).replace(" | ", ", ")
        said.append(
            f"with losses {_losses(fewer)} {rates} Mbit/s, {median(ratios):.2f} times the paper's in the median"
        )
    return (
        "| from 1 to 10 a flow gets 17.1, 13.3 and 16.8 Mbit/s by TCPBP, hop-count and delay | "
        f"within {NEAR:.0%} in the median | {verdict} | {'; '.join(said) or 'not measured'} |"
    )
