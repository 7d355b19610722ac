"""``--engine predict``: the packet engine's tables and report, in its vicinity where chance has no part, and refusals by name."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anabranch import Scenario
from anabranch.cli.entry import status
from anabranch.cli.exit_status import DONE, FAILED
from anabranch.engines.predict import PredictedRun
from anabranch.pages.report import evaluation
from anabranch.pages.report import write as write_report
from anabranch.pages.report.outcomes import outcomes
from anabranch.pages.report.treatments import CONDITION, TREATMENT
from anabranch.results import comparison
from anabranch.results.result import Result
from anabranch.runs import execute
from anabranch.runs.errors import RunError
from validation.predict.__main__ import completions

SCENARIO = """
title = "Two limits"
[topology]
nodes = [{ name = "a" }, { name = "b" }]
links = [{ source = "a", target = "b" }]
capacity = "10Mbps"
delay = "10ms"
[[traffic]]
name = "free"
from = "a"
to = "b"
stack = ["newreno", "linux-cubic"]
[[traffic]]
name = "steady"
from = "a"
to = "b"
constant = "2Mbps"
stack = "newreno"
[run]
duration = "60s"
warm_up = "10s"
"""


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    scenario = Scenario.from_toml(SCENARIO)
    return {engine: execute(scenario, engine=engine, show_progress=False) for engine in ("packet", "predict")}


def test_a_flow_that_shares_with_a_steady_one_gets_the_rest(results: dict[str, Result]) -> None:
    packet, predicted = (results[engine].flows for engine in ("packet", "predict"))
    keys = ["run", "flow", "traffic", "src", "dst", "stack", "routing", "start_s"]
    assert predicted.select(keys).equals(packet.select(keys))
    ratios = predicted["goodput_bps"] / packet["goodput_bps"]
    assert ratios.is_between(0.95, 1.05).all(), ratios
    assert predicted.filter(traffic="steady")["limited_by"].to_list() == ["limit"] * 2
    assert (predicted["low_bps"] <= predicted["goodput_bps"]).all()
    assert (predicted["goodput_bps"] <= predicted["high_bps"]).all()


def test_the_document_of_a_prediction_has_its_intervals(results: dict[str, Result]) -> None:
    predicted = ["low_bps", "high_bps", "fct_p95_s", "limited_by"]
    for engine, result in results.items():
        flows = [flow for run in result.documents()["runs"] for flow in run["flows"]]
        shown = [[flow.get(name) for name in predicted] for flow in flows]
        known = result.flows.select(predicted).rows() if engine == "predict" else [(None,) * 4] * len(flows)
        assert shown == [list(row) for row in known]


def test_links_are_as_busy_as_in_the_packet_engine(results: dict[str, Result]) -> None:
    packet, predicted = (results[engine].links for engine in ("packet", "predict"))
    assert (predicted["utilisation"] - packet["utilisation"]).abs().max() < 0.05
    carried = predicted["bytes"] * 8 / (50 * predicted["capacity_bps"])
    assert (carried - predicted["utilisation"]).abs().max() < 1e-6


@pytest.mark.parametrize("packets", [5, 8, 12])
def test_a_short_queue_leaves_the_capacity_that_it_leaves_in_the_packet_engine(packets: int) -> None:
    # Fifteen packets are on the way: the queue is shorter than that, and each recovery costs a round trip at half of the window.
    scenario = Scenario.from_toml(f"""
    [topology]
    links = [{{ source = "a", target = "b" }}]
    capacity = "6Mbps"
    delay = "15ms"
    queue = {{ limit = "{packets} packets" }}
    [[traffic]]
    from = "a"
    to = "b"
    stack = "newreno"
    [run]
    duration = "120s"
    warm_up = "20s"
    """)
    found = {name: execute(scenario, engine=name, show_progress=False) for name in ("packet", "predict")}
    packet, predicted = (found[name].links["utilisation"].max() for name in ("packet", "predict"))
    assert predicted == pytest.approx(packet, abs=0.01)


def test_what_the_model_does_not_say_is_unknown(results: dict[str, Result]) -> None:
    predicted = results["predict"].flows
    for column in ("segments_sent", "retransmits", "timeouts", "reordered_segments", "longest_stall_s", "end_s"):
        assert predicted[column].null_count() == predicted.height, column
    assert results["predict"].manifest["runs"][0]["converged"]
    assert results["predict"].links["queue_delay_max_s"].null_count() == results["predict"].links.height


def test_flows_that_end_have_a_median_and_a_95th_percentile(tmp_path: Path) -> None:
    sized = SCENARIO.replace('constant = "2Mbps"', 'size = "100kB"\nstart = "20s"')
    packet, predicted = (
        execute(Scenario.from_toml(sized), engine=engine, show_progress=False) for engine in ("packet", "predict")
    )
    times = predicted.flows.filter(pl.col("size_bytes").is_not_null())
    assert times.height > 0
    assert (times["fct_p95_s"] >= times["fct_s"]).all()
    assert (times["fct_s"] >= times["idle_fct_s"]).all()
    alone = packet.flows.filter(pl.col("size_bytes").is_not_null())
    assert times["fct_s"].median() == pytest.approx(alone["fct_s"].median(), rel=0.6)


def test_the_report_and_the_comparison_take_a_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(SCENARIO)
    out = tmp_path / "out"
    assert status(["run", str(path), "--engine", "predict", "--out", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert "Two limits" in page
    assert "Predicted goodput with intervals" in page
    flows = pl.read_parquet(out / "flows.parquet")
    assert {"low_bps", "high_bps", "limited_by"} <= set(flows.columns)
    arguments = [
        "compare",
        str(path),
        "--engines",
        "packet,predict",
        "--within",
        "10%",
        "--out",
        str(tmp_path / "both"),
    ]
    assert status(arguments) == 0
    printed = capsys.readouterr().out
    assert "predict / packet" in printed
    assert "of 20 goodputs of single runs within the predicted intervals" in printed


LOSSY = """
title = "Three stacks over a lossy link"
[topology]
links = [{ source = "A", target = "B", capacity = "50Mbps", delay = "30ms" }]
[[impairments]]
link = "all"
loss = 1e-3
[[traffic]]
from = "A"
to = "B"
bulk = true
stack = ["linux-reno", "linux-cubic", "linux-bbr"]
[run]
duration = "20s"
seeds = 3
"""


def test_controls_that_count_acks_and_paced_ones_send_what_they_do_in_the_packet_engine() -> None:
    stacks = ["linux-hybla", "linux-highspeed", "paced"]
    text = LOSSY.replace('["linux-reno", "linux-cubic", "linux-bbr"]', str(stacks)).replace('"20s"', '"60s"')
    scenario = Scenario.from_toml(text + '[stacks.paced]\npreset = "newreno"\npacing = true\n')
    goodput = {
        engine: execute(scenario, engine=engine, show_progress=False)
        .flows.group_by("stack")
        .agg(pl.mean("goodput_bps"))
        for engine in ("packet", "predict")
    }
    both = goodput["packet"].join(goodput["predict"], on="stack", suffix="_predicted")
    assert sorted(both["stack"]) == sorted(stacks)
    ratios = both["goodput_bps_predicted"] / both["goodput_bps"]
    assert ratios.is_between(0.8, 1.25).all(), both


def test_predicted_intervals_decide_and_seeds_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reno and CUBIC are as near as the model is wrong; BBR is far above. No interval is beyond the link."""
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY)
    assert status(["run", str(path), "--engine", "predict", "--out", str(tmp_path / "out")]) == 0
    head, *rows = capsys.readouterr().out.splitlines()[1:5]
    assert head.split() == ["stack", "runs", "goodput", "low", "high", "Jain"]
    assert [row.split()[0] for row in rows] == ["linux-reno", "linux-cubic", "linux-bbr"]
    flows = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    assert flows["high_bps"].max() <= 50e6 * 1448 / 1500  # type: ignore[operator]
    e = evaluation.read([tmp_path / "out"])
    (outcome,) = outcomes(e)
    ranked = comparison.rank(outcome.values, [CONDITION], TREATMENT, most_is_best=True)
    assert ranked["half"].null_count() == ranked["behind_half"].null_count() == 3
    assert ranked.select(TREATMENT, "decided").rows()[0] == ("linux-bbr", None)
    assert ranked["decided"].to_list()[1:] == [True, True]
    pair = outcome.values.filter(pl.col("stack") != "linux-bbr")
    assert comparison.rank(pair, [CONDITION], TREATMENT, most_is_best=True)["decided"].to_list() == [None, False]
    assert "linux-bbr</b> carries the most" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('stack = ["newreno", "linux-cubic"]|stack = "linux-cdg"', "stack linux-cdg: its congestion control has no law"),
        ('"newreno", "linux-cubic"|"bbr3"', "bbr3 beside other congestion controls on link a -> b"),
        ('capacity = "10Mbps"|capacity = "10Mbps"\nqueue = { discipline = "ecn-threshold" }', "the queue of link a -> b: not all flows answer its marks"),
        ('constant = "2Mbps"|size = "1GB"', "flows that end, that alone fill link a -> b"),
        ('warm_up = "10s"|warm_up = "10s"\n[[events]]\nat = "5s"\nimpair = { link = ["a", "b"], loss = { model = "list", packets = [1] } }', r"the losses from 5.000 s on: a list of packets"),
    ],
)  # fmt: skip
def test_what_the_model_does_not_know_is_refused_by_name(change: str, expected: str) -> None:
    before, after = change.split("|")
    assert before in SCENARIO
    scenario = Scenario.from_toml(SCENARIO.replace(before, after))
    with pytest.raises(RunError, match=f"the predict engine cannot predict .*{expected}.*--engine packet"):
        execute(scenario, engine="predict", show_progress=False)


