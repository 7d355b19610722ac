"""Ratios of two engines: by hand on small tables, 1 for the packet engine beside itself, and the exit status of ``compare``."""

import json
import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from anabranch import Scenario
from anabranch.cli.engine_comparison import compare, picture, tables
from anabranch.cli.entry import status
from anabranch.results.result import Result
from anabranch.results.run_directory import Runs
from anabranch.results.statistics import ratio_of_means, student_t
from anabranch.runs import execute

SCENARIO = """
[topology]
nodes = [{ name = "a" }, { name = "b" }]
links = [{ source = "a", target = "b" }]
capacity = ["5Mbps", "10Mbps"]
delay = "5ms"
[[traffic]]
name = "long"
from = "a"
to = "b"
bulk = true
[[traffic]]
name = "short"
from = "a"
to = "b"
short = { arrivals = "5/s", sizes = [[1000, 0.0], [20000, 1.0]] }
[run]
duration = "8s"
seeds = 2
"""


def run(text: str = SCENARIO) -> Result:
    return execute(Scenario.from_toml(text), show_progress=False)


def test_the_interval_of_a_ratio_is_that_of_cochrans_estimator() -> None:
    ratio, half = ratio_of_means([2.0, 4.0, 6.0], [3.0, 4.0, 5.0])
    assert ratio == 1.0
    # Residuals 1, 0, -1: their standard deviation is 1, over the root of 3 and the mean of 4.
    assert half == pytest.approx(student_t(2) / 3**0.5 / 4)
    assert ratio_of_means([0.0, 0.0], [1.0, 2.0]) == (None, None)
    assert ratio_of_means([2.0], [1.0]) == (0.5, None)


def test_an_engine_beside_itself_differs_nowhere() -> None:
    runs = run().runs
    comparison = compare(("packet", "packet"), runs, runs)
    assert comparison.greatest == 0.0
    # One lasting flow and one group of short ones; the link that carries data. Each with two capacities.
    assert comparison.flows.select("capacity", "traffic", "measure", "seeds").rows() == [
        (capacity, traffic, measure, 2)
        for traffic, measure in (("long", "goodput_bps"), ("short", "fct_s"))
        for capacity in ("5Mbps", "10Mbps")
    ]
    assert comparison.links.select("capacity", "src", "dst").rows() == [("5Mbps", "a", "b"), ("10Mbps", "a", "b")]
    assert len(picture(comparison)["hconcat"]) == 3


def unfinished(runs: Runs, flows: Collection[int]) -> Runs:
    """The same runs, in which these flows with a size do not finish."""
    cut = pl.col("size_bytes").is_not_null() & pl.col("flow").is_in(flows)
    columns = [pl.when(~cut).then(name).alias(name) for name in ("end_s", "fct_s")]
    return replace(runs, flows=runs.flows.with_columns(columns))


