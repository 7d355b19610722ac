"""Links whose rate or delay changes: the contents of files, the input of the core, and refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from anabranch import Scenario, _core
from anabranch.compile.run import compile_run
from anabranch.scenario import ScenarioError

MS = 10**9
TABLE = "time,delay,capacity\n0s,20ms,8Mbps\n1s,10ms,0\n1.5s,30ms,4Mbps\n"
NETWORK = """[topology]
links = [{ source = "A", target = "B", capacity = "10Mbps", delay = "10ms" }]
[[traffic]]
from = "A"
to = "B"
bulk = true
[run]
duration = "4s"
"""


def compiled(folder: Path, more: str) -> dict[str, Any]:
    (folder / "t.csv").write_text(TABLE)
    (folder / "t.down").write_text("1\n2\n2\n4\n")
    scenario = Scenario.from_toml(NETWORK + more, directory=folder)
    return compile_run(scenario.cases[0], 1)


def override(text: str) -> str:
    return f'[[topology.override]]\nlink = ["A", "B"]\none_way = true\n{text}\n'


def test_tables_and_traces_become_schedules_and_means(tmp_path: Path) -> None:
    spec = compiled(tmp_path, override('capacity = { table = "t.csv", repeat = "2s" }\ndelay = { table = "t.csv" }'))
    link = spec["links"][0]
    rate, delay = spec["schedules"][link["rate_schedule"]], spec["schedules"][link["delay_schedule"]]
    assert rate["values"] == [8_000_000, 0, 4_000_000]
    assert rate["repeat"] == 2000 * MS
    assert delay["at"] == [0, 1000 * MS, 1500 * MS]
    assert delay["repeat"] is None
    # 8 Mbit/s for a half of the time and 4 for a quarter; 20 ms for 1 s, 10 for 0.5 s, 30 for 2.5 s.
    assert link["rate"] == 5_000_000
    assert link["delay"] == 25 * MS
    assert "rate_schedule" not in spec["links"][1]
    assert spec["links"][1]["delay"] == 10 * MS
    spec = compiled(tmp_path, override('capacity = { trace = "t.down" }\njitter = { up_to = "3ms" }'))
    assert spec["schedules"] == [
        {"kind": "opportunities", "at": [MS, 2 * MS, 2 * MS, 4 * MS], "bytes": 1500, "repeat": 4 * MS}
    ]
    assert spec["links"][0]["rate"] == 12_000_000
    assert spec["links"][0]["jitter"] == {"distribution": "uniform", "up_to": 3 * MS, "reorder": False}
    _core.Simulation(json.dumps(spec))


def test_a_trace_may_be_as_long_as_the_longest_that_comes_with_mahimahi(tmp_path: Path) -> None:
    """Verizon-LTE-driving.down lasts 1363 s and has 7,844,811 bytes, of at most 8 a line: more than a million lines."""
    (tmp_path / "verizon.down").write_text(
        "".join(f"{1_363_038 * line // 1_090_000}\n" for line in range(1, 1_090_001))
    )
    scenario = Scenario.from_toml(NETWORK + override('capacity = { trace = "verizon.down" }'), directory=tmp_path)
    link = compile_run(scenario.cases[0], 1)["links"][0]
    assert link["rate"] == 1_090_000 * 1500 * 8 * 1000 // 1_363_038


@pytest.mark.parametrize("value", ['capacity = { table = "t.csv" }', 'delay = { table = "t.csv", interpolate = true }'])
def test_all_links_of_a_table_follow_one_schedule(tmp_path: Path, value: str) -> None:
    spec = compiled(tmp_path, f"[[topology.override]]\n{value}\n")
    kind = f"{'rate' if 'capacity' in value else 'delay'}_schedule"
    assert [link[kind] for link in spec["links"]] == [0, 0]
    assert len(spec["schedules"]) == 1


def test_an_interpolated_delay_has_the_mean_of_its_lines(tmp_path: Path) -> None:
    spec = compiled(tmp_path, override('delay = { table = "t.csv", interpolate = true }'))
    link = spec["links"][0]
    assert spec["schedules"][link["delay_schedule"]]["linear"]
    # 15 ms in the mean for 1 s, 20 for 0.5 s, then 30 for 2.5 s.
    assert link["delay"] == 25 * MS
    spec = compiled(tmp_path, override('delay = { table = "t.csv", interpolate = true, repeat = "2s" }'))
    # From 30 ms back to 20 in the last half second.
    assert spec["links"][0]["delay"] == (15 * 1000 + 20 * 500 + 25 * 500) * MS // 2000
    _core.Simulation(json.dumps(spec))


def test_changes_become_schedules(tmp_path: Path) -> None:
    change = (
        '[[events]]\nat = "1s"\nchange = { link = ["A", "B"], capacity = "20Mbps", delay = "25ms", outage = "150ms" }\n'
    )
    spec = compiled(tmp_path, change)
    rate, delay = (
        spec["schedules"][spec["links"][0]["rate_schedule"]],
        spec["schedules"][spec["links"][0]["delay_schedule"]],
    )
    assert (rate["at"], rate["values"]) == ([0, 1000 * MS, 1150 * MS], [10_000_000, 0, 20_000_000])
    assert (delay["at"], delay["values"]) == ([0, 1000 * MS], [10 * MS, 25 * MS])
    assert spec["events"] == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.csv", "", 't.csv: needs a header such as "time,delay"'),
        ("t.csv", "time,dealy\n0,1ms\n", 't.csv:1: no such column "dealy"'),
        ("t.csv", "time,delay\n1s,1ms\n", 't.csv:2: time "1s" must be 0 in the first row'),
        ("t.csv", "time,delay\n0s,1ms\n0s,2ms\n", 't.csv:3: time "0s" must be later than in the row before'),
        ("t.csv", "time,delay\n0s,1Mbps\n", "t.csv:2: delay:"),
        ("t.csv", "time,delay\n0s,0ms\n", 't.csv:2: delay: "0ms" must be greater than zero'),
        ("t.csv", "time,delay\n0s\n", "t.csv:2: has 1 cells, the header 2"),
        ("t.down", "1\nx\n", 't.down:2: "x" must be a whole number of milliseconds'),
        ("t.down", "3\n2\n", "t.down:2: 2 must not be earlier than the line before"),
        ("t.down", "0\n", "t.down: must end after 0"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_by_line_and_value(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    key = 'delay = { table = "t.csv" }' if name == "t.csv" else 'capacity = { trace = "t.down" }'
    with pytest.raises(ScenarioError) as refused:
        Scenario.from_toml(NETWORK + override(key), directory=tmp_path)
    assert says in str(refused.value)


def test_a_capacity_must_not_stay_zero(tmp_path: Path) -> None:
    (tmp_path / "zero.csv").write_text("time,capacity\n0s,1Mbps\n1s,0\n")
    with pytest.raises(ScenarioError, match=r"zero.csv:3: capacity is 0 from the last row on"):
        Scenario.from_toml(NETWORK + override('capacity = { table = "zero.csv" }'), directory=tmp_path)


def test_a_change_of_a_link_with_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"events\[0\].change.delay.*has a schedule for this link"):
        compiled(
            tmp_path, override('delay = { table = "t.csv" }') + '[[events]]\nchange = { link = "all", delay = "1ms" }\n'
        )


def test_a_change_spares_links_whose_table_is_not_in_force(tmp_path: Path) -> None:
    """The table is of the other direction, or a later override replaces it."""
    table, change = override('delay = { table = "t.csv" }'), '[[events]]\nat = "1s"\nchange = { link = '
    back = compiled(tmp_path, table + change + '["B", "A"], one_way = true, delay = "5ms" }\n')
    assert back["schedules"][back["links"][1]["delay_schedule"]]["values"] == [10 * MS, 5 * MS]
    assert len(back["schedules"][back["links"][0]["delay_schedule"]]["values"]) == 3
    replaced = compiled(tmp_path, table + override('delay = "7ms"') + change + '"all", delay = "5ms" }\n')
    assert [schedule["values"] for schedule in replaced["schedules"]] == [[7 * MS, 5 * MS], [10 * MS, 5 * MS]]


def test_the_predict_engine_refuses_links_that_vary(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(NETWORK + override('jitter = "pareto"'), directory=tmp_path)
    with pytest.raises(ValueError, match=r"link A -> B: its rate or delay varies"):
        scenario.run(engine="predict")
