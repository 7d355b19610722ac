"""Random scenarios: no result may contradict another. ``make fuzz`` runs many more."""

from threading import Event
from typing import Any

import numpy as np
import pytest

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from bench.fuzz import predicted
from bench.fuzz.invariants import violations
from bench.fuzz.run import Samples, problems
from tests.scenarios import LINE


@pytest.mark.parametrize("hundred", range(5))
def test_random_scenarios_give_results_that_can_be(hundred: int) -> None:
    wrong = {number: problems(number) for number in range(100 * hundred, 100 * hundred + 100)}
    assert {number: found for number, found in wrong.items() if found} == {}


def test_random_scenarios_have_predictions_that_can_be() -> None:
    wrong = {number: predicted.problems(number) for number in range(60)}
    assert {number: found for number, found in wrong.items() if found} == {}


@pytest.mark.parametrize("number", [84, 427, 1227, 1735, 2366])
def test_predictions_that_once_could_not_be_are_right(number: int) -> None:
    """Infinite completion times, a flow without end that had not settled beside 199 that end, and loads that nothing answers."""
    assert predicted.problems(number) == []


@pytest.mark.parametrize(
    ("table", "column", "value", "says"),
    [
        ("flows", "goodput_bps", 1e12, "goodput_bps of flow 0"),
        ("flows", "low_bps", np.nan, "low_bps of a flow is no number"),
        ("flows", "delivered_bytes", 1e12, "bytes received at node 2"),
        ("links", "utilisation", 1.001, "utilisation of link 0"),
        ("links", "queue_drop_ratio", np.nan, "queue_drop_ratio of a link is no number"),
        ("links", "queue_delay_mean_s", 1e3, "queue_delay_mean_s of link 0"),
    ],
)
def test_a_prediction_that_cannot_be_is_found(table: str, column: str, value: float, says: str) -> None:
    spec = compile_run(Scenario.from_toml(LINE).cases[0], 1)
    run = predicted.made(spec)
    tables = {"flows": run.flows(), "links": run.links()}
    assert predicted.violations(spec, tables["flows"], tables["links"], converged=True) == []
    tables[table][column][0] = value
    found = predicted.violations(spec, tables["flows"], tables["links"], converged=True)
    assert any(problem.startswith(says) for problem in found), found


@pytest.mark.parametrize("number", [13039, 16623])
def test_a_short_flow_over_several_paths_takes_as_long_as_it_must(number: int) -> None:
    """The last of two segments went beside the first on another path, and not behind it."""
    assert problems(number) == []


@pytest.mark.parametrize(
    ("table", "column", "value", "says"),
    [
        ("flows", "goodput_bps", 1e9, "goodput_bps x time of flow 0"),
        ("flows", "fct_s", 1e-3, "fct_s of flow 1"),
        ("flows", "delivered_bytes", 10**9, "bytes received at node 1"),
        ("flows", "longest_stall_s", 6.0, "longest_stall_s of flow 0"),
        ("flows", "retransmits", 10**6, "retransmits of flow 0"),
        ("links", "utilisation", 1.001, "utilisation of link 0"),
        ("links", "queue_delay_mean_s", 1.0, "queue_delay_mean_s of link 0"),
        ("links", "queue_delay_max_s", 1.0, "queue_delay_max_s of link 0"),
        ("links", "bytes", 10**9, "bytes of link 0"),
        ("series", "utilisation", 1.001, "utilisation of link sample 0"),
        ("series", "goodput_bps", 1e9, "sum of goodput samples of flow 0"),
    ],
)
def test_a_result_that_cannot_be_is_found(table: str, column: str, value: float, says: str) -> None:
    scenario = Scenario(
        {
            "topology": {"links": [{"source": "A", "target": "B", "capacity": "10Mbps", "delay": "10ms"}]},
            "traffic": [
                {"from": "A", "to": "B", "bulk": True, "stack": "cubic"},
                {"from": "A", "to": "B", "size": "100 kB", "stack": "cubic"},
            ],
            "run": {"duration": "5s", "sample": "100ms"},
        }
    )
    spec = compile_run(scenario.cases[0], 1)
    samples = Samples()
    outcome = packet.simulate(spec, samples, Event())
    series: dict[str, Any] = samples.whole()
    assert violations(spec, outcome, series) == []
    tables = {"flows": [outcome.flows], "links": [outcome.links], "series": list(series.values())}
    for columns in tables[table]:
        if column in columns:
            columns[column][:] = value
    assert any(says in violation for violation in violations(spec, outcome, series))
