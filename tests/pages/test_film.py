"""A film of a replay: an animated PNG whose frames show where the recorded packets are."""

import re
import struct
from pathlib import Path

import pytest

from anabranch import Scenario
from anabranch.cli import status
from anabranch.pages.replay import film, record

SPAN = ["--run", "0", "--at", "500ms", "--for", "100ms"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("film") / "run"
    Scenario.load("example:spraying", {"run.duration": "1s"}).run(seed=1, directory=folder)
    return folder


def chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        found.append((picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def test_a_film_has_a_frame_for_each_twelfth_of_a_second(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of chunks and their numbers are those of the PNG specification, third edition."""
    monkeypatch.setattr(film, "LENGTH_S", 1)
    path = tmp_path / "film.png"
    assert status(["replay", str(directory), *SPAN, "--film", str(path)]) == 0
    kinds = chunks(path.read_bytes())
    assert [kind for kind, _ in kinds] == [b"IHDR", b"acTL", b"fcTL", b"IDAT", *[b"fcTL", b"fdAT"] * 11, b"IEND"]
    assert struct.unpack(">II", kinds[1][1]) == (12, 0)
    numbers = [struct.unpack(">I", body[:4])[0] for kind, body in kinds if kind in (b"fcTL", b"fdAT")]
    assert numbers == list(range(23))


def test_a_frame_shows_the_packets_that_move_then(directory: Path) -> None:
    recording = record(directory, run=0, at_s=0.5, for_s=0.1)
    frames = list(film.frames(recording, 11))
    columns = recording.crossings
    # A data packet that has left its queue and has not arrived is a circle of 4 pixels; nodes are grey ones.
    for number, frame in enumerate(frames):
        time = 0.5 + number * 0.01
        under_way = sum(
            departs <= time <= left
            for departs, left, ack in zip(columns["departs_s"], columns["left_s"], columns["ack"], strict=True)
            if not ack
        )
        moving = len(re.findall(r'r="4" fill="#', frame))
        transmitted = len({link for link, at in zip(columns["link"], columns["entered_s"], strict=True) if at <= time})
        assert under_way <= moving <= under_way + transmitted
    assert frames[-1].count("<rect") > frames[3].count("<rect") > 1


def test_wrong_options_of_a_film_are_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["replay", str(directory), "--film", "film.gif"]) == 2
    assert "--film film.gif: must end in .png" in capsys.readouterr().err
    assert status(["replay", str(directory), "--film", "f.png", "-o", "page.html"]) == 2
