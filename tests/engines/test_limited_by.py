"""What limits flows: the columns of the packet engine, Linux's times, and the words of tables. Counts that are not made are empty."""

import numpy as np
import polars as pl
import pytest

from anabranch.engines.kernel.limits import limit_shares
from anabranch.pages.report import tables as report_tables
from anabranch.pages.report.evaluation import evaluate
from anabranch.results.limiting import LIMITS, limits_by
from anabranch.results.result import Result
from anabranch.results.summary import tables
from anabranch.scenario import Scenario

PATH = """
[topology]
links = [{ source = "s", target = "t", capacity = "20Mbps", delay = "50ms" }]
[[traffic]]
from = "s"
to = "t"
"""
SPRAYED_UDP = """
[topology]
links = [
  { source = "s", target = "a", capacity = "100Mbps", delay = "1ms" },
  { source = "a", target = "b", capacity = "100Mbps", delay = "5ms" },
  { source = "b", target = "t", capacity = "100Mbps", delay = "5ms" },
  { source = "a", target = "c", capacity = "100Mbps", delay = "5ms" },
  { source = "c", target = "t", capacity = "100Mbps", delay = "10.3ms" },
]
[routing]
spray = { metric = "hop-count", select = "round-robin", per = "packet" }
[[traffic]]
from = "s"
to = "t"
transport = "udp"
constant = "12Mbps"
routing = "spray"
[run]
duration = "2s"
"""


def _run(text: str, engine: str = "packet") -> Result:
    return Scenario.from_toml(text).run(engine)


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ('[stacks.narrow]\npreset = "reno"\nreceive_window = "14600B"', "receive window 9"),
        ('constant = "2Mbps"\nstack = "linux-reno"', "application 9"),
        ('stack = "linux-cubic"', "congestion window 9"),
        ('size = "14600B"\nstack = "reno"', "set-up and last ACKs 100 %"),
    ],
)
def test_the_table_and_the_report_name_the_greatest_limit(traffic: str, words: str) -> None:
    result = _run(f'{PATH}{traffic}\n[run]\nduration = "5s"')
    summary = next(tables(result.runs))
    column = summary.head.index("limited by")
    assert summary.rows[0][column].startswith(words)
    page = report_tables.summary(evaluate(result.runs))
    (place,) = (index for index, one in enumerate(page.columns) if one.title == "Limited by")
    assert page.rows[0][place].text == summary.rows[0][column]


def test_without_a_known_limit_there_is_no_column() -> None:
    result = _run(PATH + 'transport = "udp"\nconstant = "2Mbps"\n[run]\nduration = "1s"')
    assert "limited by" not in next(tables(result.runs)).head
    assert result.flows.select(*LIMITS).null_count().row(0) == (1,) * len(LIMITS)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.2, 0.0, 0.7, 0.1], "congestion window 70 %"),
        ([0.2, 0.0, 0.1, 0.1], "set-up and last ACKs 60 %"),
        ([0.6, None, None, None], "receive window 60 %"),
        ([0.4, None, None, None], None),
        ([None, None, None, None], None),
    ],
)
def test_an_unknown_share_may_be_the_greatest(shares: list[float | None], words: str | None) -> None:
    flows = pl.DataFrame({name: [share] for name, share in zip(LIMITS, shares, strict=True)}).cast(pl.Float64)
    found = limits_by(flows.with_columns(variant=0), ["variant"])
    assert found.get((0,)) == words


def test_linux_knows_what_only_one_limit_can_explain() -> None:
    """Of 10 s each: bulk data, the same paced, data written over time, datagrams, and a flow that has not begun."""
    times = {
        "busy": np.array([9.0, 9.0, 8.0, 0.0, 0.0]),
        "window": np.array([6.0, 6.0, 2.0, 0.0, 0.0]),
        "buffer": np.array([1.0, 1.0, 0.0, 0.0, 0.0]),
        "writes_over_time": np.array([0, 0, 1, 1, 0]),
    }
    time_s = np.array([10.0, 10.0, 10.0, 10.0, -5.0])
    is_tcp, paces = np.array([True, True, True, False, True]), np.array([False, True, False, False, False])
    columns = limit_shares(times, time_s, is_tcp, paces)
    unknown = np.nan
    expected = {
        "limited_by_receive_window": [0.6, 0.6, 0.2, unknown, unknown],
        "limited_by_application": [0.1, 0.1, unknown, unknown, unknown],
        "limited_by_congestion_window": [0.2, unknown, unknown, unknown, unknown],
        "limited_by_pacing": [0.0, unknown, unknown, unknown, unknown],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(columns[name], values, err_msg=name)


def test_datagrams_sprayed_over_paths_are_counted_as_reordered() -> None:
    """A packet of 1500 bytes every millisecond, and every other one on a path of 5.3 ms more."""
    result = _run(SPRAYED_UDP)
    (flow,) = result.flows.to_dicts()
    late_packets = flow["segments_sent"] // 2
    assert abs(flow["reordered_segments"] - late_packets) <= 9  # some of the last 17 ms are on their way
    # Before the packet sent at 10 ms come those sent at 11, 6, 13, 8 and 15 ms.
    assert flow["reordering_extent_max"] == 5
    assert flow["reordering_extent_mean"] == pytest.approx(5, abs=0.01)
    assert flow["reassembly_peak_bytes"] is None
    assert flow["longest_stall_s"] is None


def test_a_count_that_is_not_made_is_empty() -> None:
    """Datagrams in flight are known to no sender; and the model does not tell marks from drops."""
    result = _run(PATH + 'transport = "udp"\nconstant = "2Mbps"\n[run]\nduration = "1s"\nsample = "100ms"')
    assert result.series_flows["in_flight_segments"].null_count() == result.series_flows.height > 0
    marking = PATH.replace("[topology]", '[topology]\nqueue = { discipline = "red", ecn = true }')
    links = _run(marking + '[stacks.marked]\npreset = "newreno"\necn = true', "predict").links
    for name in ("queue_drops", "queue_drop_ratio", "marks"):
        assert links[name].null_count() == links.height, name
