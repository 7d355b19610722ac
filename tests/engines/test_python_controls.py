"""Congestion controls in Python: the same results as the control in Rust that they spell, and clear errors."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch import _core
from anabranch.cli import status
from anabranch.compile.run import compile_run
from anabranch.engines.control import Congestion, Control
from anabranch.runs import RunError
from anabranch.scenario import Scenario, ScenarioError
from anabranch.scenario.controls import METHODS

Table = Mapping[str, object]

CONTROLS = '''
from anabranch.engines.control import Control


class Reno(Control):
    """RFC 5681."""


class Fails(Reno):
    def on_congestion(self, event):
        raise KeyError(event.kind)


class NoWindow(Reno):
    def on_recovered(self):
        self.cwnd = float("nan")


class Stranger:
    pass
'''


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "controls.py").write_text(CONTROLS)
    return tmp_path


def scenario(
    directory: Path, python: str, *, stack: Table | None = None, traffic: Table | None = None, **changes: object
) -> Scenario:
    document = {
        "topology": {"from": "dumbbell"},
        "impairments": [{"link": "all", "loss": 0.002}],
        "stacks": {
            "mine": {"congestion": {"python": python}, **(stack or {})},
            "rust": {"congestion": "newreno", **(stack or {})},
        },
        "traffic": [{"from": "left", "to": "right", "flows": 3, "stack": ["mine", "rust"], **(traffic or {})}],
        "run": {"duration": "3s"},
    }
    return Scenario(document | changes, directory=directory)


PAUSES = {"on-off": {"peak": "20Mbps", "on": "300ms", "off": "700ms"}}
OVERTAKING = {
    "from": "dumbbell",
    "override": [{"jitter": {"distribution": "uniform", "up_to": "5ms", "reorder": True}}],
}


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"traffic": PAUSES, "run": {"duration": "10s"}},
        {"stack": {"spurious": "eifel"}, "topology": OVERTAKING},
        {"stack": {"ecn": True}, "topology": {"from": "dumbbell", "queue": {"discipline": "red", "ecn": True}}},
        {"impairments": [{"link": "all", "loss": 0.3}], "run": {"duration": "60s"}},
    ],
    ids=["losses", "pauses", "spurious reductions", "marks", "timeouts that repeat"],
)
def test_the_rules_of_newreno_in_python_give_the_results_of_newreno_in_rust(
    directory: Path, conditions: dict[str, Any]
) -> None:
    flows = scenario(directory, "controls.py:Reno", **conditions).run().flows
    mine, rust = (
        flows.filter(flows["stack"] == name).drop("stack", "run", "variant_stack") for name in ("mine", "rust")
    )
    assert mine["retransmits"].sum() > 20
    assert mine.equals(rust)


def test_a_class_with_its_own_reduction_keeps_its_window_where_that_was_spurious() -> None:
    """:meth:`Control.undo` restores only the window before a reduction by :class:`Control` itself."""

    class Gentle(Control):
        def on_congestion(self, event: Congestion) -> None:
            self.cwnd = self.ssthresh = 0.9 * self.cwnd

    control = Gentle(SimpleNamespace(initial_window=10, wire_bytes=1500, seed=1))
    control.on_congestion(SimpleNamespace(now_s=1.0, kind="loss", prior_in_flight=10))
    control.undo()
    assert (control.cwnd, control.ssthresh) == (9, 9)


def test_both_event_loops_give_it_the_same_results(directory: Path) -> None:
    case = scenario(directory, "controls.py:Reno").cases[0]
    assert _core.disagreement(json.dumps(compile_run(case, 1))) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Fails", r"stack 'mine', congestion, at 0\.\d+ s: line 11: KeyError: 'loss' \(in controls\.py\)"),
        ("NoWindow", "cwnd = NaN: must be"),
    ],
)
def test_a_problem_of_the_class_ends_the_run_with_its_time_and_line(directory: Path, name: str, problem: str) -> None:
    with pytest.raises(RunError, match=problem):
        scenario(directory, f"controls.py:{name}").run()


@pytest.mark.parametrize(
    ("python", "problem"),
    [
        ("controls.py", 'must be a file and a class, such as "my_cc.py:MyControl"'),
        ("none.py:Reno", "none.py: cannot be read"),
        ("controls.py:Rneo", 'controls.py: has no class Rneo; did you mean "Reno"?'),
        ("broken.py:Reno", "broken.py:2: is not Python"),
        ("typo.py:Typo", 'typo.py:3: Typo.avoid_congestions is never called; did you mean "avoid_congestion"?'),
    ],
)
def test_what_is_no_class_in_a_file_is_refused(directory: Path, python: str, problem: str) -> None:
    (directory / "broken.py").write_text("class Reno:\n    def (\n")
    (directory / "typo.py").write_text(
        "class Typo:\n    def step(self): ...\n    def avoid_congestions(self, ack, growth): ...\n"
    )
    with pytest.raises(ScenarioError) as refused:
        scenario(directory, python)
    assert problem in str(refused.value)


def test_the_methods_that_may_be_misspelt_are_those_of_the_class() -> None:
    assert set(METHODS) == {name for name, one in vars(Control).items() if not name.startswith("_") and callable(one)}


def test_a_class_of_another_kind_is_refused_before_the_run(directory: Path) -> None:
    with pytest.raises(RunError, match=r"Stranger must be a class derived from anabranch\.Control"):
        scenario(directory, "controls.py:Stranger").run()


MARKS = """\
from pathlib import Path

from anabranch.engines.control import Control

Path("executed").touch()


class Mine(Control):
    def on_congestion(self, event):
        helper({})


def helper(states):
    import json
    json.loads("{")
"""


def test_only_a_run_executes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MARKS)
    text = Scenario(scenario(tmp_path, "mine.py:Mine").document, directory=tmp_path).to_toml()
    (tmp_path / "s.toml").write_text(text)
    assert status(["check", "s.toml"]) == 0
    assert "note: mine.py:Mine was read and not executed; only a run shows" in capsys.readouterr().err
    for command in (["check", "--json", "s.toml"], ["schema"], ["engines"], ["check", "s.toml", "--set", "run.seed=2"]):
        assert status(command) in (0, 2)
        assert not (tmp_path / "executed").exists(), command
    # the line is that of the control's file, also where another module raises
    assert status(["run", "s.toml", "--out", "out"]) == 1
    assert (tmp_path / "executed").exists()
    assert (
        "line 15: json.decoder.JSONDecodeError" in (said := capsys.readouterr().err)
        or "line 15: JSONDecodeError" in said
    )
    assert "(in mine.py)" in said
