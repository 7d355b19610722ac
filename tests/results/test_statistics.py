"""Statistics of results against worked numbers and printed tables."""

import math
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.pages.report import evaluation
from anabranch.results import run_directory, statistics
from anabranch.scenario import Scenario
from tests.report_fixture import replace_table, write_run_directory
from tests.scenarios import LINE


# Two-sided 95 %: the printed table of any textbook (e.g. NIST/SEMATECH e-Handbook, 1.3.6.7.2).
@pytest.mark.parametrize(
    ("degrees", "t"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (9, 2.262),
        (10, 2.228),
        (30, 2.042),
        (100, 1.984),
    ],
)
def test_student_t_is_the_tabulated_one(degrees: int, t: float) -> None:
    assert statistics.student_t(degrees) == pytest.approx(t, abs=5e-4)


def test_student_t_at_another_level() -> None:
    assert statistics.student_t(4, 0.99) == pytest.approx(4.604, abs=5e-4)
    assert statistics.student_t(7, 0.9) == pytest.approx(1.895, abs=5e-4)


def test_half_width_of_a_worked_sample() -> None:
    # Mean 3, variance 2.5, standard error sqrt(2.5 / 5), t(4) = 2.776.
    assert statistics.half_width([1, 2, 3, 4, 5]) == pytest.approx(2.776445 * math.sqrt(0.5), rel=1e-6)


def test_one_value_has_no_interval() -> None:
    assert statistics.half_width([3.0]) is None


def flows(**columns: object) -> pl.DataFrame:
    """Bulk flows of one traffic group that retransmitted nothing, with these columns instead."""
    zeros = (
        *("segments_sent", "retransmits", "spurious_retransmits", "timeouts", "srtt_s", "longest_stall_s"),
        *("reassembly_peak_bytes", "reordered_segments", "reordering_extent_max", "reordering_extent_mean"),
    )
    table = pl.DataFrame({"run": 0, "variant": 0, "stack": "cubic", "traffic": "a"} | columns)
    empty = ("fct_s", "size_bytes", "goodput_bps")
    return table.with_columns(
        *(pl.lit(0.0).alias(name) for name in zeros if name not in columns),
        *(pl.lit(None, pl.Float64).alias(name) for name in empty if name not in columns),
    )


def test_the_interval_of_equal_rates_is_zero() -> None:
    """The mean of five times 0.1 + 0.2 is not exactly that, and the interval printed as 45 nbit/s."""
    found = statistics.summary(flows(run=range(5), goodput_bps=[9.0e6 * (0.1 + 0.2)] * 4 + [2.7e6]), ["variant"])
    assert found["goodput_interval_bps"].to_list() == [0.0]
    assert found["goodput_bps"].item() == pytest.approx(2.7e6)


def test_jains_index_is_that_of_the_tcp_flows() -> None:
    """Probes that ended before anything was measured made two equal flows look unfair."""
    found = statistics.summary(flows(stack=["cubic", "cubic", None], goodput_bps=[5.0, 5.0, 0.0]), ["variant"])
    assert found["jain_index"].to_list() == [1.0]


def test_jains_index_of_a_result_is_that_of_its_tcp_flows() -> None:
    """In a run's summary, UDP flows had a stack of their own and counted."""
    traffic = """
[[traffic]]
from = "A"
to = "C"
constant = "100kbps"
transport = "udp"
"""
    summary = Scenario.from_toml(LINE.replace("bulk = true", "bulk = true\nflows = 2") + traffic).run(seed=1).summary
    assert summary["flows"].to_list() == [3.0]
    assert summary["jain_index"].item() > 0.8  # with the third flow at most (1 + 1 + 0)^2 / (3 x 2) = 2/3


def test_a_count_that_one_flow_does_not_know_is_unknown_and_not_less() -> None:
    table = flows(segments_sent=[100, None], retransmits=[10, 5], timeouts=[1, 2])
    row = statistics.summary(table, ["variant"]).row(0, named=True)
    assert row["retransmit_ratio"] is None
    assert row["timeouts"] == 3


@pytest.mark.parametrize(("again", "spurious", "share"), [(4, 1, 0.25), (4, 5, 1.0), (0, 1, None), (0, 0, None)])
def test_a_share_of_spurious_retransmissions_is_a_share(again: int, spurious: int, share: float | None) -> None:
    """A segment that was on its way at the end of the warm-up is not among those sent again, but arrives among the spurious ones."""
    found = statistics.summary(flows(retransmits=[again], spurious_retransmits=[spurious]), ["variant"])
    assert found["spurious_ratio"].to_list() == [share]