def test_a_mean_is_of_flows_that_finish_in_both_engines_and_says_how_many() -> None:
    """One flow does not finish in the first engine, another not in the second: neither is in a mean. Without a tenth of the flows there is no mean."""
    runs = run(
        SCENARIO.replace("[[1000, 0.0]", "[[20000, 0.0]").replace('"5/s"', '"12/s"').replace("seeds = 2", "seed = 4")
    ).runs
    runs = replace(
        runs,
        flows=runs.flows.filter(pl.col("variant") == 0, pl.col("size_bytes").is_null() | pl.col("fct_s").is_not_null()),
    )
    sized = runs.flows.drop_nulls("size_bytes")
    first, second, *_ = sized["flow"].to_list()
    slower = replace(runs, flows=runs.flows.with_columns(pl.col("fct_s") * (1 + pl.col("flow") / 10)))
    comparison = compare(("packet", "kernel"), unfinished(runs, [first]), unfinished(slower, [second]))
    (row,) = comparison.flows.filter(traffic="short").to_dicts()
    common = sized.filter(~pl.col("flow").is_in([first, second]))
    assert (row["finished"], row["sized"]) == (common.height, sized.height)
    assert row["first"] == pytest.approx(common["fct_s"].mean())
    assert row["second"] == pytest.approx((common["fct_s"] * (1 + common["flow"] / 10)).mean())
    cells = dict(zip((table := next(tables(comparison))).head, table.rows[0], strict=True))
    assert cells["finished"] == f"{common.height} of {sized.height}"
    many = sized["flow"].to_list()[: sized.height // 10]
    comparison = compare(("packet", "kernel"), unfinished(runs, many), unfinished(slower, sized["flow"].to_list()[-1:]))
    (row,) = comparison.flows.filter(traffic="short").to_dicts()
    assert [row[name] for name in ("first", "second", "ratio", "seeds")] == [None, None, None, 0]
    assert row["finished"] == sized.height - len(many) - 1
    assert len(picture(comparison)["hconcat"]) == 2


def test_the_goodput_so_far_of_an_unfinished_flow_is_not_held_against_an_interval() -> None:
    scenario = Scenario.from_toml(SCENARIO)
    packet, predicted = (execute(scenario, engine=engine, show_progress=False).runs for engine in ("packet", "predict"))
    sized = packet.flows.drop_nulls("size_bytes")
    assert sized["fct_s"].count() < sized["goodput_bps"].count()
    comparison = compare(("packet", "predict"), packet, predicted)
    assert comparison.inside is not None
    assert comparison.inside[1] == packet.flows.height - sized["fct_s"].null_count()


def test_the_picture_has_utilisation_in_per_cent() -> None:
    """Not in thousandths, such as 980m."""
    runs = run().runs
    vl_convert = pytest.importorskip("vl_convert", reason="pip install 'anabranch[figures]'")
    panel = picture(compare(("packet", "packet"), runs, runs))["hconcat"][-1]
    labels = re.findall(r"<text[^>]*>([\d.]+\S*)</text>", vl_convert.vegalite_to_svg(panel))
    assert labels
    assert all(re.fullmatch(r"[\d.]+%", label) for label in labels)


def test_a_matrix_of_stacks_is_a_column_once() -> None:
    runs = run(SCENARIO.replace('name = "long"', 'name = "long"\nstack = ["reno", "cubic"]')).runs
    comparison = compare(("packet", "packet"), runs, runs)
    assert comparison.flows.filter(traffic="long")["stack"].unique(maintain_order=True).to_list() == ["reno", "cubic"]
    assert "stack" in comparison.links.columns
    assert [table.head[:3] for table in tables(comparison)] == [
        ("capacity", "traffic", "stack"),
        ("capacity", "stack", "link"),
    ]


UDP = (
    SCENARIO[: SCENARIO.index("[[traffic]]")].replace('["5Mbps", "10Mbps"]', '"10Mbps"')
    + """
[[traffic]]
name = "datagrams"
from = "a"
to = "b"
constant = "1Mbps"
transport = "udp"
[run]
duration = "2s"
"""
)


def test_flows_of_udp_are_compared_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flow of UDP has no stack. The run sends 1 Mbit/s, and so the prediction says; the interval and the spread are those of the flow."""
    path = tmp_path / "udp.toml"
    path.write_text(UDP)
    command = ["compare", str(path), "--engines", "packet,predict", "--out", str(tmp_path / "out")]
    assert status([*command, "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    (row,) = document["flows"]
    assert (row["traffic"], row["stack"], row["seeds"]) == ("datagrams", None, 5)
    assert row["ratio"] == pytest.approx(1.0, rel=0.02)
    assert row["low"] < 1e6 < row["high"]
    assert 0 < row["spread"] < 0.02
    assert status(command) == 0
    assert "datagrams  UDP    a -> b  goodput" in capsys.readouterr().out


def test_something_beside_nothing_is_beyond_any_deviation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A source of a packet in 8 s sends none after the warm-up of a short run. The prediction has its rate. The other flow has a ratio near 1."""
    path = tmp_path / "slow.toml"
    slow = UDP.replace('constant = "1Mbps"', 'constant = ["1Mbps", "1kbps"]')
    path.write_text(slow + 'warm_up = "1s"\n')
    command = ["compare", str(path), "--engines", "packet,predict", "--jitter", "0", "--out", str(tmp_path / "out")]
    assert status(command) == 0
    assert status([*command, "--within", "50%"]) == 1
    assert "1 row of the tables: predict has a value above 0 where packet has 0." in capsys.readouterr().err


def test_a_flow_of_which_nothing_arrives_has_no_spread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three runs end before the handshake does. JSON has no word for 0 / 0."""
    path = tmp_path / "short.toml"
    path.write_text(
        """
        [topology]
        links = [{ source = "a", target = "b", capacity = "10Mbps", delay = "30ms" }]
        [[traffic]]
        from = "a"
        to = "b"
        bulk = true
        [run]
        duration = "50ms"
        seeds = 3
        """
    )
    command = ["compare", str(path), "--engines", "packet,predict", "--jitter", "0", "--out", str(tmp_path / "out")]
    assert status([*command, "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    (row,) = document["flows"]
    assert (row["first"], row["ratio"], row["spread"]) == (0, None, None)
    assert status(command) == 0
    assert "nan" not in capsys.readouterr().out


def test_a_comparison_of_nothing_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No flow arrives in 2 s at one in 1,000 s, and no link is loaded."""
    path = tmp_path / "nothing.toml"
    path.write_text(UDP.replace('constant = "1Mbps"\ntransport = "udp"', 'short = { arrivals = "0.001/s" }'))
    command = ["compare", str(path), "--engines", "packet,predict", "--jitter", "0", "--out", str(tmp_path / "out")]
    assert status(command) == 1
    assert "No flow or link has a ratio of predict to packet: nothing was compared." in capsys.readouterr().err


def test_a_result_is_used_again_only_while_the_files_of_the_scenario_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, network = tmp_path / "bulk.toml", tmp_path / "network.csv"
    traffic = '[[traffic]]\nfrom = "a"\nto = "b"\n[run]\nduration = "5s"\nwarm_up = "1s"\n'
    path.write_text(f'[topology]\nfrom = "{network}"\n{traffic}')
    command = ["compare", str(path), "--engines", "packet,predict", "--jitter", "0", "--out", str(tmp_path / "out")]

    def goodput(capacity: str) -> tuple[float, str]:
        network.write_text(f"source,target,capacity,delay\na,b,{capacity},5ms\n")
        assert status([*command, "--json"]) == 0
        shown = capsys.readouterr()
        return json.loads(shown.out)[0]["flows"][0]["first"], shown.err

    slow, _ = goodput("5Mbps")
    assert slow == pytest.approx(5e6, rel=0.1)
    again, said = goodput("5Mbps")
    assert again == slow
    assert said.count("is complete; remove it to run it again") == 2
    fast, said = goodput("10Mbps")
    assert fast == pytest.approx(10e6, rel=0.1)
    assert "is complete" not in said


def test_other_runs_have_the_ratios_of_their_means() -> None:
    slow, fast = run().runs, run(SCENARIO.replace('["5Mbps", "10Mbps"]', '["10Mbps", "11Mbps"]')).runs
    comparison = compare(("slow", "fast"), slow, fast)
    row = comparison.flows.row(by_predicate=(pl.col("traffic") == "long") & (pl.col("capacity") == "5Mbps"), named=True)
    means = [
        runs.flows.filter((pl.col("traffic") == "long") & (pl.col("variant") == 0))["goodput_bps"].mean()
        for runs in (slow, fast)
    ]
    assert (row["first"], row["second"]) == tuple(means)
    assert row["ratio"] == pytest.approx(means[1] / means[0])
    assert 1.5 < row["ratio"] < 2.5
    flows, _links = tables(comparison)
    # The largest deviation comes first.
    ratios = [float(line[-2]) for line in flows.rows]
    assert sorted(ratios, key=lambda ratio: -abs(ratio - 1)) == ratios


@pytest.mark.usefixtures("namespaces")
def test_linux_beside_the_packet_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "both.toml"
    path.write_text(
        SCENARIO.replace('["5Mbps", "10Mbps"]', '"5Mbps"').replace("bulk = true", 'bulk = true\nstack = "linux-cubic"')
    )
    path.write_text(
        path.read_text()
        .replace('name = "short"', 'name = "short"\nstack = "linux-cubic"')
        .replace("seeds = 2", "seed = 1")
    )
    command = ["compare", str(path), "--out", str(tmp_path / "out"), "--max-lateness", "60s"]
    assert status([*command, "--within", "100000%", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["first"], document["second"]) == ("packet", "kernel")
    assert [row["measure"] for row in document["flows"]] == ["goodput_bps", "fct_s"]
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {"packet", "kernel", "flows-kernel.csv", "links-kernel.csv", "comparison-kernel.svg", "report.html"}
    # Complete results are taken as they are, and no ratio of real Linux is exactly 1.
    assert status([*command, "--within", "0"]) == 1
    said = capsys.readouterr()
    assert "packet is complete" in said.err
    assert "kernel is complete" in said.err
    assert "kernel / packet" in said.out


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("second", "said"),
    [
        ('preset = "newreno"', "capacity = 10Mbps: stack 'b', follows: the kernel engine runs Linux's TCP"),
        ('preset = "linux-reno", ack = "immediate"', "stacks 'a' and 'b' are both at host 'a'"),
    ],
)
def test_what_linux_cannot_do_is_refused_before_another_engine_runs(
    second: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.toml"
    stacks = f'[stacks]\na = {{ preset = "linux-reno" }}\nb = {{ {second} }}\n[run]'
    text = SCENARIO.replace("bulk = true", 'bulk = true\nstack = "a"').replace("[run]", stacks)
    path.write_text(text.replace("short = {", 'stack = "b"\nshort = {'))
    assert status(["compare", str(path), "--out", str(tmp_path / "out")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("namespaces")
def test_a_variant_that_linux_cannot_do_is_left_out_of_all_engines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "scenario.toml", tmp_path / "out"
    text = SCENARIO.replace('["5Mbps", "10Mbps"]', '"5Mbps"').replace("seeds = 2", "seed = 1").replace('"8s"', '"1s"')
    head, end = text.split('[[traffic]]\nname = "short"')
    path.write_text(
        head.replace("bulk = true", 'bulk = true\nstack = ["newreno", "linux-cubic"]') + end[end.index("[run]") :]
    )
    assert status(["compare", str(path), "--out", str(out), "--max-lateness", "60s"]) == 1
    said = capsys.readouterr().err
    assert re.search("Left out: .*stack = newreno: stack 'newreno', follows: the kernel engine runs Linux's TCP", said)
    for engine in ("packet", "kernel"):
        assert Result.load(out / engine).flows["stack"].to_list() == ["linux-cubic"]


def test_a_variant_that_cannot_be_predicted_is_left_out_before_a_packet_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other one is compared, and a second time without new runs of packets."""
    path, out = tmp_path / "scenario.toml", tmp_path / "out"
    queue = 'capacity = "5Mbps"\nqueue = ["fq-codel", { limit = "256 kB" }]'
    path.write_text(SCENARIO.replace('capacity = ["5Mbps", "10Mbps"]', queue))
    command = ["compare", str(path), "--engines", "packet,predict", "--jitter", "0", "--out", str(out)]
    assert status(command) == 1
    shown = capsys.readouterr()
    why = "Left out: queue = fq-codel: the predict engine cannot predict the queue discipline fq-codel of link a -> b"
    assert shown.err.index(why) < shown.err.index("packet: 1 variant x 2 seeds")
    assert "1 variant of 2 left out, as said above." in shown.err
    assert "predict / packet: " in shown.out
    assert Result.load(out / "packet").flows["queue"].unique().to_list() == ["limit=256 kB"]
    assert status(command) == 1
    assert "packet is complete" in capsys.readouterr().err


def test_without_a_variant_that_can_be_predicted_no_packet_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "scenario.toml", tmp_path / "out"
    path.write_text(SCENARIO.replace('delay = "5ms"', 'delay = "5ms"\nqueue = "fq-codel"'))
    assert status(["compare", str(path), "--engines", "packet,predict", "--out", str(out)]) == 1
    assert "cannot predict the queue discipline fq-codel" in capsys.readouterr().err
    assert not (out / "packet-jitter-2").exists()


@pytest.mark.parametrize(
    ("within", "said"),
    [
        ("-1%", "--within -1%: must be a share that is not negative"),
        ("-0.2", "--within -20%: must be at least 0%"),
        ("nan", "--within nan%: must be at least 0%"),
        ("20", '--within 20: must be a share of at most 1, such as 0.05; write "20%" for per cent'),
    ],
)
def test_a_deviation_that_no_ratio_can_have_is_refused(
    within: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    assert status(["compare", str(path), "--within", within]) == 2
    assert said in capsys.readouterr().err


def test_a_jitter_without_effect_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    assert status(["compare", str(path), "--engines", "packet,kernel", "--jitter", "5%"]) == 2
    assert "--jitter 5%: only the packet engine beside predict varies" in capsys.readouterr().err


@pytest.mark.parametrize("engines", ["packet", "packet,packet", "packet,ns3", ""])
def test_engines_that_cannot_be_compared_are_refused(
    engines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    assert status(["compare", str(path), "--engines", engines]) == 2
    assert "must be two or more different ones of packet, predict, kernel" in capsys.readouterr().err
