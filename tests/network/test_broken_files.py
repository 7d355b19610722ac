"""Broken files of every kind: taken, or refused by name, and never anything else. ``make fuzz`` reads many more."""

import pytest

from anabranch.cli import DONE, status
from bench.fuzz.broken import broken
from bench.fuzz.originals import originals
from bench.fuzz.read import problems


@pytest.mark.parametrize("hundred", range(3))
def test_a_broken_file_is_taken_or_refused_by_name(hundred: int) -> None:
    wrong = {number: problems(number) for number in range(100 * hundred, 100 * hundred + 100)}
    assert {number: found for number, found in wrong.items() if found} == {}


def test_what_is_broken_was_whole(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file that was refused for another reason would not show how its broken forms are read."""
    for original in originals():
        folder = tmp_path_factory.mktemp("whole")
        file, scenario = folder / original.name, folder / "on-file.toml"
        file.write_text(original.text)
        scenario.write_text(original.scenario)
        assert status([word.format(file, scenario=scenario) for word in original.command]) == DONE, original.name


def test_files_are_broken_in_many_ways_and_always_the_same() -> None:
    numbers = range(1500)
    contents = [broken(number)[1] for number in numbers]
    assert contents == [broken(number)[1] for number in numbers]
    assert len(set(contents)) > 450
    assert {broken(number)[0].name for number in numbers} == {original.name for original in originals()}