def test_goodput_is_of_the_flows_that_send_to_the_end_of_the_run() -> None:
    """Bytes over time say nothing of a flow that finishes: its time is what counts."""
    table = flows(
        traffic=["bulk", "short", "short", "large"],
        size_bytes=[None, 10, 10, 10**9],
        fct_s=[None, 0.1, None, None],
        goodput_bps=[8.0, 100.0, 200.0, 2.0],
    )
    found = statistics.summary(table, ["variant"])
    assert found["goodput_bps"].to_list() == [10.0]
    assert found["flow_goodput_bps"].to_list() == [5.0]
    assert statistics.summary(table, ["traffic"])["goodput_bps"].to_list() == [8.0, None, 2.0]


def test_runs_without_flows_count(tmp_path: Path) -> None:
    """At one arrival a second, some runs of a second have no flow. The mean is over all runs, with the stacks of the runs that have flows."""
    traffic = 'short = { arrivals = "1/s", sizes = [[1000, 0.0], [2000, 1.0]] }\nstack = ["newreno", "cubic"]\n'
    text = LINE.replace("bulk = true\n", traffic).replace('stack = "newreno"\n', "").replace('"2s"', '"1s"\nseeds = 6')
    result = Scenario.from_toml(text).run(directory=tmp_path / "run")
    assert result.flows["run"].n_unique() < 12
    summaries = [result.summary, evaluation.read([result.directory]).summary]
    for row in [row for summary in summaries for row in summary.to_dicts()]:
        assert row["runs"] == 6
        own = result.flows.filter(stack=row["stack"])
        assert row["flows"] == pytest.approx(own.height / 6)
        assert row["timeouts"] == own["timeouts"].sum() / 6
        assert row["retransmit_ratio"] == own["retransmits"].sum() / own["segments_sent"].sum()


def sized(**columns: object) -> pl.DataFrame:
    """Flows with a size of 5 kB that started at 10 s, of a run from 0 to 100 s with these columns instead."""
    table = pl.DataFrame(columns)
    others = {
        "run": 0, "variant": 0, "start_s": 10.0, "size_bytes": 5000, "idle_fct_s": 0.5, "warm_up_s": 0.0, "simulated_s": 100.0,
    }  # fmt: skip
    return table.with_columns(pl.lit(value).alias(name) for name, value in others.items() if name not in columns)


def test_completion_times_are_those_of_the_flows() -> None:
    """Against numpy's percentiles of the same values."""
    times = [0.5 + 0.01 * n**2 for n in range(40)]
    found = statistics.completion_times(sized(fct_s=times), ["variant"])
    assert found.height == 2  # all sizes, and the one class that there is
    assert found.select("size_from_bytes", "size_below_bytes").rows() == [(0, None), (0, 10_000)]
    for row in found.to_dicts():
        assert (row["flows"], row["unfinished"], row["warm_up_flows"]) == (40, 0, 0)
        for name, factor in (("fct_{}_s", 1), ("slowdown_{}", 2)):
            assert row[name.format("mean")] == pytest.approx(factor * np.mean(times))
            for what, share in (("median", 50), ("p95", 95), ("p99", 99)):
                assert row[name.format(what)] == pytest.approx(factor * np.percentile(times, share))


def test_an_unfinished_flow_enters_no_figure_that_it_could_change() -> None:
    """Two flows of 1 s, and two that had run for 80 s and 60 s: at least half of the flows take longer than 1 s."""
    times: dict[str, object] = {"fct_s": [1.0, 1.0, None, None], "start_s": [10.0, 10.0, 20.0, 40.0]}
    row = statistics.completion_times(sized(**times), ["variant"]).row(0, named=True)
    assert (row["flows"], row["unfinished"]) == (4, 2)
    assert [row[f"fct_{figure}_s"] for figure in statistics.FIGURES] == [None] * 4
    assert [row[f"slowdown_{figure}"] for figure in statistics.FIGURES] == [None] * 4
    assert row["fct_interval_s"] is None
    assert row["fct_mean_at_least_s"] == pytest.approx((1 + 1 + 80 + 60) / 4)
    assert row["fct_median_at_least_s"] == pytest.approx((1 + 60) / 2)
    assert row["slowdown_mean_at_least"] == pytest.approx((1 + 1 + 80 + 60) / 4 / 0.5)


def test_a_slowdown_so_far_is_at_least_1() -> None:
    """A flow that began 0.2 s before the end, and needs 0.5 s in an idle network, had a slowdown of 0.4."""
    row = statistics.completion_times(sized(fct_s=[None], start_s=[99.8]), ["variant"]).row(0, named=True)
    assert row["slowdown_median"] is None
    assert row["slowdown_median_at_least"] == 1.0
    assert row["fct_median_at_least_s"] == 0.5