@pytest.mark.slow("5 s: two runs of the packet engine")
def test_a_failure_is_predicted_with_and_without_new_routes() -> None:
    """The interval of each flow has the packet engine's goodput, though one of them waits for the repair and then for a timeout."""
    scenario = Scenario.load(Path(__file__).parents[2] / "scenarios" / "link-failure.toml")
    predicted, simulated = (scenario.run(engine=engine).flows for engine in ("predict", "packet"))
    assert predicted["limited_by"].to_list() == ["alone", "alone"]
    for row, goodput in zip(predicted.to_dicts(), simulated["goodput_bps"], strict=True):
        assert row["low_bps"] <= goodput <= row["high_bps"]
    static, rerouting = predicted["goodput_bps"]
    # A third of the run, and 0.2 s of it.
    assert static < 2 / 3 * 9.74e6 < rerouting < (1 - 0.2 / 30) * 9.74e6


def test_a_variant_that_the_model_does_not_know_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command shows the others, says why one is missing, and fails."""
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY.replace('"linux-bbr"', '"linux-cdg"'))
    assert status(["run", str(path), "--engine", "predict", "--out", str(tmp_path / "out")]) == FAILED
    shown = capsys.readouterr()
    assert [row.split()[0] for row in shown.out.splitlines()[2:4]] == ["linux-reno", "linux-cubic"]
    why = "Left out: stack = linux-cdg: the predict engine cannot predict stack linux-cdg: its congestion control has no law"
    assert why in shown.err
    assert why.removeprefix("Left out: ") in (tmp_path / "out" / "report.html").read_text()


def test_recordings_that_a_prediction_does_not_have_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "line.toml"
    path.write_text(LOSSY)
    command = ["run", str(path), "--engine", "predict", "--out", str(tmp_path / "out")]
    said = {
        "run.delays=true": "run.delays: the predict engine has no packets",
        "run.sample=1s": "run.sample: the predict engine has no time",
    }
    for asked in ([], *([one] for one in said), [*said]):
        assert status([*command, *(part for one in asked for part in ("--set", one))]) == DONE
        error = capsys.readouterr().err
        assert [one for one, text in said.items() if text in error] == asked


SHARED = """
[topology]
generate = { kind = "dumbbell", pairs = 4, bottleneck = "20Mbps", bottleneck_delay = "10ms", access = "1Gbps", access_delay = "1ms" }
queue = QUEUE
[[traffic]]
name = "one half"
from = ["s1", "s2"]
to = ["d1", "d2"]
pattern = "pairs"
stagger = "100ms"
stack = "ONE"
[[traffic]]
name = "other half"
from = ["s3", "s4"]
to = ["d3", "d4"]
pattern = "pairs"
stagger = "170ms"
stack = "OTHER"
[run]
duration = "60s"
warm_up = "10s"
"""


def both(queue: str, one: str, other: str) -> tuple[Result, Result]:
    scenario = Scenario.from_toml(SHARED.replace("QUEUE", queue).replace("ONE", one).replace("OTHER", other))
    packet, predicted = (execute(scenario, engine=engine, show_progress=False) for engine in ("packet", "predict"))
    return packet, predicted


def test_codel_keeps_the_packet_engines_wait() -> None:
    packet, predicted = both('{ discipline = "codel", limit = "1000 packets" }', "newreno", "newreno")
    waits = [result.links["queue_delay_mean_s"].max() for result in (packet, predicted)]
    assert waits[1] == pytest.approx(waits[0], rel=0.35)
    assert predicted.flows["goodput_bps"].sum() == pytest.approx(packet.flows["goodput_bps"].sum(), rel=0.05)


def test_pie_keeps_the_packet_engines_wait() -> None:
    packet, predicted = both('"pie"', "newreno", "cubic")
    waits = [result.links["queue_delay_mean_s"].max() for result in (packet, predicted)]
    assert waits[1] == pytest.approx(waits[0], rel=0.2)
    assert predicted.flows["goodput_bps"].sum() == pytest.approx(packet.flows["goodput_bps"].sum(), rel=0.05)


@pytest.mark.parametrize("queue", ["red", "codel", "pie"])
def test_bbr_is_refused_where_its_queue_is_not_known(queue: str) -> None:
    with pytest.raises(RunError, match=r"the queue of link .*: the share and the wait of BBR"):
        both(f'"{queue}"', "bbr", "cubic")


def test_bbr_takes_the_share_that_it_takes_in_the_packet_engine() -> None:
    def share(result: Result) -> float:
        flows = result.flows
        return float(flows.filter(stack="bbr")["goodput_bps"].sum() / flows["goodput_bps"].sum())

    packet, predicted = both('{ limit = "0.5 bdp" }', "bbr", "cubic")
    assert share(predicted) == pytest.approx(share(packet), abs=0.1)
    assert set(predicted.flows["limited_by"]) == {"BBR", "beside BBR"}


def test_bbr3_flows_share_among_themselves_as_in_the_packet_engine() -> None:
    packet, predicted = both('{ limit = "1 bdp" }', "bbr3", "bbr3")
    assert packet.flows["goodput_bps"].to_list() == pytest.approx(predicted.flows["goodput_bps"].to_list(), rel=0.2)
    assert predicted.flows["goodput_bps"].sum() == pytest.approx(packet.flows["goodput_bps"].sum(), rel=0.03)


SPRAYED = """
[topology]
nodes = [{ name = "a" }, { name = "m" }, { name = "n" }, { name = "b" }]
links = [
    { source = "a", target = "m", delay = "DELAY" }, { source = "m", target = "b" },
    { source = "a", target = "n" }, { source = "n", target = "b" },
]
capacity = "5Mbps"
delay = "5ms"
[routing.spray]
metric = "hop-count"
paths = { disjoint = 2 }
select = "round-robin"
per = "packet"
[[traffic]]
from = "a"
to = "b"
stack = "newreno"
routing = "spray"
[run]
duration = "60s"
warm_up = "10s"
"""


@pytest.mark.parametrize(("delay", "full"), [("8ms", True), ("35ms", False)])
def test_packets_in_turn_fill_paths_whose_delays_are_too_near_for_duplicate_acks(delay: str, full: bool) -> None:
    # A path sends a packet in 2.4 ms: one overtakes within the 3 ms by which the delays differ, and more than three within 30 ms.
    scenario = Scenario.from_toml(SPRAYED.replace("DELAY", delay))
    packet, predicted = (
        execute(scenario, engine=engine, show_progress=False).flows for engine in ("packet", "predict")
    )
    assert (packet["goodput_bps"][0] > 9e6) == full
    assert predicted["goodput_bps"][0] == pytest.approx(packet["goodput_bps"][0], rel=0.05 if full else 0.5)
    assert predicted["limited_by"][0] == "sprayed, counting"


@pytest.mark.parametrize(("select", "within"), [("round-robin", 1.2), ("random", 2.5)])
def test_a_sprayed_flow_loses_to_one_that_fills_the_queue_of_one_of_its_paths(select: str, within: float) -> None:
    """Packets over the other path overtake the packets in this queue."""
    text = SPRAYED.replace("DELAY", "5ms").replace('"round-robin"', f'"{select}"')
    text += """
    [routing.one]
    metric = "hop-count"
    [[traffic]]
    from = "a"
    to = "b"
    stack = "newreno"
    routing = "one"
    """
    packet, predicted = (
        execute(Scenario.from_toml(text), engine=engine, show_progress=False).flows for engine in ("packet", "predict")
    )
    sprayed, hashed = packet["goodput_bps"]
    assert sprayed < 0.2 * hashed
    assert sprayed / within < predicted["goodput_bps"][0] < sprayed * within
    assert predicted["low_bps"][0] < sprayed < predicted["high_bps"][0]
    assert predicted["goodput_bps"][1] == pytest.approx(hashed, rel=0.1)


DRAWN = (
    SPRAYED.replace("DELAY", "5ms")
    .replace("round-robin", "random")
    .replace('capacity = "5Mbps"', 'capacity = "30Mbps"')
)


def test_losses_at_random_and_packets_taken_for_lost_reduce_the_window_together() -> None:
    lossy = DRAWN
    for relay in "mn":
        lossy += f"""
        [[impairments]]
        link = ["{relay}", "b"]
        loss = 1e-3
        one_way = true
        """
    tolerant = lossy.replace('stack = "newreno"', 'stack = "mprc"')
    both, drawn, lost = (
        execute(Scenario.from_toml(text), engine="predict", show_progress=False).flows["goodput_bps"][0]
        for text in (lossy, DRAWN, tolerant)
    )
    assert both < 0.92 * min(drawn, lost)
    packet = execute(Scenario.from_toml(lossy), engine="packet", show_progress=False).flows
    assert both == pytest.approx(packet["goodput_bps"][0], rel=0.12)


def test_paced_packets_wait_less_in_the_queues_of_drawn_paths() -> None:
    paced = "[stacks.paced]\npreset = 'newreno'\npacing = true\n"
    scenario = Scenario.from_toml(DRAWN.replace('stack = "newreno"', 'stack = "paced"') + paced)
    packet, predicted = (
        execute(scenario, engine=engine, show_progress=False).flows["goodput_bps"][0]
        for engine in ("packet", "predict")
    )
    assert predicted == pytest.approx(packet, rel=0.08)


def test_vegas_over_two_packets_of_queue_carries_no_more_than_the_link() -> None:
    text = """
    [topology]
    nodes = [{ name = "a" }, { name = "l" }, { name = "r" }, { name = "b" }]
    links = [
        { source = "a", target = "l", capacity = "1Gbps", delay = "0.1ms" },
        { source = "l", target = "r", capacity = "20Mbps", delay = "10ms" },
        { source = "r", target = "b", capacity = "1Gbps", delay = "0.1ms" },
    ]
    queue = { limit = "2 packets" }
    [[traffic]]
    from = "a"
    to = "b"
    stack = "vegas"
    flows = 4
    [run]
    duration = "30s"
    """
    predicted = execute(Scenario.from_toml(text), engine="predict", show_progress=False).flows
    assert predicted["goodput_bps"].sum() < 20e6


def test_few_flows_of_one_rtt_over_a_drop_tail_queue_are_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Phases decide about their shares (Floyd and Jacobson 1992); other delays end that."""
    text = """
    [topology]
    links = [
        { source = "a", target = "left", delay = "5ms", capacity = "1Gbps" },
        { source = "b", target = "left", delay = "DELAY", capacity = "1Gbps" },
        { source = "left", target = "right", delay = "10ms", capacity = "10Mbps" },
    ]
    queue = { limit = "50 packets" }
    [[traffic]]
    from = ["a", "b"]
    to = "right"
    stack = "newreno"
    [run]
    duration = "60s"
    """
    said = {}
    for delay in ("5ms", "15ms"):
        path = tmp_path / f"{delay}.toml"
        path.write_text(text.replace("DELAY", delay))
        assert status(["run", str(path), "--engine", "predict"]) == 0
        said[delay] = capsys.readouterr().err
    assert "fewer than ten flows of one RTT share the drop-tail queue of left -> right" in said["5ms"]
    assert "one RTT" not in said["15ms"]


