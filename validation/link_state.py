"""Measurements of routings on the testbed of TCPBP: are the routes that follow the best ones?"""

from functools import partial
from itertools import pairwise
from math import sqrt
from statistics import fmean

import networkx
import polars as pl

from anabranch.network.topologies import load
from anabranch.results.schema import PATH_SEPARATOR
from anabranch.runs import execute
from anabranch.scenario import Scenario
from validation.section import Section
from validation.work import in_parallel

SECONDS, SAMPLE, WINDOW = 120, 10, 3
RATE, PROBES, PACKET = 1e9, 50e6, 1500 * 8
ESTIMATION_ERROR = 0.1
"""Relative error of a route's cost: two standard deviations, where 90 packets are lost on it, for the cost goes with the root of the loss."""
CELLS = (("tcpbp-exact", 0.0), ("tcpbp-exact", 0.05), ("tcpbp-exact", 0.1), ("tcpbp", 0.0))
SEEDS = range(1, 6)

TESTBED = """
topology.from = "tcpbp10"
run.duration = "{seconds}s"
routing.measured.metric = "{metric}"
routing.measured.paths = {{ shortest = 1 }}
routing.measured.link_state = {{ hysteresis = {hysteresis} }}

[[traffic]]
name = "probes"
from = "all"
to = "all"
pattern = "neighbours"
poisson = "50Mbps"
transport = "udp"

[[traffic]]
name = "pairs"
from = "all"
to = "all"
poisson = "12kbps"
transport = "udp"
"""

Measured = tuple[list[float], list[float], list[float], int]
"""Results of a run: errors of losses in standard deviations, delays above the propagation in s, relative costs of the routes, and changes of
routes. Costs are of the last routes over the best ones. Changes count after the first average was whole."""


def run(quick: bool) -> Section:
    """Probe the testbed for two minutes, with several metrics and thresholds."""
    cells, seeds = (CELLS[:1], SEEDS[:1]) if quick else (CELLS, SEEDS)
    best = _best_costs()
    jobs = [partial(_measure, metric, hysteresis, seed, best) for metric, hysteresis in cells for seed in seeds]
    outcomes = in_parallel("Link state", jobs)
    load_of_link = PROBES / RATE
    wait = load_of_link / (2 * (1 - load_of_link)) * PACKET / RATE
    rows, passed = [], True
    for index, (metric, hysteresis) in enumerate(cells):
        own = outcomes[index * len(seeds) : (index + 1) * len(seeds)]
        errors, delays, costs = ([value for outcome in own for value in outcome[part]] for part in range(3))
        spread = sqrt(fmean(error**2 for error in errors))
        waited = fmean(delays) - PACKET / RATE
        passed = passed and 0.8 < spread < 1.2 and abs(waited / wait - 1) < 0.1
        if metric == "tcpbp-exact":
            passed = passed and max(costs) < 1 / (1 - hysteresis) + ESTIMATION_ERROR
        rows.append(
            [
                metric,
                f"{hysteresis * 100:g} %",
                f"{spread:.2f}",
                f"{waited * 1e6:.3f}",
                f"{100 * sum(cost < 1 + 1e-9 for cost in costs) / len(costs):.1f} %",
                f"{max(costs):.3f}",
                f"{fmean(outcome[3] for outcome in own):.1f}",
            ]
        )
    return Section(
        key="link-state",
        title="Link state on TCPBP's testbed",
        model="the binomial distribution, M/D/1, and the least cost of all paths",
        how=(
            "The ten nodes of TCPBP (section 5.1): 50 Mbit/s of Poisson packets of 1500 bytes over every link of 1 Gbit/s for 120 s, "
            "samples of 10 s, averages of three, routes every 10 s. The error of a loss estimate at the end is in standard "
            "deviations of as many draws; a wait in an M/D/1 queue of that load lasts "
            f"{wait * 1e6:.3f} µs. All 90 routes at the end are compared, by the configured values, with the cheapest of all loopless paths."
        ),
        columns=(
            "metric",
            "hysteresis",
            "rms error of loss, σ",
            "mean wait, µs",
            "on the best path",
            "costliest over best",
            "changes after 30 s",
        ),
        rows=rows,
        passed=passed,
        verdict="losses err as binomial draws do, waits are M/D/1's within 10 %, and no route of the exact metric costs more than its threshold and the estimates' own error (10 %) allow",
        notes=(
            "Routes of the heuristic that are not the best are missed by its search, also with the configured values.",
        ),
    )


def _best_costs() -> dict[tuple[str, str], float]:
    graph = networkx.DiGraph()
    for link in load("tcpbp10").links:
        graph.add_edge(link.source, link.target, delay=link.delay_s, loss=link.loss)
    pairs = [(source, target) for source in graph for target in graph if source != target]
    return {pair: min(_cost(path) for path in networkx.all_simple_paths(graph, *pair)) for pair in pairs}


def _cost(path: list[str]) -> float:
    """D sqrt(P) by the configured values."""
    links = {(link.source, link.target): link for link in load("tcpbp10").links}
    delay, passing = 0.0, 1.0
    for hop in pairwise(path):
        delay += links[hop].delay_s or 0.0
        passing *= 1 - (links[hop].loss or 0.0)
    return delay * sqrt(1 - passing)


def _measure(metric: str, hysteresis: float, seed: int, best: dict[tuple[str, str], float]) -> Measured:
    text = TESTBED.format(metric=metric, hysteresis=hysteresis, seconds=SECONDS)
    result = execute(Scenario.from_toml(text), seeds=[seed], show_progress=False)
    configured = result.manifest["topology"]["links"]
    packets = WINDOW * SAMPLE * PROBES / PACKET
    errors, delays = [], []
    for row in result.link_state.filter(pl.col("time_s") == SECONDS).iter_rows(named=True):
        link = configured[row["link"]]
        errors.append((row["loss"] - link["loss"]) / sqrt(link["loss"] * (1 - link["loss"]) / packets))
        delays.append(row["delay_s"] - link["delay_s"])
    last = result.routes.group_by("src", "dst").last()
    costs = [
        _cost(row["path"].split(PATH_SEPARATOR)) / best[row["src"], row["dst"]] for row in last.iter_rows(named=True)
    ]
    return errors, delays, costs, result.routes.filter(pl.col("time_s") > WINDOW * SAMPLE).height
