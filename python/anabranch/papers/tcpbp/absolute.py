"""Table 4's 17.1, 13.3 and 16.8 Mbit/s: four times what these paths can give one flow. What would give it?"""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from anabranch.papers.measures import over_seeds
from anabranch.papers.study import Experiment, Lab
from anabranch.papers.tcpbp import copies, networks
from anabranch.results import Result

ROUTES = ("1-3-4-10", "1-5-10", "1-5-4-10")
AS_READ, ONE_WAY = "as read", "delay one way"
BURSTS = (2, 4)
_ALIKE = 6
"""Copies of each, as every flow is alone."""
_NO_DELAY_S = 1e-9


def settings() -> dict[str, tuple[bool, float]]:
    """By name: whether the way back has delay, and how many packets are lost in a row."""
    found = {AS_READ: (True, 1.0), ONE_WAY: (False, 1.0)}
    found |= {f"{burst} lost in a row": (True, float(burst)) for burst in BURSTS}
    found |= {f"{ONE_WAY}, {burst} lost in a row": (False, float(burst)) for burst in BURSTS}
    return found


def experiments(lab: Lab) -> list[Experiment]:
    """One flow on each route, in all settings."""
    topology = networks.testbed()
    found = []
    for place, (way_back, burst) in enumerate(settings().values()):
        for route in ROUTES:
            copy = copies.copy_of("", topology, tuple(route.split("-")))
            back = copy.back if way_back else tuple(replace(link, delay_s=_NO_DELAY_S) for link in copy.back)
            found += [replace(copy, name=f"{place}:{route}:{one}", back=back, burst=burst) for one in range(_ALIKE)]
    scenario = copies.scenario(
        lab,
        "absolute.toml",
        "What would give the rates of Table 4",
        found,
        flows=(1,),
        duration_s=20 if lab.quick else 70,
        warm_up_s=5 if lab.quick else 10,
        seeds=2 if lab.quick else 5,
    )
    return [Experiment("absolute", scenario)]


def rates(result: Result) -> Mapping[tuple[str, str], tuple[float, float | None]]:
    """By setting and route: Mbit/s of a flow, with half of the interval over seeds."""
    table = copies.measured(result).with_columns(parts=pl.col("copy").str.split(":"))
    table = table.with_columns(place=pl.col("parts").list.get(0).cast(pl.Int64), route=pl.col("parts").list.get(1))
    found = {}
    for place, setting in enumerate(settings()):
        for route in ROUTES:
            own = table.filter((pl.col("place") == place) & (pl.col("route") == route))
            means = own.group_by("seed", maintain_order=True).agg(pl.col("bps").mean())
            found[setting, route] = over_seeds([value / 1e6 for value in means["bps"]])
    return found
