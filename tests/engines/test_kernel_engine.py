"""The kernel engine: Linux's TCP crosses the emulated network, fills the tables, obeys its settings, and leaves nothing behind.

Nothing here depends on how fast the machine is: no test asserts a rate that a late packet could change by much.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from anabranch import Scenario
from anabranch.cli.entry import status
from anabranch.compile.run import compile_run
from anabranch.engines.kernel import hosts, multipath, settings
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.kernel.linux_network.system_calls import ticks_per_second
from anabranch.engines.kernel.settings import StackError, linux_stack
from anabranch.engines.kernel.simulation import KernelSimulation
from anabranch.results.limiting import LIMITS
from anabranch.results.result import Result
from anabranch.runs import execute
from tests.linux_leftovers import assert_nothing_left, network_namespaces

HEAD = """
[topology]
nodes = [{ name = "a" }, { name = "r" }, { name = "s" }, { name = "b" }]
links = [{ source = "a", target = "r" }, { source = "r", target = "b" }, { source = "a", target = "s" }, { source = "s", target = "b" }]
capacity = "5Mbps"
delay = "5ms"
queue = { limit = "50 packets" }
"""
BULK = (
    HEAD
    + """
[[traffic]]
from = "a"
to = "b"
size = "300 kB"
stack = "linux-cubic"
[run]
duration = "3s"
sample = "100ms"
"""
)


def run(text: str, seed: int = 1) -> Result:
    """Run it however late packets are."""
    make = partial(KernelSimulation, max_lateness_s=60.0)
    return execute(Scenario.from_toml(text), engine="kernel", seeds=[seed], make=make, show_progress=False)


@pytest.mark.usefixtures("namespaces")
def test_a_flow_of_linux_arrives_whole_and_fills_the_tables() -> None:
    result = run(BULK)
    flow = result.flows.row(0, named=True)
    # 300 kB in segments of 1448 bytes (1460 less the timestamps).
    assert (flow["delivered_bytes"], flow["size_bytes"]) == (300_000, 300_000)
    assert flow["segments_sent"] >= 208
    assert flow["slowdown"] >= 1
    assert flow["min_rtt_s"] >= 0.02
    assert flow["undone"] is None
    there = result.links.filter(src="r", dst="b").row(0, named=True)
    assert there["packets"] >= 208
    assert there["bytes"] >= 300_000 + 208 * 52
    assert result.links.filter(src="s", dst="b")["packets"][0] == 0
    assert result.series_flows.filter(flow=0)["cwnd_segments"].max() > 10
    assert result.series_links.height == 8 * 30


@pytest.mark.usefixtures("namespaces")
def test_flows_of_a_trace_and_of_a_matrix_cross_links_that_vary(tmp_path: Path) -> None:
    """The network is the packet engine's, so what changes there changes for Linux, too."""
    (tmp_path / "table.csv").write_text("time,delay,capacity\n0s,15ms,8Mbps\n1s,25ms,0\n1.2s,5ms,4Mbps\n")
    text = f"""{HEAD}
[[topology.override]]
capacity = {{ table = "{tmp_path}/table.csv" }}
delay = {{ table = "{tmp_path}/table.csv", interpolate = true }}
jitter = {{ up_to = "2ms", reorder = true }}
[[traffic]]
trace = "src,dst,start,size\\na,b,0,40kB\\nb,a,500ms,30kB\\na,b,5,1kB\\n"
[[traffic]]
matrix = {{ a = {{ b = "200kbps" }} }}
short = {{ sizes = [[1000, 0], [5000, 1]] }}
[run]
duration = "3s"
"""
    flows = run(text).flows
    trace = flows.filter(traffic="traffic-1")
    assert trace["delivered_bytes"].to_list() == [40_000, 30_000]
    # Two links there and two back, with 15 to 25 ms each before 1.2 s.
    assert trace["min_rtt_s"][0] >= 0.06
    matrix = flows.filter(traffic="traffic-2")
    assert matrix.height > 20
    assert matrix.filter(pl.col("start_s") < 2)["fct_s"].null_count() == 0


