"""The cells of the comparison: a sender's results under one condition, as means over the seeds."""

from pathlib import Path

import polars as pl

from anabranch.results.statistics import half_width

PLAN = Path(__file__).resolve().parents[2] / "sweeps" / "detectors.toml"
SIZES = {"10 kB": 10_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
"""The transfers. The plan's greatest size is that of the long flow, which does not finish."""
CONDITION = ("paths", "delays", "loss_percent", "select")
KEYS = (*CONDITION, "stack")
GOODPUT = "goodput_percent"
"""Of a long flow: payload delivered, as a share of what all paths carry."""
TIMES = {name: f"fct_{name.replace(' ', '')}_ms" for name in SIZES}
"""Mean completion time of each size."""
COSTS = ("spurious_percent", "reassembly_kB", "stall_ms")
"""Of a long flow: segments that the receiver had already, of all sent; the most that it held beyond a hole; the longest stall."""
MEASURES = (GOODPUT, *TIMES.values(), *COSTS)
REFERENCE = "mprc"
_PATH_PAYLOAD_BPS = 10e6 * 1460 / 1500
_DIGITS = 4


def of_flows(flows: pl.DataFrame) -> pl.DataFrame:
    """A row for each condition and stack of the flows of a sweep: of each measure the mean over the seeds and half of its 95 % interval.

    The columns of :func:`apart` have half of the interval of the mean difference to :data:`REFERENCE`, seed by seed: runs of one seed share
    their random numbers.

    ``unfinished`` counts the transfers that had not finished when their run ended. The completion time of such a size is null: the mean of the
    others would be too short. So is a measure of which the sweep has no flows.

    Raises:
        ValueError: a transfer was still going on when the next one started.
    """
    late = flows.filter((pl.col("stagger") > 0) & (pl.col("fct_s") > pl.col("stagger")))
    if not late.is_empty():
        raise ValueError(
            f"{late.height} transfers were not over when the next one started; raise stagger in {PLAN.name}"
        )
    keyed = flows.with_columns(
        delays=pl.when(pl.col("difference") > 0).then(pl.lit("unequal")).otherwise(pl.lit("equal")),
        loss_percent=(pl.col("loss") * 100).round(6),
        select=pl.col("variant_routing"),
        stack=pl.col("variant_stack"),
    )
    long = ~pl.col("size_bytes").is_in(list(SIZES.values()))
    sent = pl.col("segments_sent").filter(long).sum()
    per_seed = keyed.group_by(*KEYS, "seed", maintain_order=True).agg(
        (pl.col("goodput_bps").filter(long).mean() * 100 / (pl.col("paths").first() * _PATH_PAYLOAD_BPS)).alias(
            GOODPUT
        ),
        *(_completion(size).alias(TIMES[name]) for name, size in SIZES.items()),
        pl.when(sent > 0).then(pl.col("spurious_retransmits").filter(long).sum() * 100 / sent).alias(COSTS[0]),
        (pl.col("reassembly_peak_bytes").filter(long).max() / 1e3).alias(COSTS[1]),
        (pl.col("longest_stall_s").filter(long).max() * 1e3).alias(COSTS[2]),
        unfinished=(~long & pl.col("fct_s").is_null()).sum(),
    )
    seeds = per_seed.group_by(KEYS, maintain_order=True).agg(*MEASURES, pl.col("unfinished").sum())
    known = {name: pl.when(~pl.col(name).list.contains(None, nulls_equal=True)) for name in MEASURES}
    uncertain = (GOODPUT, *TIMES.values())
    reference = seeds.filter(stack=REFERENCE).select(
        *CONDITION, *(pl.col(name).alias(apart(name)) for name in uncertain)
    )
    beside = seeds.join(reference, on=CONDITION, how="left", maintain_order="left")
    intervals = {half(name): known[name].then(_half_width(pl.col(name))) for name in uncertain}
    differences = {apart(name): known[name].then(_half_width(pl.col(name) - pl.col(apart(name)))) for name in uncertain}
    means = beside.with_columns(**intervals, **differences).with_columns(
        **{name: known[name].then(pl.col(name).list.mean()) for name in MEASURES}
    )
    return means.with_columns(pl.selectors.float().round_sig_figs(_DIGITS))


def _completion(size: int) -> pl.Expr:
    times = pl.col("fct_s").filter(pl.col("size_bytes") == size)
    return pl.when((times.len() > 0) & times.is_not_null().all()).then(times.mean() * 1e3)


def _half_width(values: pl.Expr) -> pl.Expr:
    return values.map_elements(lambda seeds: half_width(seeds.drop_nulls().to_list()), return_dtype=pl.Float64)


def half(measure: str) -> str:
    """The column with half the interval of a measure."""
    return f"{measure}_95"


def apart(measure: str) -> str:
    """The column with half the interval of a measure's mean difference to :data:`REFERENCE`."""
    return f"{half(measure)}_beside_{REFERENCE}"
