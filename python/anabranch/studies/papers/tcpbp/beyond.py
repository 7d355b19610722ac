"""What the paper leaves open on its own network: the number of flows up to which a route is better, short flows, and losses beyond 5 %."""

from collections.abc import Mapping

import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers.measures import Mean, flows, means
from anabranch.studies.papers.study import Experiment, Lab, Table
from anabranch.studies.papers.tcpbp import law
from anabranch.studies.papers.verdicts import quotient

COUNTS = (50, 100, 150, 200, 250)
SIZES = ("10 kB", "100 kB", "1 MB", "10 MB")
LOSSES = (0.05, 0.1, 0.2)
_ROUTES = ("tcpbp", "hop-count", "delay")
_PAYLOAD_BPS = 1e9 * 1460 / 1500
_SHORT = {"run.seeds": "2"}


def experiments(lab: Lab) -> list[Experiment]:
    """Many flows from 1 to 10, short ones, and one flow over a link that loses more."""
    many = {
        "traffic[0].flows": str(list(COUNTS)),
        "traffic[0].routing": '["tcpbp", "hop-count"]',
        "run.duration": "15s",
        "run.warm_up": "5s",
        "run.seeds": "3",
    }
    short = {
        "traffic": '[{ from = "1", to = "10", stack = "linux", routing = ["tcpbp", "hop-count", "delay"], size = ['
        + ", ".join(f'"{size}"' for size in SIZES)
        + "] }]",
        "run.duration": "60s",
        "run.seeds": "30",
    }
    lossy = {law.LOSS_KEY: str(list(LOSSES)), "run.duration": "60s", "run.warm_up": "10s"}
    return [
        Experiment(
            "many-flows", lab.scenario("route-1-10.toml", full=many, quick=many | _SHORT | {"run.duration": "8s"})
        ),
        Experiment("short-flows", lab.scenario("route-1-10.toml", full=short, quick=short | {"run.seeds": "5"})),
        Experiment("lossy", lab.scenario("law.toml", full=lossy, quick=lossy | _SHORT | {"run.duration": "20s"})),
    ]


def tables(results: Mapping[str, Result]) -> list[Table]:
    """A table of each."""
    return [_many(results["many-flows"]), _short(results["short-flows"]), _lossy(results["lossy"])]


def _many(result: Result) -> Table:
    table = flows(result, {"flows": "count", "routing": "way"}).with_columns(mbps=pl.col("goodput_bps") / 1e6)
    by_seed = table.group_by("count", "way", "seed", maintain_order=True).agg(pl.col("mbps").mean()).sort("seed")
    found = means(by_seed, ["count", "way"], "mbps")
    least = found[COUNTS[0], "hop-count"].value * 1e6
    rows = [
        [
            str(count),
            str(found[count, "tcpbp"]),
            str(found[count, "hop-count"]),
            str(quotient(found[count, "tcpbp"].values, found[count, "hop-count"].values)),
        ]
        for count in COUNTS
    ]
    return Table(
        "many-flows",
        "Section 4, condition (iii): up to how many flows",
        "From 1 to 10, Mbit/s of a flow. The paper's condition is that the best path's bandwidth over the number of flows exceeds what a flow has on the "
        f"other path: here up to {_PAYLOAD_BPS / least:.0f} flows. The gain is nearly gone from there on.",
        ["flows", "TCPBP's route", "hop-count's", "ratio"],
        rows,
    )


def _short(result: Result) -> Table:
    table = flows(result, {"routing": "way"})
    rows = []
    for size, own in table.group_by("size", maintain_order=True):
        times = {str(way): some["fct_s"].drop_nulls() for (way,), some in own.group_by("way", maintain_order=True)}
        cells = [f"{Mean.of((times[way] * 1e3).to_list())}" for way in _ROUTES]
        rows.append([str(size[0]), *cells])
    return Table(
        "short-flows",
        "Short flows, which the paper does not have",
        "Milliseconds until a single transfer from 1 to 10 is acknowledged, over the three routes of Table 4. The law is about long flows: short ones take "
        "round trips and retransmission timers.",
        ["size", *_ROUTES],
        rows,
    )


def _lossy(result: Result) -> Table:
    table = law.sweep(result).filter(pl.col("stack") == law.CUBIC)
    rows = [
        [
            row["delay"],
            f"{row['loss']:g}",
            str(Mean(row["mean"], row["half_width"])),
            f"{row['mathis']:.2f}",
            f"{row['padhye']:.2f}",
        ]
        for row in table.to_dicts()
    ]
    return Table(
        "lossy",
        "Section 3, losses of 5 % and more",
        "One CUBIC flow, Mbit/s, beside the law of the square root and Padhye's formula, which has timeouts. From 5 % on the law promises too much, at short round "
        "trips several times.",
        ["one-way delay", "loss", "measured", "Mathis", "Padhye"],
        rows,
    )
