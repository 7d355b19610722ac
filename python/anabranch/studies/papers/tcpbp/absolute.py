"""Table 4's 17.1, 13.3 and 16.8 Mbit/s are four times the goodput of one flow on these paths: settings that would give them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from anabranch.network.topologies import Link
from anabranch.results.result import Result
from anabranch.studies.papers.measures import flows, over_seeds
from anabranch.studies.papers.study import Experiment, Lab
from anabranch.studies.papers.tcpbp import copies, networks

ROUTES = ("1-3-4-10", "1-5-10", "1-5-4-10")
MSS = 1460
SEGMENTS = (1, 2, 4)
"""Number of segments that NetEm loses as one, if the network card splits them. Then Linux sends at least two of them as one packet.

A packet of two segments is modelled as one segment of twice the size, as if the window also grew by whole packets. This is an upper bound.
"""
BOTH, ONE_WAY, FEWER = "delay both ways", "delay one way", "losses divided by 8"
NETWORKS = (BOTH, ONE_WAY, FEWER)
_FEWER = 8
"""Divisor of the losses that would give Table 4's rates."""
_ALIKE = 6
"""Number of copies of each path; every flow is alone on its copy."""
_NO_DELAY_S = 1e-9


def settings() -> list[tuple[str, int]]:
    """The settings: directions with delay, and number of segments that are lost as one; and an eighth of the losses."""
    return [*((network, segments) for network in (BOTH, ONE_WAY) for segments in SEGMENTS), (FEWER, 1)]


def title(setting: tuple[str, int]) -> str:
    """The setting as text."""
    network, segments = setting
    return f"{network}, {segments} segment{'s' if segments > 1 else ''} lost as one"


def experiments(lab: Lab) -> list[Experiment]:
    """The experiment: one flow on each route, in all settings."""
    topology = networks.ten_nodes("0.0040")
    found = []
    for network in NETWORKS:
        for route in ROUTES:
            copy = copies.copy_of("", topology, tuple(route.split("-")))
            if network == ONE_WAY:
                copy = replace(copy, back=tuple(link._replace(delay_s=_NO_DELAY_S) for link in copy.back))
            elif network == FEWER:
                copy = replace(copy, there=_with_fewer_losses(copy.there), back=_with_fewer_losses(copy.back))
            found += [replace(copy, name=f"{network}:{route}:{one}") for one in range(_ALIKE)]
    scenario = copies.scenario(
        lab,
        "absolute.toml",
        "What would give the rates of Table 4",
        found,
        flows=(1,),
        duration_s=20 if lab.quick else 70,
        warm_up_s=5 if lab.quick else 10,
        seeds=2 if lab.quick else 5,
        mss=[segments * MSS for segments in SEGMENTS],
    )
    return [Experiment("absolute", scenario)]


def _with_fewer_losses(links: Sequence[Link]) -> tuple[Link, ...]:
    return tuple(link._replace(loss=(link.loss or 0.0) / _FEWER) for link in links)


def rates(result: Result) -> Mapping[tuple[tuple[str, int], str], tuple[float, float | None]]:
    """Goodput of a flow in Mbit/s with half of the interval over seeds, by setting and route."""
    parts = pl.col("src").str.split("/").list.first().str.split(":")
    table = flows(result).with_columns(delay=parts.list.get(0), route=parts.list.get(1))
    means = table.group_by("delay", "route", "mss", "seed").agg(mbps=pl.col("goodput_bps").mean() / 1e6).sort("seed")
    found = {}
    for delay, segments in settings():
        for route in ROUTES:
            own = means.filter(
                (pl.col("delay") == delay) & (pl.col("route") == route) & (pl.col("mss") == f"{segments * MSS} bytes")
            )
            found[(delay, segments), route] = over_seeds(own["mbps"].to_list())
    return found
