"""Congestion controls in Python: the same results as the control in Rust that they spell, and clear errors."""

import json
from pathlib import Path

import pytest

from anabranch import _core
from anabranch.compile import compile_run
from anabranch.runs import RunError
from anabranch.scenario import Scenario, ScenarioError

CONTROLS = '''
from anabranch.control import Control


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


def scenario(directory: Path, python: str) -> Scenario:
    document = {
        "topology": {"from": "dumbbell"},
        "impairments": [{"link": "all", "loss": 0.002}],
        "stacks": {"mine": {"congestion": {"python": python}}, "reno": {"congestion": "newreno"}},
        "traffic": [{"from": "left", "to": "right", "flows": 3, "stack": ["mine", "reno"]}],
        "run": {"duration": "3s"},
    }
    return Scenario(document, directory=directory)


def test_the_rules_of_newreno_in_python_give_the_results_of_newreno_in_rust(directory: Path) -> None:
    flows = scenario(directory, "controls.py:Reno").run().flows
    mine, rust = (
        flows.filter(flows["stack"] == name).drop("stack", "run", "variant_stack") for name in ("mine", "reno")
    )
    assert mine["retransmits"].sum() > 20
    assert mine.equals(rust)


def test_both_event_loops_give_it_the_same_results(directory: Path) -> None:
    case = scenario(directory, "controls.py:Reno").cases[0]
    assert _core.disagreement(json.dumps(compile_run(case, 1))) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Fails", r"stack 'mine', congestion, at 0\.\d+ s: line 11: KeyError: 'loss'"),
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
    ],
)
def test_what_is_no_class_in_a_file_is_refused(directory: Path, python: str, problem: str) -> None:
    (directory / "broken.py").write_text("class Reno:\n    def (\n")
    with pytest.raises(ScenarioError) as refused:
        scenario(directory, python)
    assert problem in str(refused.value)


def test_a_class_of_another_kind_is_refused_before_the_run(directory: Path) -> None:
    with pytest.raises(RunError, match=r"Stranger must be a class derived from anabranch\.control\.Control"):
        scenario(directory, "controls.py:Stranger").run()
