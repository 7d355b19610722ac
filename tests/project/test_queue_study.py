"""The study of senders over queue disciplines: its tables, from short runs over one discipline."""

import pytest

from bench import queues


@pytest.fixture(autouse=True)
def one_discipline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "DISCIPLINES", ("fq-codel",))
    monkeypatch.setattr(queues, "OF_PATHS", ("drop-tail", "codel"))
    monkeypatch.setattr(queues, "SPRAYED", ("linux-cubic", "mprc"))


def test_the_parts_have_a_row_for_each_discipline_or_sender() -> None:
    parts = dict(queues.parts(1, queues.BRIEF))
    assert parts.keys() == {"queues", "flow queues", "fairness"}
    lines = {key: text.splitlines()[2:] for key, text in parts.items()}
    assert len(lines["queues"]) == 2 * len(queues.SPRAYED)
    for key in ("flow queues", "fairness"):
        (line,) = lines[key]
        shares = [float(cell) for cell in line.strip("| ").split(" | ")[1:3]]
        assert line.startswith("| fq-codel | ")
        assert all(0 < share < 100 for share in shares)


def test_every_part_has_its_place_on_the_page() -> None:
    page = queues.PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- generated: {key} -->" in page for key in ("queues", "flow queues", "fairness"))