@pytest.mark.usefixtures("namespaces")
def test_flows_of_linux_have_queues_of_their_own() -> None:
    """A flow of TCP fills its queue, from which packets are dropped. The queue of datagrams beside it loses none."""
    text = f"""{HEAD}
[[topology.override]]
link = ["a", "r"]
capacity = "1Mbps"
[[topology.override]]
link = ["s", "b"]
capacity = "2Mbps"
queue = {{ discipline = "fq", flow_limit = 8 }}
[[traffic]]
from = "a"
to = "b"
stack = "linux-cubic"
[[traffic]]
from = "a"
to = "b"
transport = "udp"
packet = "100 bytes"
constant = "16kbps"
stop = "2s"
[run]
duration = "3s"
"""
    result = run(text)
    datagrams = result.flows.row(1, named=True)
    assert datagrams["segments_sent"] > 30
    assert datagrams["delivered_bytes"] == 100 * datagrams["segments_sent"]
    assert result.links.filter(src="s", dst="b")["queue_drops"][0] > 0


@pytest.mark.usefixtures("namespaces")
def test_the_manifest_names_the_engine_its_lateness_and_what_linux_was_asked_for() -> None:
    result = run(BULK)
    (facts,) = result.manifest["runs"]
    assert result.manifest["engine"] == "kernel"
    assert facts["lateness"]["packets"] > 300
    assert 0 <= facts["lateness"]["mean_s"] <= facts["lateness"]["max_s"]
    assert facts["lateness"]["packets_refused_by_devices"] == 0
    (stack,) = facts["stacks"]
    assert stack["socket"]["TCP_CONGESTION"] == "cubic"
    assert stack["sysctls"]["net.ipv4.tcp_sack"] == "1"
    assert stack["route"] == {"initcwnd": "10"}
    assert stack["sysctls"]["net.ipv4.tcp_rto_min_us"] == "200000"
    assert facts["linux"] == os.uname().release


@pytest.mark.usefixtures("namespaces")
def test_spraying_is_exact_and_losses_are_those_of_the_model() -> None:
    text = BULK.replace('stack = "linux-cubic"', 'stack = "linux-reno"\nrouting = "spray"').replace("300 kB", "600 kB")
    sprayed = '[routing]\nspray = { paths = { disjoint = 2 }, select = "round-robin", per = "packet" }\n'
    lossy = '[[impairments]]\nlink = ["r", "b"]\none_way = true\nloss = { model = "periodic", every = 10 }\n'
    links = run(text + sprayed + lossy).links
    first, second = (links.filter(src="a", dst=relay)["packets"][0] for relay in "rs")
    assert first + second >= 400
    assert abs(first - second) <= 1
    last = links.filter(src="r", dst="b").row(0, named=True)
    assert last["losses"] == last["packets"] // 10


@pytest.mark.usefixtures("namespaces")
def test_all_applications_send_what_they_should() -> None:
    traffic = """
[[traffic]]
name = "constant"
from = "a"
to = "b"
constant = "1Mbps"
stop = "1s"
stack = "linux-reno"
[[traffic]]
name = "datagrams"
from = "b"
to = "a"
transport = "udp"
poisson = "1Mbps"
packet = "500 bytes"
stop = "1s"
[[traffic]]
name = "short"
from = "a"
to = "b"
short = { arrivals = "20/s", sizes = [[100, 0.0], [20000, 1.0]] }
stop = "1s"
stack = "linux-reno"
[run]
duration = "2s"
"""
    scenario = Scenario.from_toml(HEAD + traffic)
    linux = run(HEAD + traffic).flows
    simulated = scenario.run(seed=1).flows
    # The same flows at the same times with the same sizes.
    same = ["flow", "traffic", "src", "dst", "start_s", "size_bytes"]
    assert linux.select(same).equals(simulated.select(same))
    for flows in (linux, simulated):
        short = flows.filter(traffic="short")
        assert short.height > 5
        assert short["delivered_bytes"].to_list() == short["size_bytes"].to_list()
    # 1 Mbit/s for a second: 86.3 segments of 1448 bytes.
    constant = linux.filter(traffic="constant").row(0, named=True)
    assert constant["segments_sent"] - constant["retransmits"] == 87
    # The same random draws: as many datagrams of 500 bytes.
    datagrams = linux.filter(traffic="datagrams").row(0, named=True)
    assert datagrams["segments_sent"] == simulated.filter(traffic="datagrams")["segments_sent"][0]
    assert datagrams["delivered_bytes"] == 500 * datagrams["segments_sent"]


