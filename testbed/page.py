"""The page: Tables 2 to 5 of the paper, of the live testbed, and of the packet engine over the same paths."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from statistics import fmean, median

import polars as pl

from anabranch import version
from anabranch.foundation.output_files import write_text
from anabranch.runs import execute
from anabranch.scenario import Scenario
from anabranch.studies.papers.tcpbp import copies, networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, TCPBP, Chosen, Pair
from testbed.measuring import BUSY, SECONDS, SHOWN, WARM_UP_S, Log
from testbed.plan import CAPACITY_BPS, METRICS, PROBE_BPS, PROBED_S, Plan

FILE, TABLE, ROUTES = "testbed.md", "testbed.csv", "testbed-routes.json"
SEEDS = 3
"""Number of seeds in the packet engine."""
OTHERS = {"hop-count": HOPS, "delay": DELAY}
PAPER_RATIOS = {("hop-count", 10): 1.8222, ("hop-count", 25): 1.8362, ("hop-count", 50): 1.650} | {
    ("delay", 10): 1.5523, ("delay", 25): 1.5321, ("delay", 50): 1.412,
}  # fmt: skip
PAPER_SAME = {"hop-count": 26, "delay": 39}
PAPER_RATES = {"tcpbp": 17.1, "hop-count": 13.3, "delay": 16.8}
PAPER_JAIN = {10: (0.88, 0.91, 0.90), 25: (0.89, 0.93, 0.92), 50: (0.95, 0.94, 0.94)}
"""Jain's indexes of TCPBP, delay and hop-count, by number of flows."""
FLOWS = (10, 25, 50)
"""The paper's numbers of flows."""
_NOT_THERE = "–"


def write(out: File, seed: int, slower: float) -> None:
    """Write the page beside the tables."""
    table = Log(out / TABLE).table
    routes = json.loads((out / ROUTES).read_text(encoding="utf-8"))["routes"]
    chosen: Chosen = {
        metric: {(source, target): tuple(path) for source, target, path in found} for metric, found in routes.items()
    }
    parts = []
    for (fewer,), rows in table.group_by("fewer_losses", maintain_order=True):
        parts.append(_with_packet_engine(rows, Plan.drawn(seed, slower, float(str(fewer)))))
    both = pl.concat(parts)
    write_text(out / FILE, _page(both, chosen, seed, slower))


