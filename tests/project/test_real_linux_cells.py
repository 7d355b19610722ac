"""The cells in which real Linux is compared: both sides get the same network and the same lost packets."""

from math import inf
from pathlib import Path

import pytest

from anabranch.foundation import units
from bench.peers.linux import kernel
from validation import __main__ as validate
from validation import against_linux_transfers
from validation.against_linux_transfers import Compared
from validation.against_real_linux import Result, completion_s, first_share, shares_by_size
from validation.real_linux_cells import (
    Cell,
    Run,
    cdg_and_dctcp,
    document,
    heavy_loss,
    linux_case,
    pairs,
    shallow,
    short_flows,
    single_flows,
    sprayed,
    sprayed_bbr,
)
from validation.section import percent

CELLS = [
    *single_flows(quick=True),
    *pairs(quick=True),
    *sprayed(quick=True),
    *sprayed_bbr(quick=True),
    *heavy_loss(quick=True),
    *shallow(quick=True),
    *short_flows(quick=True),
    *cdg_and_dctcp(quick=True),
]


@pytest.mark.parametrize("cell", CELLS)
def test_both_sides_run_on_the_same_network(cell: Cell) -> None:
    scenario, case = document(cell, 2), linux_case(cell, 2)
    links = scenario["topology"]["links"]
    queues = {tuple(one["link"]): one["queue"] for one in scenario["topology"]["override"]}
    losses = {tuple(one["link"]): one["loss"]["packets"] for one in scenario["impairments"]}
    ours = [
        (
            units.rate(link["capacity"]),
            units.duration(link["delay"]),
            queues.get((link["source"], link["target"]), scenario["topology"]["queue"])["limit"],
            queues.get((link["source"], link["target"]), {}).get("mark"),
            losses.get((link["source"], link["target"]), []),
        )
        for link in links
    ]
    theirs = [
        (
            link.rate_bps,
            round(link.delay_s * 1e9) * 1000,
            f"{link.queue_packets} packets",
            link.mark_packets,
            list(link.lost),
        )
        for path in case.flows[0].ahead.paths
        for link in (case.links[index] for index in path)
    ]
    assert ours == theirs
    starts = [units.duration(traffic["start"]) for traffic in scenario["traffic"]]
    assert starts == [round(flow.start_s * 1e9) * 1000 for flow in case.flows]
    sizes = [traffic.get("size") for traffic in scenario["traffic"]]
    assert sizes == [flow.payload_bytes and f"{flow.payload_bytes} bytes" for flow in case.flows]
    for ahead, back, round_trip_s in zip(
        case.flows[0].ahead.paths, case.flows[0].back.paths, cell.round_trips_s, strict=True
    ):
        assert sum(case.links[index].delay_s for index in (*ahead, *back)) == pytest.approx(round_trip_s)


def test_shares_and_ratios_are_of_means_over_draws() -> None:
    theirs = [Run((3e6, 1e6), 0, 0), Run((1e6, 1e6), 0, 0)]
    ours = [Run((1e6, 2e6), 0, 0), Run((2e6, 1e6), 0, 0)]
    result = Result(CELLS[0], theirs, ours)
    assert result.ratio == 1.0
    assert (first_share(theirs), first_share(ours)) == (0.625, 0.5)


def test_shares_are_compared_by_size_whichever_flow_has_them() -> None:
    assert shares_by_size([Run((3e6, 1e6), 0, 0), Run((1e6, 1e6), 0, 0)]) == [0.625, 0.375]
    assert shares_by_size([Run((1e6, 3e6), 0, 0)]) == [0.75, 0.25]


def compared(sizes: list[int | None], theirs: list[float | None], ours: list[float | None]) -> Compared:
    """A link with transfers that start at 10 s of 20."""
    cell = Cell(("cubic",) * len(sizes), 10_000_000, (0.04,), 1.0, segments=sizes, starts_s=(10.0,) * len(sizes))
    goodputs = (1e6,) * len(sizes)
    return Compared(cell, Run(goodputs, 0, 0, theirs), Run(goodputs, 0, 0, ours))


def test_the_length_of_the_run_is_no_completion_time() -> None:
    """Of 24 transfers, one ends on neither side, and one on Linux's only. The deviation and the sum are of the others, the quantiles of all."""
    equal = [1.0 + number / 100 for number in range(22)]
    one = compared([None, *[10] * 24], [None, *equal, None, 1.5], [None, *(2 * time for time in equal), None, None])
    row = dict(zip(against_linux_transfers.COLUMNS, against_linux_transfers.row("all", [one]), strict=True))
    assert (row["transfers"], row["that end on both sides"], row["equal"]) == ("24", "22", "0 %")
    assert (row["deviation of a transfer: median"], row["of the sum"]) == ("100.0 %", "+100.0 %")
    theirs, ours = sorted([*equal, 1.5, inf]), [2 * time for time in equal] + [inf, inf]
    assert row["of the median time"] == percent((ours[11] + ours[12]) / (theirs[11] + theirs[12]))
    # The 95th percentile of our times is the time of an unfinished transfer.
    assert row["of the 95th percentile"] == "-"


def test_a_flow_that_does_not_end_has_no_completion_time() -> None:
    ends, lasts = Run((1e6,), 0, 0, [0.5]), Run((1e6,), 0, 0, [None])
    assert completion_s([ends, ends]) == 0.5
    assert completion_s([ends, lasts]) == inf
    assert percent(completion_s([lasts]) / 0.5) == "-"


def test_without_a_kernel_the_comparison_is_skipped_and_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "BUILD_FOLDER", tmp_path)
    assert validate.main(["--quick", "--only", "real-linux"]) == 0
    assert "real-linux: skipped, no Linux kernel has been built; make kernel" in capsys.readouterr().err
