"""Predictions of what wins on real networks: BBR over several paths, flowlets, bbr3 with losses; and of sums of flows, and over hashes."""

from pathlib import Path

import pytest

from anabranch import Scenario
from anabranch.cli.entry import status
from anabranch.results.result import Result
from anabranch.runs import execute

PATHS = """
[topology]
nodes = [{ name = "a" }, { name = "m" }, { name = "n" }, { name = "b" }]
links = [
    { source = "a", target = "m", delay = "DELAY", capacity = "RATE" }, { source = "m", target = "b", capacity = "100Mbps" },
    { source = "a", target = "n" }, { source = "n", target = "b", capacity = "100Mbps" },
]
capacity = "4Mbps"
delay = "5ms"
queue = { limit = "40 packets" }
[routing.several]
metric = "hop-count"
paths = { disjoint = 2 }
ROUTING
[stacks.sender]
STACK
[[traffic]]
name = "all"
from = "a"
to = "b"
stack = "sender"
routing = "several"
flows = FLOWS
[run]
duration = "20s"
warm_up = "8s"
"""


def both(
    stack: str, routing: str, *, delay: str = "5ms", rate: str = "4Mbps", flows: int = 1, loss: str = ""
) -> tuple[Result, Result]:
    text = PATHS.replace("DELAY", delay).replace("RATE", rate).replace("ROUTING", routing)
    text = text.replace("STACK", stack).replace("FLOWS", str(flows)) + loss
    packet, predicted = (
        execute(Scenario.from_toml(text), engine=engine, show_progress=False) for engine in ("packet", "predict")
    )
    return packet, predicted


IN_TURN = 'select = "round-robin"'


@pytest.mark.parametrize(
    ("stack", "given", "limited_by"),
    [
        # Both paths full, where one has a third more delay and BBR does not count duplicate ACKs.
        ('preset = "bbr"', {"delay": "8ms"}, "BBR, sprayed"),
        # Linux's BBR sends what the slower path lets through, twice; the draft of BBR sends more, and overloads that path.
        ('preset = "linux-bbr"', {"rate": "6Mbps"}, "BBR, sprayed"),
        ('preset = "bbr3"', {"delay": "6ms"}, "BBR, sprayed"),
        ('preset = "bbr"\ndetection = "fast-rto"', {"rate": "6Mbps"}, "BBR, sprayed"),
        # A window of two products of the least RTT is too small for a mean RTT of more than twice that.
        ('preset = "bbr"', {"delay": "60ms"}, "BBR, delays far apart"),
    ],
)
def test_bbr_over_two_paths_in_turn_is_near_the_packet_engine(
    stack: str, given: dict[str, str], limited_by: str
) -> None:
    packet, predicted = both(stack, IN_TURN, **given)
    assert predicted.flows["limited_by"].to_list() == [limited_by]
    truth, found = (result.flows["goodput_bps"][0] for result in (packet, predicted))
    within = 0.15 if limited_by == "BBR, sprayed" else 2.0
    assert found == pytest.approx(truth, rel=within)
    assert predicted.flows["low_bps"][0] <= truth <= predicted.flows["high_bps"][0]


def test_duplicate_acks_take_the_rate_of_bbr_where_paths_overtake() -> None:
    packet, predicted = both('preset = "bbr"\ndetection = "dup-ack"', IN_TURN, delay="20ms")
    truth, found = (result.flows["goodput_bps"][0] for result in (packet, predicted))
    assert found == pytest.approx(truth, rel=0.4)
    assert (
        found < 0.8 * both('preset = "bbr"\ndetection = "fast-rto"', IN_TURN, delay="20ms")[1].flows["goodput_bps"][0]
    )


@pytest.mark.parametrize(("gap", "paths"), [("0.1ms", 2.0), ("200ms", 1.0)])
def test_flowlets_are_packets_with_a_short_gap_and_flows_with_a_long_one(gap: str, paths: float) -> None:
    """A path of 4 Mbit/s has a packet every 3 ms: shorter gaps end between any two of them."""
    packet, predicted = both('preset = "linux-bbr"', f'select = "round-robin"\nper = {{ flowlet = "{gap}" }}')
    truth, found = (result.flows["goodput_bps"][0] for result in (packet, predicted))
    assert found == pytest.approx(truth, rel=0.15)
    assert found == pytest.approx(paths * 4e6 * 0.95, rel=0.1)
    assert predicted.flows["limited_by"].to_list() == ["flowlets"]