def test_paths_that_are_drawn_shorten_only_the_queues_that_swing() -> None:
    """Behind a slow link that all packets cross, two fast paths leave its queue as one path does."""
    document = {
        "topology": {
            "nodes": [{"name": name} for name in "abcde"],
            "links": [
                {"source": "a", "target": "b", "capacity": "10Mbps", "delay": "10ms"},
                *({"source": "b", "target": relay, "capacity": "1Gbps", "delay": "1ms"} for relay in "cd"),
                *({"source": relay, "target": "e", "capacity": "1Gbps", "delay": "1ms"} for relay in "cd"),
            ],
        },
        "traffic": [{"from": "a", "to": "e", "stack": "mprc", "routing": "all"}],
        "run": {"duration": "60s"},
    }
    srtt_s = []
    for routing in ({"paths": {"disjoint": 2}, "select": "random", "per": "packet"}, {}):
        scenario = Scenario({**document, "routing": {"all": {"metric": "hop-count", **routing}}})
        srtt_s.append(execute(scenario, engine="predict", show_progress=False).flows["srtt_s"][0])
    assert srtt_s[0] == pytest.approx(srtt_s[1], rel=1e-3)


class Interrupted(PredictedRun):
    """A prediction during which Ctrl-C comes, and that is not made until it has come."""

    came = False

    def advance(self, events: int) -> bool:
        """Take a moment more."""
        if not self.came:
            self.came = True
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return True


def test_a_prediction_that_is_stopped_has_no_rows_and_the_same_call_makes_it(tmp_path: Path) -> None:
    """An unfinished prediction has no results."""
    scenario = Scenario.from_toml(SCENARIO)
    stopped = execute(
        scenario,
        engine="predict",
        directory=tmp_path,
        make=Interrupted,
        jobs=1,
        report=write_report,
        show_progress=False,
    )
    assert stopped.interrupted
    assert len(stopped.flows) == 0
    assert (tmp_path / "report.html").exists()
    again = execute(scenario, engine="predict", directory=tmp_path, show_progress=False)
    assert not again.interrupted
    assert len(again.flows) == 4


def test_the_length_of_the_run_is_no_completion_time_of_the_truth() -> None:
    """Of flows that start by 90 s of 120, an unfinished one is null. A flow without a size, and one that starts later, do not count."""
    nan = float("nan")
    flows = {
        "size_bytes": np.array([nan, 1e3, 1e3, 1e3]),
        "start_s": np.array([0.0, 1.0, 90.0, 119.0]),
        "fct_s": np.array([nan, 0.5, nan, nan]),
    }
    assert completions([flows, flows]) == [0.5, None] * 2
