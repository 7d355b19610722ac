"""The plan of a sweep: its values, their order, and messages about mistakes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anabranch.scenario import ScenarioError
from anabranch.studies.sweep import (
    PlanError,
    Sweep,
)
from tests.sweep_plans import plan, sweep


def values(plan: Sweep, column: str) -> list[object]:
    """The values of a column over all points, without repetition."""
    own = plan.labels([point * len(plan.seeds) * len(plan.engines) for point in range(plan.points)])
    return own[column].unique(maintain_order=True).to_list()


def test_ranges_are_those_of_numpy(tmp_path: Path) -> None:
    log = sweep(tmp_path, losses='{ from = 1e-4, to = 1e-1, values = 7, scale = "log" }')
    assert values(log, "loss") == pytest.approx(np.geomspace(1e-4, 1e-1, 7), rel=1e-5)
    more = 'topology.links.0.delay = { from = "5ms", to = "50ms", values = 4 }'
    linear = sweep(tmp_path, more=more)
    assert values(linear, "delay") == pytest.approx(np.linspace(0.005, 0.05, 4))


def test_a_range_has_no_more_digits_than_its_unit(tmp_path: Path) -> None:
    more = 'topology.links.0.capacity = { from = "10 kbps", to = "20 kbps", values = 7 }'
    rates = np.array(values(sweep(tmp_path, more=more), "capacity"))
    assert (rates == np.round(rates)).all()
    assert rates == pytest.approx(np.linspace(10e3, 20e3, 7), rel=1e-4)


def test_keys_of_a_zip_vary_together(tmp_path: Path) -> None:
    more = '[[conditions.zip]]\nrun.duration = ["100ms", "200ms"]\ntopology.links.0.delay = ["5ms", "9ms"]'
    found = sweep(tmp_path, more=more)
    assert found.points == 2 * 3 * 2
    pairs = found.labels(range(found.planned)).select("duration", "delay").unique().sort("duration").rows()
    assert pairs == [(0.1, 0.005), (0.2, 0.009)]


def test_random_samples_fill_their_ranges_and_more_of_them_leave_the_first_ones(tmp_path: Path) -> None:
    more = (
        '[[conditions.random]]\nsamples = {}\ntopology.links.0.delay = {{ from = "1ms", to = "100ms", scale = "log" }}'
    )
    few, many = (sweep(tmp_path, more=more.format(count)) for count in (20, 400))
    drawn = np.array(values(many, "delay"), dtype=float)
    assert drawn[:20].tolist() == values(few, "delay")
    # On a log scale half of them are below the geometric mean, 10 ms: 200 of 400, with a standard deviation of 10.
    assert 150 < (drawn < 0.01).sum() < 250
    assert drawn.min() < 0.0015
    assert 0.07 < drawn.max() <= 0.1


def test_a_point_that_is_drawn_again_is_run_once(tmp_path: Path) -> None:
    more = "[[conditions.random]]\nsamples = 100\ntraffic.0.flows = [1, 2]\nrun.duration = ['1s', '2s']"
    found = sweep(tmp_path, more=more)
    assert found.points == 2 * 3 * 4
    points = found.labels(range(found.planned)).drop("run", "seed").unique()
    assert points.height == found.cells


def test_equal_values_of_the_scenario_are_refused_there(tmp_path: Path) -> None:
    path = plan(tmp_path)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(scenario.read_text().replace('"300ms"', '["100ms", "0.1s"]'))
    with pytest.raises(ScenarioError, match=r"scenario.toml:5: run.duration = .*: values must differ from each other"):
        Sweep.load(path)


def test_lists_of_the_scenario_are_parameters_unless_the_plan_replaces_them(tmp_path: Path) -> None:
    path = plan(tmp_path)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(scenario.read_text().replace('"300ms"', '["100ms", "200ms"]').replace("0.01", "[0.1, 0.2]"))
    found = Sweep.load(path)
    assert found.treatments == ["variant_stack"]
    assert found.conditions == ["loss", "duration"]
    assert values(found, "duration") == [0.1, 0.2]
    assert values(found, "loss") == [0.01, 0.02, 0.03]


def test_every_cell_has_the_same_seeds_and_numbers_say_what_they_are(tmp_path: Path) -> None:
    """Common random numbers: treatments differ by what they do, not by luck."""
    found = sweep(tmp_path, seeds=3, engines=["packet", "predict"])
    table = found.labels(range(found.planned))
    assert table.height == 2 * 3 * 2 * 3
    seeds = table.group_by("engine", "variant_stack", "loss").agg(pl.col("seed").sort())["seed"].to_list()
    assert seeds == [[1, 2, 3]] * 12
    for cell in range(found.cells):
        for seed in range(6):
            assert found.cell_and_seed(found.number(cell, seed)) == (cell, seed)
    numbers = {found.number(cell, seed) for cell in range(found.cells) for seed in range(6)}
    assert numbers == set(range(6 * found.cells))


@pytest.mark.parametrize("seeds", [1, 2, 5, 12])
def test_the_runs_so_far_are_a_fair_sample(tmp_path: Path, seeds: int) -> None:
    """A sweep may be interrupted after any run: until then, no cell has more than twice the runs of another."""
    found = sweep(tmp_path, seeds=seeds, engines=["packet", "predict"])
    order = found.numbers()
    assert sorted(order) == list(range(found.planned))
    had = np.zeros(found.cells, int)
    for number in order:
        cell, seed = found.cell_and_seed(number)
        assert seed == had[cell], "seeds in their order"
        had[cell] += 1
        assert had.max() <= max(1, 2 * had.min())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds = 2", "sceds = 2"), 'plan.toml:2: sceds: unknown key; did you mean "seeds"?'),
        (("scenario.toml", "other.toml"), 'plan.toml:1: scenario = "other.toml": cannot be read'),
        (("cubic", "cubicc"), 'plan.toml:7: treatments."traffic[0].stack" = "cubicc": no such stack'),
        (("0.03", "3"), 'plan.toml:10: conditions."impairments[0].loss" = 3'),
        (("[0.01, 0.02, 0.03]", "[]"), 'conditions."impairments[0].loss" = []: needs at least one value'),
        (("[0.01, 0.02, 0.03]", "{ from = 0.1, to = 0.01, values = 3 }"), "from must be less than to"),
        (("[0.01, 0.02, 0.03]", "{ from = 0, to = 0.1, values = 3, scale = 'log' }"), "from must be greater than 0"),
        (("[0.01, 0.02, 0.03]", "{ from = 0.1, to = 0.2 }"), "values must say how many"),
        (("impairments[0]", "impairments[7]"), 'cannot set "impairments[7].loss": impairments has no 7'),
        (("['packet']", "['packet', 'packet']"), "engines must differ from each other"),
        (("[treatments]", "[treatments]\nrun.seeds = 5"), "give seeds in the plan"),
        (
            ("[treatments]", "[treatments]\nrun = [{ duration = '1s' }, { duration = '2s', seeds = 3 }]"),
            "give seeds in the plan",
        ),
        (
            ("[treatments]", "[treatments]\nimpairments.0.loss = [0.1, 0.2]"),
            'plan.toml:11: conditions."impairments[0].loss": sets the same value as impairments.0.loss; keep one',
        ),
        (
            ("[treatments]", "[treatments]\ntopology.queue.limit = '9 packets'\n'topology.queue' = 'codel'"),
            'treatments."topology.queue": sets the same value as topology.queue.limit; keep one',
        ),
        (("[treatments]", "[[treatments.zip]]\nrun.duration = ['1s']\n[treatments]"), "needs two keys or more"),
        (("[treatments]", "[[treatments.random]]\nrun.duration = ['1s']\n[treatments]"), "samples must say how many"),
        (
            ("0.03", "[0.03, 0.04]"),
            'conditions."impairments[0].loss" = [0.03, 0.04]: each value must be a single one; here is a list inside it',
        ),
        (
            ("0.03", "{ model = 'periodic', every = [9, 10] }"),
            "each value must be a single one; here is a list inside it",
        ),
        (("0.03", "'1%'"), 'values must differ from each other; 0.01 and "1%" are equal'),
        (
            (
                "[treatments]",
                "[[treatments.zip]]\nrun.duration = ['1s', '1000ms']\ntraffic.0.flows = [2, 2]\n[treatments]",
            ),
            'treatments.zip[0]: values must differ from each other; ["1s", 2] and ["1000ms", 2] are equal',
        ),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = plan(tmp_path)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(PlanError) as error:
        Sweep.load(path)
    assert message in str(error.value)


def test_a_mistake_of_the_scenario_is_named_there(tmp_path: Path) -> None:
    path = plan(tmp_path)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("300ms", "300 moons"))
    with pytest.raises(ScenarioError, match=r'scenario.toml:5: run.duration = "300 moons"'):
        Sweep.load(path)