def test_two_flows_with_long_flowlets_take_a_path_each() -> None:
    packet, predicted = both('preset = "linux-cubic"', 'select = "round-robin"\nper = { flowlet = "200ms" }', flows=2)
    truth, found = (result.flows["goodput_bps"].sum() for result in (packet, predicted))
    assert found == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.025])
def test_bbr3_keeps_what_losses_at_random_leave(loss: float) -> None:
    text = f"""
[topology]
nodes = [{{ name = "a" }}, {{ name = "b" }}]
links = [{{ source = "a", target = "b" }}]
capacity = "10Mbps"
delay = "20ms"
[[impairments]]
link = ["a", "b"]
loss = {loss}
one_way = true
[[traffic]]
from = "a"
to = "b"
stack = "bbr3"
[run]
duration = "40s"
warm_up = "10s"
seeds = [1, 2, 3]
"""
    packet, predicted = (
        execute(Scenario.from_toml(text), engine=engine, show_progress=False) for engine in ("packet", "predict")
    )
    assert predicted.flows["goodput_bps"].mean() == pytest.approx(packet.flows["goodput_bps"].mean(), rel=0.2)
    assert predicted.flows["limited_by"].unique().to_list() == ["BBR, random loss"]


def test_a_refused_routing_that_no_traffic_uses_is_not_refused() -> None:
    extra = '[routing.measured]\nmetric = "delay"\nlink_state = {}\n'
    text = PATHS.replace("DELAY", "5ms").replace("RATE", "4Mbps").replace("ROUTING", IN_TURN)
    text = text.replace("STACK", 'preset = "linux-cubic"').replace("FLOWS", "1") + extra
    execute(Scenario.from_toml(text), engine="predict", show_progress=False)


def test_the_sum_of_all_flows_of_a_link_is_known_better_than_each_of_them() -> None:
    """Flows over one link take from one another, and their sum is its capacity. Of a half of them, it is not."""
    groups = "".join(
        f'[[traffic]]\nname = "{name}"\nfrom = "a"\nto = "b"\nstack = "linux-cubic"\nflows = 4\n' for name in ("x", "y")
    )
    text = f"""
[topology]
nodes = [{{ name = "a" }}, {{ name = "b" }}]
links = [{{ source = "a", target = "b" }}]
capacity = "20Mbps"
delay = "20ms"
{groups}
[run]
duration = "20s"
warm_up = "5s"
"""
    predicted = execute(Scenario.from_toml(text), engine="predict", show_progress=False)
    sums = {one["traffic"]: one for one in predicted.manifest["runs"][0]["sums"]}
    assert {name: one["flows"] for name, one in sums.items()} == {None: 8, "x": 4, "y": 4}
    flows = predicted.flows
    for name, one in sums.items():
        of = flows if name is None else flows.filter(traffic=name)
        assert one["goodput_bps"] == pytest.approx(of["goodput_bps"].sum())
        assert of["low_bps"].sum() <= one["low_bps"] <= one["goodput_bps"] <= one["high_bps"] <= of["high_bps"].sum()

    def width(name: str | None) -> float:
        return (sums[name]["high_bps"] - sums[name]["low_bps"]) / sums[name]["goodput_bps"]

    assert width(None) < 0.5 * width("x")


def test_over_hashes_the_sum_is_that_of_the_draws() -> None:
    """Two flows over two paths by hash: half of the draws take one path, so the mean is 1.5 paths."""
    _, predicted = both('preset = "linux-cubic"', 'select = "hash"', flows=2)
    (one,) = predicted.manifest["runs"][0]["sums"]
    path = 4e6 * 0.957
    assert one["hash_mean_bps"] == pytest.approx(1.5 * path, rel=0.2)
    assert one["hash_p5_bps"] == pytest.approx(path, rel=0.05)
    assert one["hash_p95_bps"] == pytest.approx(2 * path, rel=0.05)


def test_a_run_says_its_sums(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "sums.toml"
    text = PATHS.replace("DELAY", "5ms").replace("RATE", "4Mbps").replace("ROUTING", 'select = "hash"')
    path.write_text(text.replace("STACK", 'preset = "linux-cubic"').replace("FLOWS", "2"))
    assert status(["run", str(path), "--engine", "predict", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().err
    assert "all, the sum of 2 flows: " in shown
    assert "over the hashes" in shown
