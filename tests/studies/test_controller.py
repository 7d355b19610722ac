"""``anabranch controller``: a scenario's measured routes on a live network, and what it refuses."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.scenario import Scenario
from anabranch.studies.testbed.controlled import LiveControl
from tests.linux_leftovers import assert_no_process_of

SCENARIO = """
title = "triangle"
[topology]
links = [
  { source = "A", target = "B", delay = "2ms", capacity = "10Mbps" },
  { source = "B", target = "C", delay = "2ms", capacity = "10Mbps" },
  { source = "A", target = "C", delay = "40ms", capacity = "10Mbps" },
]
[routing]
measured = { metric = "delay", paths = { shortest = 1 }, link_state = { sample = "2s", recompute = "2s", window = 1 } }
spread = { metric = "hop-count", paths = { disjoint = 2 }, select = "hash" }
configured = { metric = "hop-count", paths = { shortest = 1 } }
[[traffic]]
name = "probes"
from = "all"
to = "all"
pattern = "neighbours"
poisson = "200kbps"
transport = "udp"
[[traffic]]
name = "measured flows"
from = "A"
to = "C"
flows = 2
bulk = true
start = "14s"
routing = "measured"
[[traffic]]
name = "spread flows"
from = "A"
to = "C"
flows = 16
bulk = true
start = "14s"
stack = "linux-reno"
routing = "spread"
[[events]]
at = "5s"
change = { link = ["A", "B"], delay = "100ms" }
[run]
duration = "20s"
"""


@pytest.mark.slow("twenty seconds in real time")
@pytest.mark.parametrize(("to", "needs"), [("openflow", "switches"), ("linux", "routers"), ("frr", "frr_routers")])
def test_the_route_follows_a_delay_that_grows(
    to: str,
    needs: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """By way of B first; once A-B takes 100 ms, directly, as the delays say. STAMP measures both delays one way. Each traffic group has the ports of its
    routing, and its own congestion control. A select group, or a route with two next hops, spreads flows over two paths."""
    request.getfixturevalue(needs)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    assert status(["controller", str(file), "--to", to, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    idle = [
        route for route in document["routes"] if route["source"] == "A" and route["time_s"] < 13
    ]  # later, flows fill a queue
    assert [route["path"] for route in idle] == [["A", "B", "C"], ["A", "C"]]
    assert idle[0]["time_s"] < 5 < idle[1]["time_s"]
    for route in document["routes"]:
        assert route["cost_low"] <= route["cost"] <= route["cost_high"]
    before_load = [link for link in document["links"] if link["time_s"] < 13]
    for ends, delays in ((("A", "B"), (0.002, 0.100)), (("A", "C"), (0.040, 0.040))):
        own = [link["delay_s"] for link in before_load if (link["source"], link["target"]) == ends]
        assert own[0] == pytest.approx(delays[0], abs=5e-3)
        assert own[-1] == pytest.approx(delays[1], abs=5e-3)
    measured, spread = document["flows"]
    assert (measured["congestion_control"], spread["congestion_control"]) == ("cubic", "reno")
    assert spread["first_port"] - measured["first_port"] == 0x1000
    assert spread["goodput_bps"] + measured["goodput_bps"] > 10e6  # one path has 10 Mbit/s: a group uses both
    assert_no_process_of(temporary)
    assert not list(Path("/run").glob("anabranch-*"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (('"delay", paths', '"delay", xpaths'), "xpaths"),
        ((", paths = { shortest = 1 }, link_state", ", link_state"), "give paths = { shortest = 1 }"),
        (('recompute = "2s"', 'recompute = "4s"'), "give recompute the value of sample"),
        (('select = "hash"', 'select = "round-robin"'), 'give select = "hash"'),
        (('routing = "measured"', 'routing = "configured"'), "give the routing of the traffic a link_state"),
        (("flows = 2\nbulk = true", 'flows = 2\nsize = "1MB"'), "bulk data without a size and a stop"),
        (('poisson = "200kbps"\ntransport = "udp"', "bulk = true"), "the probes"),
        (('stack = "linux-reno"', 'stack = "mprc"'), "the kernel engine runs Linux's TCP"),
        (('duration = "20s"', 'duration = ["20s", "21s"]'), "has 2 variants"),
    ],
)  # fmt: skip
def test_what_a_live_network_has_not_is_refused_before_it_is_built(
    changed: tuple[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scenario.toml"
    assert changed[0] in SCENARIO
    file.write_text(SCENARIO.replace(*changed))
    assert status(["controller", str(file)]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.slow("thirty seconds in real time")
@pytest.mark.parametrize("igp", ["ospf", "isis"])
def test_the_route_follows_a_delay_that_frrs_routers_advertise(
    igp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], frr_routers: None
) -> None:
    """RFC 7471 and RFC 8570: the delay goes by STAMP into link-params, by ospfd or isisd to the first router, and from its database to the controller."""
    later = SCENARIO.replace('at = "5s"', 'at = "14s"').replace('"14s"\nrouting', '"28s"\nrouting')
    later = later.replace('start = "14s"\nstack', 'start = "28s"\nstack').replace(
        'duration = "20s"', 'duration = "29s"'
    )
    file = tmp_path / "scenario.toml"
    file.write_text(later)
    assert status(["controller", str(file), "--to", "frr", "--link-state", igp, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    routes = [one for one in document["routes"] if one["source"] == "A" and one["time_s"] < 27]
    assert [one["path"] for one in routes] == [["A", "B", "C"], ["A", "C"]]
    assert routes[0]["time_s"] < 14 < routes[1]["time_s"]
    last = {(one["source"], one["target"]): one for one in document["links"] if one["time_s"] < 27}
    for ends, delay_s in ((("A", "B"), 0.100), (("A", "C"), 0.040)):
        assert last[ends]["delay_s"] == pytest.approx(delay_s, rel=0.15)  # changes of a tenth are not advertised
        assert last[ends]["delay_low_s"] == last[ends]["delay_s"] == last[ends]["delay_high_s"]
    assert not list(Path("/run").glob("anabranch-*"))


def test_a_killed_controller_leaves_no_daemon_of_frr_behind(tmp_path: Path, frr_routers: None) -> None:
    """zebra, staticd and ospfd change their user, which Linux takes as a reason to let them outlive a killed process."""
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    command = [sys.executable, "-m", "anabranch", "controller", str(file), "--to", "frr", "--link-state", "ospf"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wanted, end = 3 * 3, time.monotonic() + 30
    while len(_daemons()) < wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert len(_daemons()) == wanted
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while _daemons() or list(Path("/run").glob("anabranch-*")):
        assert time.monotonic() < end, _daemons()
        time.sleep(0.05)


def _daemons() -> list[Path]:
    """FRR's daemons of a live network."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes()
        except OSError:
            continue  # it has ended
        if line.startswith(b"/usr/lib/frr/") and b"/run/anabranch-" in line:
            found.append(file)
    return found