def test_the_interval_over_runs_is_unknown_if_the_mean_of_one_is() -> None:
    found = statistics.completion_times(sized(run=[0, 1, 2], fct_s=[0.5, 2.0, None]), ["variant"])
    assert found["fct_interval_s"][0] is None


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 10)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_a_figure_that_is_stated_is_that_of_the_flows_if_all_had_finished(
    flows: list[tuple[int, int]], draw: random.Random
) -> None:
    """Random right-censored samples, with many equal values, against numpy's percentiles of the whole sample.

    Each flow has its time in an idle network, and what it takes beyond that. The lower bounds hold as well.
    """
    idle = [float(least) for least, _ in flows]
    true = [float(least + more) for least, more in flows]
    # A run that ends while a flow is under way, at any instant.
    ran = [draw.choice([time, math.inf, 0.0, time * draw.random()]) for time in true]
    seen = [time if time <= had else None for time, had in zip(true, ran, strict=True)]
    starts = [100.0 - (0.0 if math.isinf(had) else had) for had in ran]
    table = sized(fct_s=pl.Series(seen, dtype=pl.Float64), start_s=starts, idle_fct_s=idle, warm_up_s=-1e9)
    row = statistics.completion_times(table.with_columns(start_s=pl.col("start_s") - 1e-9), ["variant"]).row(
        0, named=True
    )
    assert row["unfinished"] == seen.count(None)
    slow = [time / least for time, least in zip(true, idle, strict=True)]
    percentiles = (("median", 50), ("p95", 95), ("p99", 99))
    for name, unit, whole in (("fct", "_s", true), ("slowdown", "", slow)):
        exact = {"mean": np.mean(whole)} | {what: np.percentile(whole, share) for what, share in percentiles}
        for figure in statistics.FIGURES:
            stated, least = row[f"{name}_{figure}{unit}"], row[f"{name}_{figure}_at_least{unit}"]
            assert least <= exact[figure] * (1 + 1e-9)
            if stated is not None:
                assert stated == least == pytest.approx(exact[figure])
        assert (row[f"{name}_mean{unit}"] is None) == (None in seen)


def test_flows_of_the_warm_up_are_counted_and_left_out() -> None:
    found = statistics.completion_times(sized(fct_s=[9.0, 1.0], start_s=[4.0, 5.0], warm_up_s=5.0), ["variant"])
    row = found.row(0, named=True)
    assert (row["flows"], row["warm_up_flows"], row["fct_mean_s"]) == (1, 1, 1.0)
    alone = statistics.completion_times(sized(fct_s=[9.0], start_s=[0.0], warm_up_s=5.0), ["variant"])
    assert alone.select("flows", "warm_up_flows", "fct_mean_s").row(0) == (0, 1, None)


def test_sizes_fall_into_classes_whose_lower_bound_is_in_them() -> None:
    sizes = [1, 9_999, 10_000, 10**6, 10**8, 10**10]
    found = statistics.completion_times(sized(fct_s=[1.0] * 6, size_bytes=sizes), ["variant"])
    assert found.select("size_from_bytes", "size_below_bytes", "flows").rows() == [
        (0, None, 6), (0, 10_000, 2), (10_000, 100_000, 1), (10**6, 10**7, 1), (10**8, None, 2),
    ]  # fmt: skip


def test_the_interval_of_completion_times_is_over_the_means_of_the_runs() -> None:
    """Means 1, 2, 3: s = 1, t(2) = 4.303."""
    found = statistics.completion_times(sized(run=[0, 0, 1, 2], fct_s=[0.5, 1.5, 2.0, 3.0]), ["variant"])
    assert found["fct_interval_s"][0] == pytest.approx(4.303 / 3**0.5, rel=1e-3)


def test_the_makespan_is_from_the_first_start_to_the_last_end_of_each_run() -> None:
    """Runs of 2 s and 6 s; a flow that still waits for another when the run ends is unfinished."""
    starts: dict[str, object] = {"run": [0, 0, 1, 1], "start_s": [10.0, 11.5, 10.0, 14.0]}
    found = statistics.completion_times(sized(fct_s=[1.0, 0.5, 3.0, 2.0], **starts), ["variant"])
    assert found["makespan_s"][0] == pytest.approx(4.0)
    waiting = sized(fct_s=[1.0, 0.5, 3.0, None], **(starts | {"start_s": [10.0, 11.5, 10.0, None]}))
    found = statistics.completion_times(waiting, ["variant"])
    assert found.select("makespan_s", "flows", "unfinished").row(0) == (None, 4, 1)


@pytest.mark.parametrize(
    ("stall", "srtt", "held", "long"),
    [
        (0.2, 0.1, 0, False),
        (1.1, 0.5, 0, True),
        (0.2, 0.001, 0, True),
        (0.0, 0.1, 7 * 2**20, True),
        (None, None, 0, False),
    ],
)
def test_long_waits_for_a_repair_are_shown(stall: float | None, srtt: float | None, held: int, long: bool) -> None:
    table = pl.DataFrame({"longest_stall_s": [stall], "srtt_s": [srtt], "reassembly_peak_bytes": [held]})
    assert statistics.waits_long(table.cast(pl.Float64)) == long