@pytest.mark.usefixtures("namespaces")
def test_linux_knows_what_the_receive_window_limits_and_numbered_datagrams_their_order() -> None:
    text = """
[topology]
links = [
  { source = "a", target = "r", capacity = "10Mbps", delay = "5ms" },
  { source = "r", target = "b", capacity = "10Mbps", delay = "5ms" },
  { source = "a", target = "s", capacity = "10Mbps", delay = "5ms" },
  { source = "s", target = "b", capacity = "10Mbps", delay = "35ms" },
]
[routing]
single = { metric = "delay" }
spray = { metric = "hop-count", select = "round-robin", per = "packet" }
[stacks.narrow]
preset = "linux-cubic"
receive_window = "20 kB"
[[traffic]]
from = "a"
to = "b"
routing = "single"
stack = "narrow"
[[traffic]]
from = "b"
to = "a"
routing = "spray"
transport = "udp"
constant = "600kbps"
[run]
duration = "3s"
warm_up = "1s"
"""
    window, datagrams = run(text).flows.rows(named=True)
    assert window["limited_by_receive_window"] > 0.5
    assert sum(window[name] for name in LIMITS) <= 1
    assert window["reordered_segments"] is None
    # One every 20 ms, and every other one 30 ms later: it comes after the next one.
    assert datagrams["reordered_segments"] == pytest.approx(50, abs=5)
    assert datagrams["limited_by_receive_window"] is None


@pytest.mark.usefixtures("namespaces")
def test_a_failed_link_stops_linux_until_routes_follow() -> None:
    text = (
        BULK.replace("300 kB", "900 kB")
        + """
[routing]
ospf = { metric = "ospf", reconverge = "200ms" }
[[events]]
at = "500ms"
fail = ["r", "b"]
"""
    )
    result = run(text)
    assert result.flows["delivered_bytes"][0] == 900_000
    assert result.links.filter(src="r", dst="b")["losses"][0] > 0
    assert result.links.filter(src="s", dst="b")["packets"][0] > 0


@pytest.mark.usefixtures("namespaces")
def test_a_capture_has_the_packets_that_linux_sent() -> None:
    result = run(f'capture = [["a", "r"]]\n{BULK}')
    (record,) = result.manifest["runs"][0]["captures"]
    content = (result.directory / record["file"]).read_bytes()
    # An Ethernet-free IPv4 header from 10.0.0.1 to 10.0.0.4, TCP.
    assert content.count(bytes([10, 0, 0, 1, 10, 0, 0, 4])) >= 208


@pytest.mark.usefixtures("linux", "namespaces")
def test_a_program_is_the_control_of_its_flows() -> None:
    text = BULK.replace('stack = "linux-cubic"', 'stack = "ours"')
    stack = '[stacks]\nours = { preset = "linux-reno", congestion = { program = "anabranch_reno" } }\n'
    result = run(text + stack)
    assert result.flows["delivered_bytes"][0] == 300_000
    assert result.manifest["runs"][0]["stacks"][0]["socket"]["TCP_CONGESTION"] == "anabranch_reno"


@pytest.mark.usefixtures("namespaces")
def test_a_control_in_python_keeps_only_its_own_variant_from_running(tmp_path: Path) -> None:
    """The other variant has the stack too, but no traffic uses it. The network needs no control, and does not load it."""
    (tmp_path / "gentle.py").write_text("class Gentle: ...\n")
    text = BULK.replace('stack = "linux-cubic"', 'stack = ["py", "linux-cubic"]').replace("300 kB", "30 kB")
    text += '[stacks]\npy = { preset = "linux-reno", congestion = { python = "gentle.py:Gentle" } }\n'
    scenario = Scenario.from_toml(text.replace('"3s"', '"1s"'), directory=tmp_path)
    make = partial(KernelSimulation, max_lateness_s=60.0)
    result = execute(scenario, engine="kernel", make=make, show_progress=False, leave_out=True)
    assert result.flows["stack"].to_list() == ["linux-cubic"]
    (refused,) = result.refused
    assert refused["variant"] == {"stack": "py"}
    assert refused["why"] == (
        "stacks.py: stack 'py', congestion: the kernel engine runs Linux's TCP: it takes no control in Python; write an eBPF program"
    )


