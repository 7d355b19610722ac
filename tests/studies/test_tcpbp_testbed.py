"""The paper's tests on the live testbed, and the verdicts of their page."""

from pathlib import Path

import polars as pl
import pytest

from anabranch.engines.openflow.routes import chosen
from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, METRICS, TCPBP
from anabranch.studies.testbed.tests import SCHEMA, Log, joined
from testbed import page, paper
from testbed.paper import PRINTED, SHOWN, Paper, planned, worth_doing

PAPER = Paper(1, 4.0)
CHOSEN = {**chosen(PAPER.topology, METRICS), **PAPER.plan().fixed}


def test_table_4_has_the_paths_that_the_paper_prints() -> None:
    for fewer in paper.FOLDERS:
        shown = {test.path for test in planned(CHOSEN, fewer) if test.pair == SHOWN and test.flows == 10}
        assert {("1", "3", "4", "10"), ("1", "5", "10"), ("1", "5", "4", "10")} <= shown


def test_other_pairs_are_measured_where_routes_differ() -> None:
    own = [test for test in planned(CHOSEN, 1.0) if test.flows == 25 and test.pair != SHOWN]
    for pair in networks.pairs(PAPER.topology):
        paths = {CHOSEN[metric][pair] for metric in (TCPBP, DELAY, HOPS)}
        measured = {test.path for test in own if test.pair == pair}
        assert measured >= paths if len(paths) > 1 and pair != SHOWN else not measured


def row(path: tuple[str, ...], **changes: object) -> dict[str, object]:
    own = dict.fromkeys(SCHEMA, 1) | {
        "source": path[0], "target": path[-1], "path": joined(path), "back": joined(path[::-1]), "metrics": "x", "flows": 10,
        "goodput_bps": 1e6, "jain": 0.99, "busy": 0.5,
    }  # fmt: skip
    return own | changes


def test_a_path_that_was_too_fast_is_not_measured_with_more_flows(tmp_path: Path) -> None:
    log = Log(tmp_path / "tests.csv")
    log.add(row(PRINTED[TCPBP], busy=0.95))
    left = {(test.path, test.flows) for test in worth_doing(planned(CHOSEN, 1.0), log) if test.pair == SHOWN}
    assert not any(path == PRINTED[TCPBP] for path, _ in left)
    assert (PRINTED[HOPS], 50) in left


def verdicts(rows: list[dict[str, object]], tmp_path: Path) -> list[str]:
    log = Log(tmp_path / "printed" / "tests.csv")
    (tmp_path / "printed").mkdir()
    for one in rows:
        log.add(one)
    table = paper.table(tmp_path, 4.0)
    return [line.split(" | ")[2] for line in page._verdicts(table, table, CHOSEN)]


def test_nothing_measured_gives_no_verdict(tmp_path: Path) -> None:
    assert verdicts([], tmp_path) == ["undecided"] * 4


def test_one_test_decides_nothing(tmp_path: Path) -> None:
    assert verdicts([row(PRINTED[TCPBP])], tmp_path) == ["undecided"] * 4


def test_some_pairs_leave_the_gain_undecided(tmp_path: Path) -> None:
    pair = next(pair for pair in page._differing(CHOSEN, DELAY))
    rows = [row(CHOSEN[metric][pair]) for metric in (TCPBP, DELAY)]
    assert verdicts(rows, tmp_path)[1] == "undecided"


@pytest.mark.parametrize(
    ("tcpbp_bps", "delay_bps", "verdict"), [(17.0e6, 12e6, "holds"), (14.0e6, 12e6, "does not hold")]
)
def test_table_4_compares_the_rates_in_the_median(
    tmp_path: Path, tcpbp_bps: float, delay_bps: float, verdict: str
) -> None:
    """Goodputs in the paper's time are four times those on the slower testbed."""
    rates = {TCPBP: tcpbp_bps, HOPS: 13.5e6, DELAY: delay_bps}
    rows = [row(PRINTED[metric], goodput_bps=rate / 4) for metric, rate in rates.items()]
    assert verdicts(rows, tmp_path)[3] == verdict


def test_the_published_table_has_the_columns_of_the_tests() -> None:
    published = pl.read_csv(Path(page.__file__).parents[1] / "papers" / "tcpbp" / page.TABLE, n_rows=1)
    assert {"path", "flows", "fewer_losses", "goodput_bps", "busy"} <= set(published.columns)