@pytest.mark.parametrize(
    ("goodput", "index"), [([5.0, 5.0, 5.0], 1.0), ([6.0, 0.0, 0.0], 1 / 3), ([1.0, 3.0], 0.8), ([4.0], None)]
)
def test_jain_index(goodput: list[float], index: float | None) -> None:
    found = pl.DataFrame({"x": goodput}).select(statistics.jain_index(pl.col("x"))).item()
    assert found == (None if index is None else pytest.approx(index))


def test_cumulative_distribution_keeps_every_value_while_there_is_room() -> None:
    """An unknown value is above all known ones, as the time of a flow that has not finished."""
    found = statistics.cumulative_distribution(pl.Series([3.0, 1.0, None, 2.0, 2.0]))
    assert found.select("value", "share").rows() == [(1.0, 0.2), (2.0, 0.4), (2.0, 0.6), (3.0, 0.8)]


def test_cumulative_distribution_of_many_values_stays_on_the_curve() -> None:
    found = statistics.cumulative_distribution(pl.Series(range(1, 100_001), dtype=pl.Float64), points=100)
    assert found.height == 100
    assert (found["value"] / 100_000 - found["share"]).abs().max() < 1e-12


def test_a_flow_counts_with_its_share_of_the_measured_time(tmp_path: Path) -> None:
    directory = write_run_directory(
        tmp_path / "run", stacks=["cubic"], routings=["ospf"], seeds=1, flows=2, sample_s=None
    )
    # Measured from 5 s to 30 s. The first flow had 8 Mbit/s from 10 s to 20 s, the second 2 Mbit/s throughout.
    flows = pl.read_parquet(directory / "flows.parquet").with_columns(
        pl.Series("goodput_bps", [8e6, 2e6]), pl.Series("start_s", [10.0, 0.0]), pl.Series("end_s", [20.0, None])
    )
    replace_table(directory / "flows.parquet", flows)
    found = statistics.summary(run_directory.read([directory]).flows, ["variant"])
    assert found["goodput_bps"].item() == pytest.approx(8e6 * 10 / 25 + 2e6)
    assert found["flow_goodput_bps"].item() == pytest.approx(5e6)
    assert found["goodput_interval_bps"].item() is None


def test_the_band_of_a_distribution_has_the_whole_of_it_in_95_of_100_cases() -> None:
    """1,000 samples of 40 uniform values, each against the exact distribution: Kolmogorov's largest distance."""
    draw = random.Random(1)
    half = statistics.distribution_band(40)
    assert half == pytest.approx(1.3581 / 40**0.5, rel=1e-4), "Kolmogorov's asymptotic 95 % quantile is 1.3581"
    inside = 0
    for _ in range(1000):
        ordered = sorted(draw.random() for _ in range(40))
        distance = max(max((i + 1) / 40 - value, value - i / 40) for i, value in enumerate(ordered))
        inside += distance <= half
    assert 940 <= inside <= 985, "the inequality is a bound: at least 95 %, within chance"


def test_the_band_is_around_the_share_and_within_0_and_1() -> None:
    found = statistics.cumulative_distribution(pl.Series(range(100), dtype=pl.Float64))
    half = statistics.distribution_band(100)
    middle = found.row(49, named=True)
    assert (middle["low"], middle["high"]) == pytest.approx((0.5 - half, 0.5 + half))
    assert found["low"].min() == 0
    assert found["high"].max() == 1


@given(
    st.lists(st.tuples(st.floats(0, 10), st.booleans()), min_size=1, max_size=30),
    st.floats(0, 1),
    st.lists(st.floats(0, 50), min_size=30, max_size=30),
)
def test_a_known_quantile_is_that_of_any_completion(
    values: list[tuple[float, bool]], share: float, more: list[float]
) -> None:
    """Whatever the unknown values are beyond their bounds, the quantile is the one that is given."""
    known = statistics.known_quantile(
        [None if cut else value for value, cut in values], [value for value, _ in values], share
    )
    whole = [value + cut * rest for (value, cut), rest in zip(values, more, strict=False)]
    if known is not None:
        assert pl.Series(whole).quantile(share, "linear") == pytest.approx(known)
    assert (known is None) <= any(cut for _, cut in values)


def test_a_quantile_that_depends_on_an_unknown_value_is_unknown() -> None:
    assert statistics.known_quantile([1.0, 2.0, None], [0.0, 0.0, 5.0], 0.5) == 2.0
    assert statistics.known_quantile([1.0, 2.0, None], [0.0, 0.0, 1.5], 0.5) is None
    assert statistics.known_quantile([1.0, 2.0, None], [0.0, 0.0, 5.0], 0.95) is None