def _with_packet_engine(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """The table with the packet engine's goodput and index over the same paths of the same network."""
    paths = sorted(set(rows["path"]))
    own = [copies.copy_of(path, plan.topology, tuple(path.split("-"))) for path in paths]
    flows = sorted(set(rows["flows"]))
    text = copies.text("The paths of the live testbed", own, flows, f"{CAPACITY_BPS / plan.slower:.0f}bps", (1460,))
    text += f'[run]\nduration = "{SECONDS + WARM_UP_S}s"\nwarm_up = "{WARM_UP_S}s"\nseeds = {SEEDS}\n'
    measured = copies.measured(execute(Scenario.from_toml(text)))
    means = measured.group_by("copy", "flows").agg(
        packet_bps=pl.col("bps").mean() * plan.slower, packet_jain=pl.col("jain").mean()
    )
    return rows.join(means, left_on=["path", "flows"], right_on=["copy", "flows"], how="left")


def _page(table: pl.DataFrame, chosen: Chosen, seed: int, slower: float) -> str:
    valid = table.filter(pl.col("busy") <= BUSY, ~pl.col("changed"))
    own = valid.filter(pl.col("fewer_losses") == 1)
    deviations = (own["goodput_bps"] / own["packet_bps"] - 1).abs()
    return "\n".join(
        [
            "# TCPBP's testbed, live",
            "",
            f"*Written by `make testbed`, Anabranch {version()}: {table.height} tests, seed {seed}. The study of the paper in the packet engine is [there](README.md).*",
            "",
            "The testbed has ten switches of Open vSwitch in user space with a Linux host at each. 21 cables have the delays and losses of Figures 3 and 4, drawn within 5 %. An",
            f"OpenFlow controller uses os-ken. For {PROBED_S:.0f} s random packets go between neighbours ({PROBE_BPS / 1e6:g} Mbit/s; the paper has 50). Every 10 s the controller samples the",
            "loss of every cable by the counters at its ends, and its delay by its own frames. It takes the mean of three samples, and installs the routes of all metrics.",
            f"The TCP source port of a flow chooses its metric. iperf3 then sends with Linux's CUBIC, {SECONDS} s after {WARM_UP_S} s of warm-up, one path at a time.",
            "",
            f"The network is {slower:g} times slower than the paper's: rates are divided by {slower:g}, delays multiplied. Goodputs here are in the paper's time. CUBIC stays in its",
            f"Reno-friendly region at these losses, so that its window is the same. Two cores do not carry more. A test in which the switches take over {BUSY:.0%} of their processor",
            f"counts as not measured. These are {table.filter(pl.col('busy') > BUSY).height} tests, all of fast paths, and {table.filter('changed').height} more in which the controller changed the route.",
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
            f"There are {own.height} tests over {own['path'].n_unique()} paths. The mean goodput of a flow differs from the packet engine's over the same path by "
            f"{100 * float(deviations.median() or 0):.1f} % in the median, {100 * float(deviations.quantile(0.9) or 0):.1f} % at the 90th percentile and "  # type: ignore[arg-type]
            f"{100 * float(deviations.max() or 0):.1f} % at most.",  # type: ignore[arg-type]
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
            "| | TCPBP | hop-count | delay |",
            "|---|---|---|---|",
            *_table_4(valid, chosen),
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


def _shown(rows: pl.DataFrame, chosen: Chosen, fewer: float, column: str) -> list[float | None]:
    """Goodput in Mbit/s of a flow over each metric's path of Table 4's pair."""
    own = rows.filter(
        (pl.col("fewer_losses") == fewer) & (pl.col("source") == SHOWN[0]) & (pl.col("target") == SHOWN[1])
    )
    rates = _lookup(own, column)
    keys = [(networks.name(chosen[metric][SHOWN]), 10) for metric in (TCPBP, HOPS, DELAY)]
    return [rates[key] / 1e6 if key in rates else None for key in keys]


def _cells(values: Sequence[float | None]) -> str:
    return " | ".join(_NOT_THERE if value is None else f"{value:.1f}" for value in values)


def _table_4(valid: pl.DataFrame, chosen: Chosen) -> list[str]:
    lines = [
        f"| route | {' | '.join(networks.name(chosen[metric][SHOWN]) for metric in (TCPBP, HOPS, DELAY))} |",
        f"| paper | {_cells([PAPER_RATES['tcpbp'], PAPER_RATES['hop-count'], PAPER_RATES['delay']])} |",
    ]
    for fewer in sorted(set(valid["fewer_losses"])):
        losses = "losses as printed" if fewer == 1 else f"losses divided by {fewer:g}"
        lines += [
            f"| live, {losses} | {_cells(_shown(valid, chosen, fewer, 'goodput_bps'))} |",
            f"| packet engine, {losses} | {_cells(_shown(valid, chosen, fewer, 'packet_bps'))} |",
        ]
    return lines


def _table_5(rows: pl.DataFrame, chosen: Chosen) -> list[str]:
    lines = []
    for flows in sorted(set(rows["flows"])):
        for place, (label, metric) in enumerate((("TCPBP", TCPBP), ("delay", DELAY), ("hop-count", HOPS))):
            live, packet = (_mean_jain(rows, chosen, metric, flows, column) for column in ("jain", "packet_jain"))
            cells = [_NOT_THERE if index is None else f"{index:.3f}" for index in (live, packet)]
            lines.append(f"| {flows} | {label} | {PAPER_JAIN[flows][place]:.2f} | {cells[0]} | {cells[1]} |")
    return lines


def _mean_jain(rows: pl.DataFrame, chosen: Chosen, metric: str, flows: int, column: str) -> float | None:
    """The mean of a metric's paths, ``None`` if none was measured."""
    found = _lookup(rows, column)
    keys = {(networks.name(path), flows) for path in chosen[metric].values()}
    values = [value for key, value in found.items() if key in keys]
    return fmean(values) if values else None


def _verdicts(own: pl.DataFrame, valid: pl.DataFrame, chosen: Chosen) -> list[str]:
    lines = []
    for label, least in (("hop-count", 1.65), ("delay", 1.40)):
        means = {
            flows: fmean(ratios.values())
            for flows in sorted(set(own["flows"]))
            if (ratios := _ratios(own, chosen, OTHERS[label], flows, "goodput_bps"))
        }
        verdict = _of_gains(list(means.values()), least, measured=len(means) == len(FLOWS))
        said = ", ".join(
            f"{means[flows]:.2f} with {flows} flows" if flows in means else f"not measured with {flows} flows"
            for flows in FLOWS
        )
        lines.append(
            f"| where routes differ, TCPBP gets more than {100 * (least - 1):.0f} % more than {label} | at least {least:g} times with {_listed(FLOWS)} flows; partly: more than once | {verdict} | {said} |"
        )
    indexes = {
        (metric, flows): _mean_jain(own, chosen, metric, flows, "jain")
        for metric in (TCPBP, DELAY, HOPS)
        for flows in FLOWS
    }
    known = [index for index in indexes.values() if index is not None]
    apart = [
        abs(ours - theirs)
        for flows in FLOWS
        for metric in (DELAY, HOPS)
        if (ours := indexes[TCPBP, flows]) is not None and (theirs := indexes[metric, flows]) is not None
    ]
    measured = len(known) == len(indexes)
    verdict = "undecided" if not measured else "holds" if max(apart) < 0.01 else "does not hold"
    said = f"the mean indexes of Jain are at most {max(apart):.3f} apart" if apart else "not measured"
    lines.append(f"| the fairness of flows does not differ between metrics | at most 0.01 apart | {verdict} | {said} |")
    lines.append(_of_rates(valid, chosen))
    return lines


def _of_gains(means: Sequence[float], least: float, *, measured: bool) -> str:
    """The verdict on gains of at least this much; one number of flows without a measurement leaves it undecided, unless another denies it."""
    if not measured:
        return "does not hold" if any(mean <= 1 for mean in means) else "undecided"
    return "holds" if min(means) >= least else "holds partly" if min(means) > 1 else "does not hold"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _of_rates(valid: pl.DataFrame, chosen: Chosen) -> str:
    """The row of the verdict on the paper's rates, with losses as printed and with smaller losses."""
    paper = [PAPER_RATES["tcpbp"], PAPER_RATES["hop-count"], PAPER_RATES["delay"]]
    said = []
    near = {}
    for fewer in sorted(set(valid["fewer_losses"])):
        live = _shown(valid, chosen, fewer, "goodput_bps")
        if None in live:
            continue
        ratios = [rate / published for rate, published in zip(live, paper, strict=True) if rate is not None]
        near[fewer] = median(ratios)
        losses = "as printed" if fewer == 1 else f"divided by {fewer:g}"
        said.append(
            f"with losses {losses} {_cells(live).replace(' | ', ', ')} Mbit/s, {near[fewer]:.2f} times the paper's in the median"
        )
    verdict = "undecided" if 1.0 not in near else "holds" if abs(near[1.0] - 1) < 0.1 else "does not hold"
    return f"| from 1 to 10 a flow gets 17.1, 13.3 and 16.8 Mbit/s by TCPBP, hop-count and delay | within 10 % in the median | {verdict} | {'; '.join(said) or 'not measured'} |"