@pytest.mark.usefixtures("linux", "namespaces")
def test_a_run_with_a_program_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    path = tmp_path / "killed.toml"
    stack = '[stacks]\nours = { preset = "linux-reno", congestion = { program = "anabranch_reno" } }\n'
    path.write_text(HEAD + KILLED.replace("linux-cubic", "ours") + stack)
    process = start(path, tmp_path / "out")
    time.sleep(3)
    process.kill()
    process.wait()
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("linux", "namespaces")
def test_a_detector_without_duplicate_acks_leaves_losses_to_the_timer() -> None:
    text = BULK.replace('stack = "linux-cubic"', 'stack = "ours"')
    stack = """
[stacks.ours]
preset = "linux-reno"
congestion = { program = "anabranch_mprc" }
detection = "fast-rto"
sack = false
[[impairments]]
link = ["a", "r"]
loss = { model = "list", packets = [60] }
"""
    result = run(text + stack)
    flow = result.flows.row(0, named=True)
    assert flow["delivered_bytes"] == 300_000
    assert flow["timeouts"] == 1
    assert result.manifest["runs"][0]["stacks"][0]["sysctls"]["net.ipv4.tcp_reordering"] == "1000000"


@pytest.mark.usefixtures("namespaces")
def test_a_late_run_is_refused_and_says_what_to_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "late.toml"
    path.write_text(BULK.replace('"3s"', '"1s"'))
    command = ["run", str(path), "--engine", "kernel", "--out", str(tmp_path / "out")]
    assert status([*command, "--max-lateness", "1ns"]) == 1
    said = capsys.readouterr().err
    assert "too late" in said
    assert "--max-lateness" in said
    assert "Lower the rates" in said
    assert status([*command, "--max-lateness", "late"]) == 2
    assert status([*command, "--max-lateness", "60s", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["engine"] == "kernel"
    assert document["lateness"]["bound_s"] == 60


KILLED = """
[[traffic]]
from = "a"
to = "b"
bulk = true
stack = "linux-cubic"
[run]
duration = "60s"
"""


def start(path: Path, out: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "anabranch", "run", str(path), "--engine", "kernel", "--out", str(out)]
    return subprocess.Popen([*command, "--max-lateness", "60s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


STACKS = [
    "linux-cubic",
    pytest.param(
        "linux-mptcp", marks=pytest.mark.skipif(multipath.missing() is not None, reason="needs Multipath TCP")
    ),
]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.usefixtures("namespaces")
def test_a_run_that_is_killed_leaves_nothing_behind(stack: str, tmp_path: Path) -> None:
    path = tmp_path / "killed.toml"
    path.write_text(HEAD + KILLED.replace("linux-cubic", stack))
    before = network_namespaces()
    moments = random.Random(7)
    for number in range(int(os.environ.get("KERNEL_KILLS", "2"))):
        process = start(path, tmp_path / str(number))
        time.sleep(moments.uniform(0.5, 2.0))
        process.kill()
        process.wait()
        assert_nothing_left(str(path), before)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.usefixtures("namespaces")
def test_an_interrupted_run_keeps_what_there_was(stack: str, tmp_path: Path) -> None:
    path, out = tmp_path / "stopped.toml", tmp_path / "out"
    path.write_text(HEAD + KILLED.replace("linux-cubic", stack))
    before = network_namespaces()
    process = start(path, out)
    while process.poll() is None and network_namespaces() == before:  # on a busy machine, the program starts slowly
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    result = Result.load(out)
    assert result.interrupted
    assert result.flows["delivered_bytes"][0] > 0
    assert_nothing_left(str(path), before)


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ('congestion = "cubic"', "follows"),
        ('preset = "linux-cubic"\ncongestion = "newreno"', "linux-reno"),
        ('preset = "linux-cubic"\ncongestion = "kikolo"', 'no "kikolo"'),
        ('preset = "linux-cubic"\ndetection = "dup-ack"', "set sack = false"),
        ('preset = "linux-cubic"\ndetection = "tcp-pr"\nsack = false', 'no "tcp-pr"'),
        ('preset = "linux-cubic"\nack = "delayed"', "quick-ack"),
        ('preset = "linux-cubic"\nslow_start = "hystart++"', "slow_start"),
        ('preset = "linux-cubic"\nmin_rto = "50ms"', "rto_granularity"),
        ('preset = "linux-cubic"\nmin_rto = "50.5ms"\nrto_granularity = "50.5ms"', "whole milliseconds"),
        ('preset = "linux-cubic"\nmax_rto = "300s"', "between 1 s and 120 s"),
        ('preset = "linux-cubic"\ninitial_rto = "3s"', "first timeout of 1 s"),
        ('preset = "linux-cubic"\nhandshake = false', "a handshake"),
        ('preset = "linux-cubic"\ncongestion = { name = "linux-cubic", hystart = false }', "congestion.hystart"),
        ('preset = "linux-cubic"\nack = { name = "quick-ack", max_timer = "50ms" }', "ack.max_timer"),
        ('preset = "linux-cubic"\ndetection = { name = "rack-tlp", max_ack_delay = "1ms" }', "detection.max_ack_delay"),
        (f'preset = "linux-cubic"\nhz = {1000 if ticks_per_second() == 100 else 100}', "hz: .*this Linux has"),
        ('preset = "linux-cubic"\nmss = "87 bytes"', "88 to 32767 bytes, here by 87"),
        ('preset = "linux-cubic"\nmss = "32768 bytes"', "88 to 32767 bytes, here by 32768"),
        ('preset = "linux-cubic"\necn_echo = "exact"', "dctcp"),
        ('preset = "linux-dctcp"\nl4s = true', "ECT\\(1\\)"),
    ],
)
@pytest.mark.usefixtures("namespaces")
def test_what_linux_cannot_do_is_refused_by_name(stack: str, said: str) -> None:
    text = BULK.replace('stack = "linux-cubic"', 'stack = "mine"') + f"[stacks.mine]\n{stack}\n"
    with pytest.raises(ValueError, match=said) as refused:
        run(text)
    assert "stack 'mine'" in str(refused.value)


@pytest.mark.parametrize(("echo", "option"), [("accecn", "2"), ("ace", "0")])
def test_accecn_is_a_setting_of_linux_where_it_has_it(echo: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_ACCURATE_SYSCTL", Path("/"))
    keys = f'preset = "linux-cubic"\necn = true\necn_echo = "{echo}"\n'
    text = BULK.replace('stack = "linux-cubic"', 'stack = "mine"') + f"[stacks.mine]\n{keys}"
    (stack,) = compile_run(Scenario.from_toml(text).cases[0], 1)["stacks"]
    sysctls = linux_stack(stack, lambda _: "").sysctls
    assert (sysctls["net.ipv4.tcp_ecn"], sysctls["net.ipv4.tcp_ecn_option"]) == ("3", option)
    monkeypatch.setattr(settings, "_ACCURATE_SYSCTL", Path("/no-such-file"))
    with pytest.raises(ValueError, match=r"Linux 6\.18"):
        linux_stack(stack, lambda _: "")


@pytest.mark.usefixtures("namespaces")
def test_two_stacks_that_need_different_settings_of_one_host_are_refused() -> None:
    second = '[[traffic]]\nfrom = "a"\nto = "s"\nbulk = true\nstack = "without"\n'
    stacks = '[stacks]\nwithout = { preset = "linux-reno", detection = "dup-ack", sack = false }\n'
    with pytest.raises(ValueError, match=r"host 'a'.*net.ipv4.tcp_"):
        run(BULK + second + stacks)


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("names", [("delays", "answers"), ("answers", "delays")])
def test_a_setting_that_only_one_of_two_stacks_needs_is_refused_in_either_order(names: tuple[str, str]) -> None:
    traffic = "".join(f'[[traffic]]\nfrom = "a"\nto = "b"\nbulk = true\nstack = "{name}"\n' for name in names)
    stacks = '[stacks]\ndelays = { preset = "linux-reno" }\nanswers = { preset = "linux-reno", ack = "immediate" }\n'
    with pytest.raises(ValueError, match=r"host 'a'.*one value of quickack.*its default"):
        run(f'{HEAD}{traffic}{stacks}[run]\nduration = "1s"\n')


@pytest.mark.parametrize(
    "keys",
    [
        'detection = { name = "rack-tlp", threshold = 10, probe = false }',
        'detection = { name = "dup-ack", threshold = 10 }\nsack = false',
        'detection = "rack-tlp"\nack = "immediate"',
        'ack = "quick-ack"\nhz = 250',
        f"hz = {ticks_per_second()}",
    ],
)
def test_parameters_that_linux_follows_or_has_anyway_are_taken(keys: str) -> None:
    text = BULK.replace('stack = "linux-cubic"', 'stack = "mine"') + f'[stacks.mine]\npreset = "linux-cubic"\n{keys}\n'
    (stack,) = compile_run(Scenario.from_toml(text).cases[0], 1)["stacks"]
    assert linux_stack(stack, lambda _: "").congestion == "cubic"


@pytest.mark.parametrize("name", ["linux-cubic", "linux-cdg", "linux-vegas", "linux-bbr", "linux-dctcp"])
def test_every_preset_of_linux_is_taken(name: str) -> None:
    (stack,) = compile_run(Scenario.from_toml(BULK.replace("linux-cubic", name)).cases[0], 1)["stacks"]
    assert linux_stack(stack, lambda _: "").congestion == name.removeprefix("linux-")


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("mss", [88, 32_767])
def test_linux_takes_the_least_and_the_greatest_segment(mss: int) -> None:
    text = BULK.replace('stack = "linux-cubic"', 'stack = "mine"').replace("300 kB", "40 kB")
    stack = f'[stacks]\nmine = {{ preset = "linux-cubic", mss = "{mss} bytes" }}\n'
    assert run(text + stack).flows["delivered_bytes"][0] == 40_000


@pytest.mark.usefixtures("namespaces")
def test_a_receive_window_below_linuxs_first_one_bounds_the_flow() -> None:
    """Late packets only lengthen the round trip of 200 ms. Linux's window exceeds the stack's by a quarter at most."""
    text = BULK.replace('size = "300 kB"\nstack = "linux-cubic"', 'bulk = true\nstack = "mine"').replace("5ms", "50ms")
    stack = '[stacks]\nmine = { preset = "linux-cubic", receive_window = "20 kB" }\n'
    (delivered,) = run(text + stack).flows["delivered_bytes"]
    windows = 3 / 0.2
    assert 5 * 20_000 < delivered < 1.25 * 20_000 * windows


@pytest.mark.usefixtures("namespaces")
def test_the_defaults_of_a_linux_that_lacks_sysctls_are_not_set() -> None:
    newer = {"net.ipv4.tcp_rto_min_us", "net.ipv4.tcp_rto_max_ms", "net.ipv6.conf.all.disable_ipv6"}
    sysctls = {key: value for key, (value, _) in hosts._WITHOUT.items()} | {"net.ipv4.tcp_sack": "1"}
    assert hosts.needed(sysctls, lambda key: key not in newer) == {"net.ipv4.tcp_sack": "1"}
    assert hosts.needed(sysctls, lambda _: True) == sysctls
    with pytest.raises(StackError, match=r"tcp_rto_min_us.* from 6.11 on: it takes 200000 only, not 50000"):
        hosts.needed({"net.ipv4.tcp_rto_min_us": "50000"}, lambda _: False)
    # A Linux without these sysctls behaves as a new namespace of this Linux does.
    with NetworkNamespace() as namespace:
        for key in newer - {"net.ipv6.conf.all.disable_ipv6"}:
            assert namespace.sysctl(key) == hosts._WITHOUT[key][0]


def test_an_engine_in_real_time_makes_one_run_after_another() -> None:
    with pytest.raises(ValueError, match="one run after another"):
        execute(Scenario.from_toml(BULK), engine="kernel", jobs=2)
