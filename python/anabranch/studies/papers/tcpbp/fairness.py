"""Jain's index of shares in windows of several lengths. The paper's .88 to .95 for a minute would fit windows of a second."""

import polars as pl

from anabranch.results.result import Result
from anabranch.results.statistics import jain_index
from anabranch.studies.papers.measures import over_seeds, with_variants
from anabranch.studies.papers.study import Experiment, Lab

WINDOWS_S = (1, 5, 20)


def experiments(lab: Lab) -> list[Experiment]:
    """The experiment: ten flows over the three routes of Table 4, with a sample a second."""
    settings = {"traffic[0].flows": "10", "run.sample": "1s", "run.warm_up": "0s"}
    full = settings | {"run.duration": "60s"}
    quick = settings | {"run.duration": "20s", "run.seeds": "2"}
    return [Experiment("fairness", lab.scenario("route-1-10.toml", full=full, quick=quick))]


def from_the_start(result: Result) -> dict[str, tuple[float, float | None]]:
    """Goodput of a flow over the whole run with its start, Mbit/s, by routing."""
    means = result.flows.group_by("routing", "seed").agg(mbps=pl.col("goodput_bps").mean() / 1e6).sort("seed")
    return {
        way: over_seeds(means.filter(pl.col("routing") == way)["mbps"].to_list())
        for way in ("tcpbp", "hop-count", "delay")
    }


def by_window(result: Result) -> dict[int, tuple[float, float | None]]:
    """Mean index over all windows and all routes with half of the interval over seeds, by length of the windows in seconds."""
    seeds = pl.DataFrame(
        [{"run": run["run"], "seed": run["seed"]} for run in result.manifest["runs"]],
        schema_overrides={"run": pl.UInt32},
    )
    table = with_variants(result, result.series_flows, {"routing": "way"}).join(seeds, on="run")
    found = {}
    for length in WINDOWS_S:
        window = ((pl.col("time_s") - 0.5) // length).alias("window")
        shares = table.group_by("seed", "way", window, "flow").agg(pl.col("goodput_bps").mean())
        indexes = shares.group_by("seed", "way", "window").agg(jain=jain_index(pl.col("goodput_bps")))
        means = indexes.group_by("seed").agg(pl.col("jain").mean()).sort("seed")
        found[length] = over_seeds(means["jain"].to_list())
    return found
