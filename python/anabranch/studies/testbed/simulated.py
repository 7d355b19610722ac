"""The packet engine over the paths of the tests: the same network, flows, warm-up and time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anabranch.results.statistics import half_width, jain_index
from anabranch.runs import RunPlan, execute_all
from anabranch.scenario import Scenario
from anabranch.studies.testbed.network import LiveNetwork
from anabranch.studies.testbed.tests import parted

STACK = {"preset": "linux-cubic", "mss": "1448 bytes", "header": "52 bytes"}
"""Linux's CUBIC with timestamps."""
JITTER = 0.01
"""Delays and starts vary by this share from seed to seed, as no two live tests are alike."""
SEEDS = 5

CASE = ("source", "target", "path", "back", "flows")
"""Columns of the tests that tell one case from another."""


class Simulated(NamedTuple):
    """The mean goodput of a flow, half of its interval over seeds, bit/s, and Jain's index."""

    goodput_bps: float
    half_bps: float | None
    jain: float


def simulated(network: LiveNetwork, cases: pl.DataFrame, directory: Path) -> Mapping[tuple[Any, ...], Simulated]:
    """The answers for each row of tests, by its :data:`CASE`; the directory has a run directory for each."""
    rows = cases.rows(named=True)
    plans = [
        RunPlan(_scenario(network, row), directory / str(number), jitter=JITTER) for number, row in enumerate(rows, 1)
    ]
    found = {}
    for row, result in zip(rows, execute_all(plans), strict=True):
        means = result.flows.group_by("run").agg(pl.col("goodput_bps").mean(), jain=jain_index(pl.col("goodput_bps")))
        rates = means["goodput_bps"].to_list()
        if rates:
            jain = sum(means["jain"].to_list()) / len(rates)
            found[tuple(row[name] for name in CASE)] = Simulated(sum(rates) / len(rates), half_width(rates), jain)
    return found


def _scenario(network: LiveNetwork, case: Mapping[str, Any]) -> Scenario:
    ends = {"from": case["source"], "to": case["target"]}
    paths = [list(parted(case[way])) for way in ("path", "back")]
    return network.scenario(
        title=f"{case['source']} to {case['target']} over {case['path']}",
        stacks={"linux": STACK},
        routing={"tested": {"paths": paths}},
        traffic=[ends | {"flows": case["flows"], "bulk": True, "stack": "linux", "routing": "tested"}],
        run={
            "duration": f"{case['seconds'] + case['warm_up_s']}s",
            "warm_up": f"{case['warm_up_s']}s",
            "seeds": SEEDS,
        },
    )
