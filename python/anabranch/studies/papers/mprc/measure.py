"""Throughput as the thesis plots it: Mbit/s over time; goodput, or all bytes that arrive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import measures
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.verdicts import Truth, above, difference

if TYPE_CHECKING:
    from anabranch.results.result import Result

LINK_MBPS = 10.0
PAYLOAD = 1460 / 1500
"""Payload as a share of a full packet's bytes. A link of 10 Mbit/s carries 9.73 Mbit/s of payload."""
WARM_UP_S = 5.0
FULL, STEADY = 0.95, 0.90
"""Shares of a bound. A mean reaches the bound from ``FULL`` on; a second falls short of it below ``STEADY``."""

STACKS = {"newreno": "NewReno", "cubic": "Cubic", "bbr-dup-ack": "BBR", "mprc": "MPRC"}
OTHERS = tuple(STACKS)[:3]


def short(stack: str) -> str:
    """The name of a stack in the id of a number: the thesis has one BBR."""
    return stack.removesuffix("-dup-ack")


def payload(links: float) -> float:
    """Mbit/s of payload that this number of full links carries."""
    return links * LINK_MBPS * PAYLOAD


def percent(share: float, decimals: int = 0) -> str:
    """A share as text."""
    return f"{share * 100:.{decimals}f} %"


def per_flow(result: Result) -> pl.DataFrame:
    """The flows with their goodput in ``mbps`` and the keys of the matrix as columns."""
    table = result.flows.drop([key for key in result.keys if key in result.flows.columns])
    return measures.with_variants(result, table).with_columns(mbps=pl.col("goodput_bps") / 1e6)


def goodput(result: Result, by: Sequence[str]) -> dict[Any, Mean]:
    """Mean goodput in Mbit/s of each group of flows."""
    return measures.means(per_flow(result), by, "mbps")


def over_time(result: Result, seconds: float) -> pl.DataFrame:
    """Goodput in Mbit/s (``mbps``) of each flow of each run (``traffic``), in bins that end at ``time_s``."""
    names = result.flows.select("run", "flow", "traffic")
    table = result.series_flows.join(names, on=["run", "flow"], maintain_order="left")
    return _binned(result, table.with_columns(mbps=pl.col("goodput_bps") / 1e6), ["traffic"], seconds)


def arriving(result: Result, node: str, seconds: float) -> pl.DataFrame:
    """Mbit/s (``mbps``) on the links into a node, in bins that end at ``time_s``. Headers and retransmissions count."""
    last = result.links.filter(pl.col("dst") == node).select("run", "link", "capacity_bps")
    table = result.series_links.join(last, on=["run", "link"])
    rates = table.with_columns(mbps=pl.col("utilisation") * pl.col("capacity_bps") / 1e6)
    return _binned(result, rates.group_by("run", "time_s").agg(pl.col("mbps").sum()), [], seconds)


def _binned(result: Result, table: pl.DataFrame, by: list[str], seconds: float) -> pl.DataFrame:
    end = (((pl.col("time_s") - 1e-6) / seconds).floor() + 1) * seconds
    bins = table.group_by("run", *by, end.alias("time_s")).agg(pl.col("mbps").mean())
    return measures.with_variants(result, bins.sort("run", *by, "time_s"))


def settled(table: pl.DataFrame, start_s: float = WARM_UP_S, end_s: float = float("inf")) -> pl.DataFrame:
    """The bins that lie between two times."""
    return table.filter((pl.col("time_s") > start_s + 1e-6) & (pl.col("time_s") < end_s + 1e-6))


def fluctuation(table: pl.DataFrame, by: Sequence[str]) -> dict[Any, Mean]:
    """Standard deviation over mean of the seconds of each run, in percent."""
    runs = table.group_by("run", *by, maintain_order=True).agg(
        percent=pl.col("mbps").std() / pl.col("mbps").mean() * 100
    )
    return measures.means(runs, by, "percent")


def differs(table: pl.DataFrame, by: str, one: str, other: str) -> Mean:
    """Mean over seeds of one's :func:`fluctuation` less the other's, in percentage points."""
    runs = table.group_by("run", by, maintain_order=True).agg(
        percent=pl.col("mbps").std() / pl.col("mbps").mean() * 100
    )
    values = {name: runs.filter(pl.col(by) == name)["percent"].to_list() for name in (one, other)}
    return difference(values[one], values[other])


def more(one: Mean, other: Mean, ratio: float = 1.0) -> Truth:
    """Whether one mean is more than ``ratio`` times the other: seed by seed."""
    return above(difference(one.values, [ratio * value for value in other.values]), 0.0)


def least_second(table: pl.DataFrame, by: Sequence[str], start_s: float) -> dict[Any, Mean]:
    """The least second of each run from a time on, as a mean over seeds, in Mbit/s."""
    runs = settled(table, start_s).group_by("run", *by, maintain_order=True).agg(pl.col("mbps").min())
    return measures.means(runs, by, "mbps")


def reached(table: pl.DataFrame, by: Sequence[str], mbps: float) -> dict[Any, Mean]:
    """The end of the first bin with at least ``mbps``, in seconds, as a mean over seeds; infinite if a run has no such bin."""
    first = pl.col("time_s").filter(pl.col("mbps") >= mbps).min().fill_null(math.inf)
    runs = table.group_by("run", *by, maintain_order=True).agg(first)
    groups = runs.group_by(by, maintain_order=True)
    times = {group[0] if len(by) == 1 else group: rows["time_s"].to_list() for group, rows in groups}
    return {
        group: Mean.of(values) if all(map(math.isfinite, values)) else Mean(math.inf, None)
        for group, values in times.items()
    }
