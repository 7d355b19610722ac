"""Collective operations: every host gets every part of the result, in the time that its algorithm takes on idle links."""

import pytest

from anabranch import Scenario, ScenarioError, run
from anabranch.results.summary import tables
from anabranch.scenario.collectives import ALL_REDUCE, check, in_windows

HEAD = """
[topology]
links = [{links}]
[stacks.plain]
handshake = false
initial_window = "1000 packets"
receive_window = "10MB"
follows = "rfc"
congestion = "newreno"
[run]
duration = "{duration}"
warm_up = "0s"
"""


def star(hosts: int, traffic: str, duration: str = "1s") -> Scenario:
    """Hosts h0 and so on around a switch, with links of 100 Mbit/s and 1 ms."""
    links = ", ".join(
        f'{{ source = "h{host}", target = "s", capacity = "100Mbps", delay = "1ms" }}' for host in range(hosts)
    )
    return Scenario.from_toml(HEAD.format(links=links, duration=duration) + f'[[traffic]]\nfrom = "h*"\n{traffic}')


@pytest.mark.parametrize("pattern", ALL_REDUCE)
@pytest.mark.parametrize("hosts", [2, 3, 4, 7, 8, 16])
def test_every_host_gets_the_data_of_all(pattern: str, hosts: int) -> None:
    if ALL_REDUCE[pattern].needs_power_of_two and hosts & (hosts - 1):
        pytest.skip("it needs a power of two")
    messages = list(ALL_REDUCE[pattern].messages(hosts, 1000))
    assert len(messages) == ALL_REDUCE[pattern].count(hosts)
    # A message carries at most what its source had, or had got by the messages that it waits for.
    has: list[set[int]] = []
    for number, message in enumerate(messages):
        assert message.source != message.target
        assert message.size > 0
        assert all(earlier < number and messages[earlier].target == message.source for earlier in message.after)
        has.append({message.source}.union(*(has[earlier] for earlier in message.after)))
    last = [
        set().union(*(has[number] for number, one in enumerate(messages) if one.target == host)) | {host}
        for host in range(hosts)
    ]
    assert last == [set(range(hosts))] * hosts


@pytest.mark.parametrize(
    ("pattern", "bytes_of_a_host"),
    [("all-reduce-ring", 2 * 7 / 8), ("all-reduce-butterfly", 3), ("all-reduce-halving", 2 * 7 / 8)],
)
def test_a_host_sends_what_its_algorithm_needs(pattern: str, bytes_of_a_host: float) -> None:
    sent = [0] * 8
    for message in ALL_REDUCE[pattern].messages(8, 80_000):
        sent[message.source] += message.size
    assert sent == [80_000 * bytes_of_a_host] * 8


def test_a_ring_takes_the_sum_of_its_steps() -> None:
    # A part of 1460 bytes is one packet of 1500, which takes 120 us and 1 ms over each of two links. A ring of 4 has 6 steps.
    # From the second on, a host first sends the ACK of what has come, which takes 3.2 us.
    flows = run(star(4, 'pattern = "all-reduce-ring"\nsize = "5840 bytes"')).flows
    assert flows.height == 24
    assert flows["end_s"].max() == pytest.approx(6 * 2 * 1.120e-3 + 5 * 3.2e-6)
    starts = sorted({round(start * 1e7) for start in flows["start_s"]})
    assert starts == [22_400 * step + 32 * max(0, step - 1) for step in range(6)]


def test_the_time_of_a_collective_is_in_the_table_of_completion_times() -> None:
    result = run(star(4, 'pattern = "all-reduce-ring"\nsize = "5840 bytes"'))
    assert result.completion_times["makespan_s"][0] == pytest.approx(6 * 2 * 1.120e-3 + 5 * 3.2e-6)
    table = list(tables(result.runs))[1]
    assert dict(zip(table.head, table.rows[0], strict=True))["first to last"] == "13.46 ms"
    unfinished = run(star(4, 'pattern = "all-reduce-ring"\nsize = "5840 bytes"', duration="5ms"))
    times = unfinished.completion_times.row(0, named=True)
    assert (times["flows"], times["unfinished"], times["makespan_s"]) == (24, 16, None)


def test_a_butterfly_takes_as_many_steps_as_the_hosts_have_bits() -> None:
    flows = run(star(8, 'pattern = "all-reduce-butterfly"\nsize = "1460 bytes"')).flows
    assert flows.height == 24
    assert flows["end_s"].max() == pytest.approx(3 * 2 * 1.120e-3 + 2 * 3.2e-6)


def test_all_to_all_in_windows_of_one_sends_one_after_another() -> None:
    flows = run(star(3, 'to = "h*"\npattern = "all-to-all"\nsize = "1460 bytes"\nwindow = 1')).flows.sort("start_s")
    starts = flows.group_by("src", maintain_order=True).agg("start_s")["start_s"].to_list()
    # A packet there, and an ACK of 40 bytes back, which takes 3.2 us and 1 ms over a link.
    assert [start for one in starts for start in one] == pytest.approx([0, 2 * 2.1232e-3] * 3)
    whole = run(star(3, 'to = "h*"\npattern = "all-to-all"\nsize = "1460 bytes"')).flows
    assert whole["start_s"].max() == 0


def test_a_source_has_as_many_messages_under_way_as_its_window() -> None:
    pairs = [(source, target) for source in range(5) for target in range(5) if source != target]
    messages = list(in_windows(pairs, 10, 3))
    first = [one.target for one in messages if not one.after and one.source in (0, 4)]
    assert first == [1, 2, 3, 0, 1, 2]
    assert sorted((one.source, one.target) for one in messages) == pairs
    assert all(messages[earlier].source == one.source for one in messages for earlier in one.after)
    assert sum(len(one.after) for one in messages) == 5


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ('pattern = "all-reduce-ring"', 'is of transfers that end; give size, such as size = "1MB"'),
        ('pattern = "all-reduce-ring"\nsize = "1MB"\nto = "h1"', 'is among the nodes of "from"; leave "to" out'),
        ('pattern = "all-reduce-ring"\nsize = "1MB"\nevery = "1ms"', "every does not apply"),
        ('pattern = "all-reduce-butterfly"\nsize = "1MB"', 'needs a power of two of nodes, such as 2; "from" has 3'),
        ('pattern = "all-reduce-ring"\nsize = "2 bytes"', "size = 2 bytes is cut into 3 parts: give at least 3 bytes"),
        ('pattern = "permutation"\nsize = "1MB"\nwindow = 2', 'window is for pattern = "all-to-all"'),
        ('pattern = "all-to-all"\nwindow = 2', "window is of transfers that end; give size"),
    ],
)
def test_what_no_collective_can_be_is_refused(traffic: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message.replace("(", r"\(")):
        star(3, traffic)


def test_each_node_takes_part_once() -> None:
    with pytest.raises(ValueError, match='takes each node once; "from" names b twice'):
        check("all-reduce-ring", ["a", "b", "c", "b"], 100)