def test_advertised_link_state_needs_frr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    assert status(["controller", str(file), "--link-state", "isis"]) == 2
    assert "--link-state isis: needs routers of FRR: give --to frr" in capsys.readouterr().err


def test_unequal_weights_and_frr_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frr_routers: None
) -> None:
    file = tmp_path / "scenario.toml"
    paths = '{ paths = [["A", "B", "C"], ["A", "C"], ["C", "B", "A"], ["C", "A"]], weights = [2, 1, 2, 1], per = "flow", select = "weighted" }'
    file.write_text(SCENARIO.replace('{ metric = "hop-count", paths = { disjoint = 2 }, select = "hash" }', paths))
    assert status(["controller", str(file), "--to", "frr"]) == 1
    assert "unequal weights, which FRR's static routes have not" in capsys.readouterr().err


def test_probes_have_the_scenarios_rate_as_far_as_one_thread_sends_them() -> None:
    own = LiveControl.of(Scenario.from_toml(SCENARIO)).plan.probing
    assert (own.rate_bps, own.interval_s, own.samples) == (200_000, 2, 1)
    fast = LiveControl.of(Scenario.from_toml(SCENARIO.replace("200kbps", "50Mbps"))).plan.probing
    assert fast.packets / fast.interval_s * 6 == pytest.approx(3000)
