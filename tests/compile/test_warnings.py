"""Valid values that may be mistakes: ``check`` and ``run`` warn, with the place and the remedy."""

import json
from pathlib import Path

import pytest

from anabranch.cli import DONE, status
from anabranch.scenario import Scenario
from tests.scenarios import LINE


def warnings(text: str) -> dict[str, str]:
    """The message of each warning by its field."""
    return {record["field"]: record["message"] for record in Scenario.from_toml(text).warnings.as_records()}


TWICE = LINE.replace("]\n\n[[", '    { source = "B", target = "A", capacity = "2Mbps", delay = "5ms" },\n]\n\n[[', 1)
ADDED = "1 parallel link added to the capacity of the first link between their nodes: links[2] (B -> A)"


def test_without_a_trap_there_is_no_warning() -> None:
    assert warnings(LINE) == {}


def test_parallel_links_are_a_warning_of_check_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(TWICE)
    assert status(["check", str(file)]) == DONE
    printed = capsys.readouterr()
    assert printed.err == f"warning: {file}:3: topology: {ADDED}\n"
    assert printed.out.endswith("no problems\n")
    assert status(["check", str(file), "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["problems"] == []
    assert [warning["message"] for warning in document["warnings"]] == [ADDED]
    assert status(["run", str(file), "--json"]) == DONE
    assert ADDED in capsys.readouterr().err


def test_a_capacity_that_no_link_takes_is_a_warning() -> None:
    """A sweep of ``topology.capacity`` over links with their own capacity would compare equal runs."""
    unused = LINE.replace("[topology]\n", '[topology]\ncapacity = "50Mbps"\n')
    assert warnings(unused) == {
        "topology.capacity": "has no effect: every link has a capacity of its own; topology.override changes it"
    }
    assert warnings(unused.replace(', capacity = "10Mbps"', "")) == {}
    assert warnings(LINE.replace("[topology]\n", '[topology]\ndelay = "50ms"\n')) == {}, "of the link without a delay"


@pytest.mark.parametrize(("limit", "is_reached"), [(65, False), (66, True)])
def test_a_threshold_that_the_queue_never_reaches_is_a_warning(limit: int, is_reached: bool) -> None:
    """Marks are for packets that find 65 packets, and a queue of 65 has no room for such."""
    text = LINE.replace(
        "[topology]\n", f'[topology]\nqueue = {{ discipline = "ecn-threshold", limit = "{limit} packets" }}\n'
    )
    text = text.replace("[[traffic]]", '[stacks]\nnewreno = { preset = "newreno", ecn = true }\n\n[[traffic]]')
    marks = Scenario.from_toml(text).run().links["marks"].sum()
    assert (marks > 0) == is_reached
    assert ("topology.queue.mark" in warnings(text)) != is_reached
    assert "topology.override[0].queue.minimum" in warnings(
        LINE.replace("[topology]", '[topology]\noverride = [{ queue = { discipline = "red", limit = "5 packets" } }]')
    )


BETWEEN_ALL = """
topology = {{ generate = "{kind}" }}
traffic = [{{ from = "all", to = {to}, size = "1kB", stack = "cubic" }}]
"""


def test_all_nodes_of_a_network_with_switches_are_a_warning() -> None:
    fat_tree = BETWEEN_ALL.format(kind="fat-tree", to='["all", "hosts"]')
    message = 'includes 20 nodes that only forward, such as c1; "hosts" are the other 16'
    assert warnings(fat_tree) == {"traffic[0].from": message}
    assert warnings(fat_tree.replace('from = "all"', 'from = "hosts"')) == {}
    assert set(warnings(BETWEEN_ALL.format(kind="dumbbell", to='"all"'))) == {"traffic[0].from", "traffic[0].to"}
    assert warnings(BETWEEN_ALL.format(kind="grid", to='"all"')) == {}


@pytest.mark.parametrize(
    "traffic", ['matrix = { s1 = { d1 = "1Mbps" } }', 'trace = "src,dst,start,size\\ns1,d1,0,1000\\n"']
)
def test_a_file_of_flows_between_hosts_names_no_switch(traffic: str) -> None:
    text = f'topology = {{ generate = "dumbbell" }}\ntraffic = [{{ {traffic}, stack = "cubic" }}]'
    assert warnings(text) == {}
    assert set(Scenario.from_toml(text).run(seeds=[1]).flows["src"]) == {"s1"}


def test_flows_of_a_trace_after_the_end_are_a_warning() -> None:
    traffic = """[[traffic]]
start = "1s"
trace = '''
src,dst,start,size
A,B,0,1kB
A,B,500ms,1kB
A,B,1,1kB
'''
[run]
duration = "2.1s"
"""
    text = LINE[: LINE.index("[[traffic]]")] + traffic
    assert warnings(text) == {}
    message = (
        '2 of 3 flows start after the end of the run (duration "1.5s"), such as trace: line 3; the last starts at 2s'
    )
    assert warnings(text.replace("2.1s", "1.5s")) == {"traffic[0].trace": message}
    stopped = message.replace('the end of the run (duration "1.5s")', 'their stop "1500ms"')
    assert warnings(text.replace("trace =", 'stop = "1500ms"\ntrace =')) == {"traffic[0].trace": stopped}


@pytest.mark.parametrize(
    ("given", "keys"), [('sample = "3s"', ["sample"]), ('recompute = "3s"', ["recompute"]), ("", [])]
)
def test_links_that_are_measured_after_the_end_are_a_warning(given: str, keys: list[str]) -> None:
    default = 'sample = "1s", recompute = "1s"'
    changed = default.replace(f'{given.split(" ")[0]} = "1s"', given) if given else default
    text = LINE + f'[routing.measured]\nmetric = "delay"\nlink_state = {{ {changed} }}\n'
    found = [key for key in warnings(text) if key.startswith("routing")]
    assert found == [f"routing.measured.link_state.{key}" for key in keys]


def test_a_sample_after_the_end_is_a_warning() -> None:
    text = LINE.replace('duration = "2s"', 'duration = "2s"\nsample = "2001ms"')
    assert list(warnings(text)) == ["run.sample"]
    assert Scenario.from_toml(text).run().series_flows.height == 0
    text = text.replace("2001ms", "2s")
    assert warnings(text) == {}
    assert Scenario.from_toml(text).run().series_flows.height == 1


def test_staggered_flows_after_the_end_are_a_warning() -> None:
    """The last of four flows starts at 0.5 s + 3 x 0.5 s, when the run of 2 s ends."""
    text = LINE.replace("bulk = true", 'bulk = true\nflows = 4\nstart = "500ms"\nstagger = "500ms"')
    message = '1 of 4 flows start after the end of the run (duration "2s"); the last starts at 2s'
    assert warnings(text) == {"traffic[0].stagger": message}
    assert Scenario.from_toml(text).run().flows["start_s"].to_list() == [0.5, 1.0, 1.5]
    assert warnings(text.replace("500ms", "499ms")) == {}
    stopped = text.replace("bulk = true", 'bulk = true\nstop = "1501ms"')
    assert warnings(stopped) == {
        "traffic[0].stagger": message.replace('the end of the run (duration "2s")', 'their stop "1501ms"')
    }


@pytest.mark.parametrize("command", ["routes", "topology show", "robust --hose 1Mbps"])
def test_commands_on_topologies_warn_as_well(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.csv"
    file.write_text("source,target,capacity,delay,loss\nA,B,1Mbps,1ms,1%\nA,B,1Mbps,1ms,1%\n")
    name, *options = command.split()
    words = [name, str(file), *options] if name != "topology" else ["topology", "show", str(file)]
    assert status(words) == DONE
    assert f"{file}: warning: 1 parallel link added" in capsys.readouterr().err


# Hosts h and i at switches a and d; between those, two ways: over b and over c. Host j at d as well.
TWO_WAYS = """
[topology]
links = [
    { source = "h", target = "a" }, { source = "a", target = "b" }, { source = "b", target = "d" },
    { source = "a", target = "c" }, { source = "c", target = "d" }, { source = "d", target = "i" },
    { source = "d", target = "j" },
]
[[traffic]]
from = "h"
to = "i"
"""


@pytest.mark.parametrize("by", ["disjoint", "shortest"])
def test_paths_that_are_not_there(by: str) -> None:
    """Paths count from the first node with a choice, so that a host with one access link has those of its switch."""
    asking = TWO_WAYS + f'[routing.spray]\nselect = "random"\npaths = {{ {by} = N }}\n'
    assert warnings(asking.replace("N", "2")) == {}
    assert warnings(asking.replace("N", "3")) == {
        "routing.spray.paths": "1 of 1 pairs with traffic have fewer, such as h to i with 2 paths; "
        "ask for fewer, or add links"
    }
    between_neighbours = asking.replace("N", "2").replace('from = "h"', 'from = "j"')
    assert "such as j to i with 1 path;" in warnings(between_neighbours)["routing.spray.paths"]
    assert warnings(asking.replace("N", "3").replace('to = "i"', 'to = "i"\nrouting = "ospf"')) == {}, (
        "nobody takes them"
    )


def test_spraying_from_a_host_with_one_access_link_uses_both_ways() -> None:
    """The 100 Mbit/s of each way are less than what two of them carry together, behind access links of 1 Gbit/s."""
    fast = TWO_WAYS.replace('target = "a" }', 'target = "a", capacity = "1Gbps" }', 1)
    fast = fast.replace('target = "i" }', 'target = "i", capacity = "1Gbps" }')
    text = fast + 'transport = "udp"\nconstant = "180Mbps"\n[run]\nduration = "200ms"\nwarm_up = "100ms"\n'
    text += '[routing.spray]\nselect = "round-robin"\npaths = { disjoint = 2 }\n'
    assert Scenario.from_toml(text).run().flows["goodput_bps"][0] == pytest.approx(180e6, rel=0.01)


def test_a_least_timeout_below_the_granularity() -> None:
    stack = TWO_WAYS + '[stacks.x]\npreset = "linux-cubic"\n'
    assert warnings(stack) == {}
    assert 'give rto_granularity = "10ms" as well' in warnings(stack + 'min_rto = "10ms"\n')["stacks.x.min_rto"]
    assert warnings(stack + 'min_rto = "10ms"\nrto_granularity = "5ms"\n') == {}
    assert warnings(stack + 'min_rto = "300ms"\n') == {}


@pytest.mark.parametrize("paths", ["", "paths = { disjoint = 2 }"])
def test_a_round_trip_beyond_the_greatest_fast_rto(paths: str) -> None:
    """There over the slower way, 1 + 250 + 1 ms at most; back over the faster one, 1 + 50 + 1 ms: 304 ms."""
    text = TWO_WAYS
    for ends, delay in (("ha", "1ms"), ("ab", "125ms"), ("bd", "125ms"), ("ac", "25ms"), ("cd", "25ms"), ("di", "1ms")):
        link = f'source = "{ends[0]}", target = "{ends[1]}"'
        text = text.replace(link, f'{link}, delay = "{delay}"')
    text += f'stack = "x"\nrouting = "spray"\n[routing.spray]\nselect = "random"\n{paths}\n'
    text += '[stacks.x]\npreset = "mprc"\ndetection = { name = "fast-rto", max_rto = "RTO" }\n'
    assert warnings(text.replace("RTO", "304ms")) == {
        "traffic[0].stack": "is FastRTO of at most 304ms, and the round trip of h to i takes 304ms: each segment there expires before its "
        'ACK; give detection = { name = "fast-rto", max_rto = "608ms" }'
    }
    assert warnings(text.replace("RTO", "305ms")) == {}
    assert warnings(text.replace("RTO", "304ms").replace('"fast-rto", max_rto = "304ms"', '"dup-ack"')) == {}


MARKS = 'queue = "ecn-threshold"'


def test_dctcp_in_queues_that_do_not_mark() -> None:
    text = TWO_WAYS.replace("]\n[[", "]\nqueue = QUEUE\n[[") + 'stack = "dctcp"\n'
    found = warnings(text.replace("QUEUE", '"drop-tail"'))
    assert found == {
        "traffic[0].stack": "is DCTCP, and the drop-tail queue from h to a does not mark its packets; "
        'give such queues queue = "ecn-threshold"'
    }
    assert "give such queues ecn = true" in warnings(text.replace("QUEUE", '"red"'))["traffic[0].stack"]
    for marking in ('"ecn-threshold"', '{ discipline = "codel", ecn = true }'):
        assert warnings(text.replace("QUEUE", marking)) == {}
    assert warnings(text.replace("QUEUE", '"drop-tail"').replace('stack = "dctcp"', 'stack = "cubic"')) == {}


def test_queues_that_cannot_fill_need_not_mark() -> None:
    """One sender at 10 Gbit/s and a bottleneck of 1 Gbit/s: only there packets wait."""
    text = """
    topology = { generate = { kind = "dumbbell", pairs = PAIRS }, queue = "drop-tail", override = [
        { link = ["left", "right"], queue = "ecn-threshold", capacity = "RATE" },
    ] }
    traffic = [{ from = ["s1", "s2"], to = ["d1", "d2"], pattern = "pairs", stack = "dctcp" }]
    """
    assert warnings(text.replace("PAIRS", "2").replace("RATE", "1Gbps")) == {}
    of_senders = warnings(text.replace("PAIRS", "2").replace("RATE", "10Gbps"))["traffic[0].stack"]
    assert "the drop-tail queue from s1 to left" in of_senders
    fan_in = text.replace("PAIRS", "2").replace("RATE", "15Gbps").replace(MARKS, 'queue = "drop-tail"')
    assert "from left to right" in warnings(fan_in + '\n[stacks.dctcp]\npreset = "dctcp"\n')["traffic[0].stack"]


def test_dctcp_without_ecn() -> None:
    text = TWO_WAYS + '[stacks.x]\ncongestion = "dctcp"\n'
    assert "give ecn = true" in warnings(text)["stacks.x"]
    assert warnings(text + 'ecn = true\n[topology.queue]\ndiscipline = "ecn-threshold"\n') == {}


def test_prague_needs_l4s_accecn_and_a_queue_that_marks() -> None:
    text = TWO_WAYS.replace("]\n[[", "]\nqueue = QUEUE\n[[") + 'stack = "prague"\n'
    found = warnings(text.replace("QUEUE", '"drop-tail"'))["traffic[0].stack"]
    assert "is Prague, and the drop-tail queue" in found
    assert found.endswith('give such queues queue = "dualpi2"')
    assert warnings(text.replace("QUEUE", '"dualpi2"')) == {}
    bare = TWO_WAYS + 'stack = "x"\n[stacks.x]\ncongestion = "prague"\n[topology.queue]\ndiscipline = "dualpi2"\n'
    assert "without L4S and AccECN" in warnings(bare)["stacks.x"]


def test_ect1_is_for_controls_that_answer_marks_by_their_share() -> None:
    text = TWO_WAYS + 'stack = "x"\n[stacks.x]\ncongestion = "NAME"\necn = true\nl4s = true\necn_echo = "accecn"\n'
    text += '[topology.queue]\ndiscipline = "dualpi2"\n'
    assert "RFC 9331 section 4.3" in warnings(text.replace("NAME", "cubic"))["stacks.x.l4s"]
    assert warnings(text.replace("NAME", "dctcp")) == {}
    with pytest.raises(ValueError, match="ecn must be true beside l4s"):
        warnings(text.replace("NAME", "dctcp").replace("ecn = true", "ecn = false"))


CONVERGING = '[routing.ospf]\nreconverge = "1s"\n'


def test_pairs_without_a_path_after_failures_if_they_have_traffic() -> None:
    def failing(*ends: str, more: str = CONVERGING) -> dict[str, str]:
        events = "".join(f'[[events]]\nat = "10s"\nfail = ["{end[0]}", "{end[1]}"]\n' for end in ends)
        return warnings(TWO_WAYS + events + more)

    assert failing("ab") == {}
    assert failing("dj") == {}, "j has no traffic"
    message = 'leaves a pair with traffic without a path of routing "ospf" for the rest of the run, from '
    assert failing("di") == {"events[0].fail": f"{message}h to i; repair it, or add a link"}
    assert failing("ab", "cd") == {"events[1].fail": f"{message}h to i; repair it, or add a link"}
    repaired = CONVERGING + '[[events]]\nat = "12s"\nrepair = ["d", "i"]\n'
    assert "until 12s" in failing("di", more=repaired)["events[0].fail"]
    assert failing("di", more=repaired.replace('"12s"', '"10s"')) == {}
    # Over b or over c: without reconverge the routes stay as they were.
    (stays,) = (failing("ab", more="") | failing("ac", more="")).values()
    assert stays.endswith('from h to i; give [routing.ospf] reconverge = "1s"')
    assert failing("ab", "ac", more='[[events]]\nat = "10s"\nreroute = true\n')["events[1].fail"]
    assert failing("ab", more='[[events]]\nat = "10s"\nreroute = true\n') == {}
    # The path of ACKs alone, and traffic that ends before.
    one_way = '[[events]]\nat = "10s"\none_way = true\nfail = ["i", "d"]\n'
    assert "leaves a pair with ACKs" in warnings(TWO_WAYS + one_way)["events[0].fail"]
    assert warnings(TWO_WAYS + 'stop = "9s"\n' + one_way) == {}


def test_given_paths_and_spraying_keep_what_is_left() -> None:
    events = '[[events]]\nfail = ["a", "b"]\n'
    spray = '[routing.x]\nselect = "random"\npaths = '
    ways = ('["h", "a", "b", "d", "i"]', '["h", "a", "c", "d", "i"]')
    for paths in ("{ disjoint = 2 }", f"[{ways[0]}, {ways[1]}]"):
        assert warnings(TWO_WAYS + events + spray + paths) == {}
    alone = warnings(TWO_WAYS + events + f'[routing.x]\npaths = [{ways[0]}]\nreconverge = "1s"\n')
    assert 'without a path of routing "x"' in alone["events[0].fail"]


def test_lists_of_different_lengths_at_one_key_of_several_entries() -> None:
    other = '[[traffic]]\nfrom = "i"\nto = "h"\nstack = ["bbr", "vegas", "reno"]\n'
    text = TWO_WAYS + 'stack = ["cubic", "reno"]\n' + other
    assert warnings(text) == {
        "traffic[1].stack": "has 3 values and traffic[0].stack has 2, so the two lists multiply; give both the same values "
        "for them to vary together"
    }
    assert warnings(text.replace('"bbr", "vegas", "reno"', '"cubic", "reno"')) == {}
    assert warnings(text.replace('"bbr", "vegas", "reno"', '"bbr", "vegas"')) == {}, "every sender against every other"
    several_keys = Scenario.from_toml(TWO_WAYS + 'stack = ["cubic", "reno"]\nflows = [1, 2, 3]\n')
    assert several_keys.warnings.problems == []
    assert several_keys.size == "6 variants (2 stack x 3 flows)"


def test_warnings_stand_in_all_that_a_run_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(TWICE + 'warm_up = "0s"\n')
    assert status(["run", str(file), "--json"]) == DONE
    assert [warning["message"] for warning in json.loads(capsys.readouterr().out)["warnings"]] == [ADDED]
    assert status(["run", str(file), "--out", str(tmp_path / "out")]) == DONE
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    record = {"file": str(file), "line": 3, "field": "topology", "value": None, "message": ADDED}
    assert manifest["warnings"] == [record]
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"<strong>Warning.</strong> {file}:3: topology: 1 parallel link added" in page


UNUSED = [
    ('preset = "linux-cubic"', 'slow_start = "hystart++"'),
    ('preset = "bbr"', 'slow_start = "hystart++"'),
    ('preset = "bbr3"', "pacing = true"),
    ('preset = "linux-bbr"', "restart_after_idle = false"),
    ('preset = "newreno", sack = false', 'spurious = "dsack"'),
    ('preset = "mprc"', "f_rto = true"),
    ('preset = "newreno"', 'ecn_echo = "exact"'),
    ('preset = "newreno"', 'ecn_echo = "accecn"'),
    ('preset = "newreno"', "hz = 1000"),
    ('preset = "bbr"', "segmentation_offload = false"),
]


@pytest.mark.parametrize(("stack", "unused"), UNUSED)
def test_a_key_of_a_stack_without_effect_is_a_warning(stack: str, unused: str) -> None:
    """Bursts with idle times over a lossy link have the same results with and without the key."""
    text = LINE.replace("[[traffic]]", f"[stacks]\nmine = {{ {stack} }}\n\n[[impairments]]\nloss = 0.02\n\n[[traffic]]")
    text = text.replace("bulk = true", 'on-off = { peak = "8Mbps" }').replace('stack = "newreno"', 'stack = "mine"')
    with_key = text.replace(stack, f"{stack}, {unused}")
    key = unused.split(" = ")[0]
    message = warnings(with_key)[f"stacks.mine.{key}"]
    assert message.startswith("has no effect: ")
    assert warnings(text) == {}
    plain, other = (Scenario.from_toml(one).run().flows for one in (text, with_key))
    assert plain["retransmits"].sum() > 0
    assert plain.equals(other)


def test_what_a_preset_says_itself_is_no_warning() -> None:
    stacks = '[stacks]\nmine = { preset = "linux-cubic", detection = "fast-rto" }\n\n[[traffic]]'
    assert warnings(LINE.replace("[[traffic]]", stacks).replace('stack = "newreno"', 'stack = "mine"')) == {}


def test_rack_without_sack_is_a_warning_unless_linux_replaces_it() -> None:
    def of(preset: str) -> dict[str, str]:
        stacks = f'[stacks]\nmine = {{ preset = "{preset}", sack = false }}\n\n[[traffic]]'
        return warnings(LINE.replace("[[traffic]]", stacks).replace('stack = "newreno"', 'stack = "mine"'))

    assert set(of("bbr")) == {"stacks.mine"}
    assert of("linux-bbr") == {}


@pytest.mark.parametrize(
    ("stack", "is_early"),
    [
        ('preset = "newreno", ack = "delayed"', True),
        ('preset = "newreno", ack = "stretch"', True),
        ('preset = "newreno", ack = "delayed", min_rto = "1s"', False),
        ('preset = "newreno", ack = { name = "delayed", timer = "100ms" }', False),
        ('preset = "newreno", ack = "quick-ack"', False),
        ('preset = "linux-cubic", ack = "delayed"', False),
        ('preset = "mprc"', False),
        ('preset = "mprc", ack = "delayed"', True),
        ('preset = "mprc", ack = "modified-delayed"', True),
        ('preset = "mprc", ack = "stretch"', True),
        ('preset = "mprc", ack = "quick-ack"', False),
    ],
)
def test_a_timeout_before_the_ack_of_a_lone_segment_is_a_warning(stack: str, is_early: bool) -> None:
    """Nothing is lost, and the one segment of the flow is sent again."""
    text = LINE.replace("[[traffic]]", f"[stacks]\nmine = {{ {stack} }}\n\n[[traffic]]").replace(
        'stack = "newreno"', 'stack = "mine"'
    )
    text = text.replace("bulk = true", 'size = "1kB"')
    assert (Scenario.from_toml(text).run().flows["spurious_retransmits"].sum() > 0) == is_early
    assert ("stacks.mine.ack" in warnings(text)) == is_early


def test_demands_that_are_left_out_are_a_warning() -> None:
    matrix = 'matrix = { A = { B = "1Mbps", C = "40bps" }, B = { C = "60bps" } }'
    text = LINE.replace('from = "A"\nto = "C"\nbulk = true', f"{matrix}\nscale = 0.01")
    assert warnings(text) == {"traffic[0].scale": "leaves out 1 of 3 demands, such as A -> C: they are below 1 bit/s"}
    flows = Scenario.from_toml(text).run().flows
    assert set(zip(flows["src"], flows["dst"], strict=True)) == {("A", "B"), ("B", "C")}
    assert warnings(text.replace("0.01", "0.1")) == {}


LOSS = "\n[[impairments]]\nlink = {link}\nloss = {loss}\n"
FAILURE = '\n[[events]]\nat = "{at}"\nfail = ["A", "B"]\n'
REPAIR = '\n[[events]]\nat = "{at}"\nrepair = ["B", "A"]\n'


@pytest.mark.parametrize(
    ("unused", "others", "field"),
    [
        (LOSS.format(link='["A", "B"]', loss=0.5), LOSS.format(link='"all"', loss=0.01), "impairments[0]"),
        (REPAIR.format(at="0.1s"), FAILURE.format(at="1s"), "events[0].repair"),
        (FAILURE.format(at="1.1s"), FAILURE.format(at="1s") + REPAIR.format(at="1.2s"), "events[0].fail"),
    ],
)
def test_an_event_or_impairment_without_effect_is_a_warning(unused: str, others: str, field: str) -> None:
    found = warnings(LINE + unused + others)
    assert found[field].startswith("has no effect: ")
    with_it, without = (Scenario.from_toml(text).run().flows for text in (LINE + unused + others, LINE + others))
    assert with_it.equals(without)
    assert not any(message.startswith("has no effect") for message in warnings(LINE + others).values())


def test_a_round_trip_as_long_as_the_run_is_a_warning() -> None:
    """The pair meets 10 ms of propagation each way; an ACK of what is sent at the start arrives after 20 ms."""
    text = LINE.replace('duration = "2s"', 'duration = "20ms"')
    said = warnings(text)
    message = 'has no time: a round trip of A to C takes 20ms, and the run ends 20ms after the start; give [run] a longer duration than "20ms"'
    assert said["traffic[0]"].startswith(message)
    assert warnings(LINE.replace('duration = "2s"', 'duration = "21ms"')) == {}
    late = LINE.replace("bulk = true", 'bulk = true\nstart = "1990ms"')
    assert "the run ends 10ms after the start" in warnings(late)["traffic[0]"]
    datagrams = text.replace("bulk = true", 'transport = "udp"\nconstant = "1Mbps"').replace('stack = "newreno"\n', "")
    assert warnings(datagrams) == {}, "they arrive after 10 ms"
    assert "the way of A to C takes 10ms" in warnings(datagrams.replace('"20ms"', '"10ms"'))["traffic[0]"]
    several = text.replace("bulk = true\nstack", 'matrix = { A = { B = "1Mbps", C = "1Mbps" } }\nstack').replace(
        'from = "A"\nto = "C"\n', ""
    )
    assert set(warnings(several)) == {"traffic[0]"}


def test_a_delay_of_seconds_in_a_file_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(
        '{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b", "delay": 1.5}], "directed": false}'
    )
    text = '[topology]\nfrom = "n.json"\n[[traffic]]\nfrom = "a"\nto = "b"\n'
    (problem,) = Scenario.from_toml(text, directory=tmp_path).warnings.problems
    assert problem.path == ("topology",)
    assert problem.message == 'delay without a unit is in seconds: the longest is 1.5 s; write units, such as "5ms"'


@pytest.mark.parametrize(
    ("loss", "is_great"), [("0.5", True), ("0.49", False), ('"60%"', True), ('{ model = "periodic", every = 2 }', True)]
)
def test_a_loss_of_half_of_all_packets_is_a_warning(loss: str, is_great: bool) -> None:
    said = warnings(LINE.replace("[[traffic]]", f"[[impairments]]\nloss = {loss}\n[[traffic]]"))
    assert (set(said) == {"impairments[0].loss"}) == is_great
    event = LINE.replace("[[traffic]]", f'[[events]]\nat = "1s"\nimpair = {{ loss = {loss} }}\n[[traffic]]')
    assert (set(warnings(event)) == {"events[0].impair.loss"}) == is_great


FAST = """
[topology]
links = [{ source = "A", target = "B", capacity = "10Gbps", delay = "5ms" }]
queue = { discipline = "drop-tail", limit = "100 packets" }
[[traffic]]
from = "A"
to = "B"
stack = "cubic"
"""


def test_a_queue_far_shorter_than_long_flows_need_is_a_warning() -> None:
    """10 Gbit/s times 10 ms are 12.5 MB; a tenth of that is 834 packets of 1500 bytes, by the root of the number of flows."""
    message = warnings(FAST)["traffic[0].stack"]
    assert message.startswith(
        "meets a queue of 150000 bytes from A to B, less than a tenth of the 12500000 bytes that 1 long flow"
    )
    assert warnings(FAST.replace("100 packets", "834 packets")) == {}
    assert set(warnings(FAST.replace("100 packets", "833 packets"))) == {"traffic[0].stack"}
    many = FAST + "flows = 16\n"
    assert set(warnings(many.replace("100 packets", "208 packets"))) == {"traffic[0].stack"}
    assert warnings(many.replace("100 packets", "209 packets")) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('stack = "cubic"', 'stack = "bbr"'),
        ('stack = "cubic"', 'stack = "vegas"'),
        ('stack = "cubic"', 'stack = "linux-cubic"'),  # whose window of 3 MiB is less than the path holds
        ('stack = "cubic"', 'stack = "cubic"\nsize = "1MB"'),
        ('"drop-tail"', '"ecn-threshold", mark = 65'),
        ("[[traffic]]", "[[impairments]]\nloss = 1e-5\n[[traffic]]"),
        ('"5ms"', '"20us"'),
    ],
)
def test_short_queues_are_no_trap_for_other_flows(old: str, new: str) -> None:
    text = FAST.replace(old, new)
    if "ecn-threshold" in new:
        text = text.replace('stack = "cubic"', 'stack = "x"\n[stacks.x]\npreset = "dctcp"')
    assert warnings(text) == {}
