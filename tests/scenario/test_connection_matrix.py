"""htsim's connection matrices: starts in microseconds, and triggers as dependencies between flows."""

import pytest

from anabranch import Scenario, run
from anabranch.scenario.connection_matrix import flows
from anabranch.scenario.trace import parse

SERIAL = """Nodes 4
Connections 5
Triggers 3
# the last flow comes first
2->0 id 9 trigger 3 size 500
0->1 id 1 start 4 size 2000 send_done_trigger 1 recv_done_trigger 2 prio 5
0->2 id 2 trigger 1 size 1000 recv_done_trigger 3
3->1 id 3 start 0 size 700 recv_done_trigger 2
1->3 id 4 trigger 2 size 800

trigger id 1 oneshot
trigger id 2 barrier count 2
trigger id 3 multishot
"""


def test_triggers_are_dependencies_on_earlier_flows() -> None:
    found, after = flows(SERIAL, "x.cm")
    microsecond = 10**6
    assert found == [
        (6, "0", "1", 4 * microsecond, 2000),
        (7, "0", "2", 0, 1000),
        (5, "2", "0", 0, 500),
        (8, "3", "1", 0, 700),
        (9, "1", "3", 0, 800),
    ]
    assert sorted(after) == [(1, 0), (2, 1), (4, 0), (4, 3)]
    assert parse(SERIAL, "x.cm").after == tuple(after)


def test_flows_start_when_their_triggers_fire() -> None:
    # Hosts around a switch, with links of 100 Mbit/s and 1 ms. A packet takes its time on two links, and an ACK of 40 bytes 3.2 us on each.
    text = """
[topology]
links = [{ source = "0", target = "s" }, { source = "1", target = "s" }, { source = "2", target = "s" }, { source = "3", target = "s" }]
capacity = "100Mbps"
delay = "1ms"
[stacks.plain]
handshake = false
follows = "rfc"
congestion = "newreno"
[[traffic]]
trace = '''
MATRIX'''
[run]
duration = "1s"
"""
    matrix = SERIAL.replace("2000 ", "1000 ").replace("size 700", "size 20")
    table = run(Scenario.from_toml(text.replace("MATRIX", matrix))).flows.sort("flow")
    first_s = 4e-6 + 2 * (1040 * 8 / 1e8 + 1e-3)
    acknowledged_s = first_s + 2 * (40 * 8 / 1e8 + 1e-3)
    second_s = acknowledged_s + 2 * (1040 * 8 / 1e8 + 1e-3)
    assert table["start_s"].to_list() == pytest.approx([4e-6, acknowledged_s, second_s, 0, first_s])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("start 4", "start 4.5", 'line 6, start "4.5" must be whole microseconds from 0'),
        ("start 4", "start 4 trigger 1", "line 6 has start and trigger; leave out one"),
        ("prio 5", "msg 5", r"line 6 .* messages of one connection \(msg\) are not read"),
        ("prio 5", "priority 5", "line 6 .* must be a connection such as 3->5 start 0 size 2000000, or 3->5 trigger 1"),
        ("Connections 5", "Connections 6", "line 2 says 6 connections, and 5 follow"),
        ("Triggers 3", "Triggers 2", "line 3 says 2 triggers, and 3 follow"),
        ("trigger id 3", "trigger id 4", "line 7: there is no trigger 3; add the line trigger id 3 oneshot"),
        ("trigger id 3", "trigger id 1", "line 13: trigger 1 is also that of line 11"),
        ("id 3 multishot", "id 3", "line 13 must be a trigger such as trigger id 1 oneshot"),
        ("barrier count 2", "oneshot", "line 12: trigger 2 is set off by 2 flows; oneshot needs 1"),
        ("barrier count 2", "barrier count 3", "line 12: trigger 2 is set off by 2 flows; barrier needs 3"),
        ("recv_done_trigger 3", "prio 1", "line 13: trigger 3 is set off by 0 flows; multishot needs 1"),
        ("1->3 id", "2->3 id", "line 9: 2 does not see the end of 0->1 of line 6, which starts its flow"),
        ("0->1 id 1 start 4", "0->1 id 1 trigger 1", "line 5: its flow never starts, because it waits for itself"),
        ("Triggers 3", "Triggers 3\nfailure switch_type AGG switch_id 0 link_id 0", "failures are not read"),
    ],
)
def test_what_htsim_could_not_run_is_refused_by_line(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flows(SERIAL.replace(old, new, 1), "x.cm")
