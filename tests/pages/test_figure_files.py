"""Figures for papers: the charts of the report, as wide as they are to be."""

import re
import struct
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import altair
import pytest

from anabranch.cli import status
from anabranch.pages.report import figure_files, page
from tests.pages.test_delays import with_delays
from tests.report_fixture import write_run_directory

MM_PER_INCH = 25.4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "abilene"
    write_run_directory(directory)
    return directory


def test_the_list_has_every_figure_of_the_report_and_each_variant_of_the_map(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["figure", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines]
    widest = max(map(len, listed))
    assert all(line[widest] == " " != line[widest + 1] for line in lines), "the titles are below each other"
    ids = set(re.findall(r'data-chart="([\w.-]+)"', page.render([run])))
    assert {name.split(".")[0] for name in listed} == ids
    maps = [name for name in listed if name.startswith("map-0")]
    assert maps == [f"map-0.{number}" for number in range(1, 13)]


def test_a_map_shows_the_variant_of_its_name(run: Path) -> None:
    drawn = figure_files.figures([run])["map-0.3"]
    assert {"name": "variant", "value": 2} in drawn.specification["params"]
    assert "spray round robin" in drawn.title


@pytest.mark.parametrize(
    ("name", "width"), [("goodput", 88.0), ("map-0.2", 88.0), ("time-cwnd", 170.0), ("pareto-goodput-queueing", 170.0)]
)
def test_a_figure_is_as_wide_as_asked_for(run: Path, tmp_path: Path, name: str, width: float) -> None:
    """Within 6 %: Vega measures texts before it knows how wide the axis of panels is. The PDF's page is in points, the SVG in CSS's pixels."""
    drawn = figure_files.figures([run])[name]
    altair.Chart.from_dict(figure_files.fitted(drawn, width))  # compares it with Vega-Lite's schema
    for suffix in (".pdf", ".svg", ".png"):
        figure_files.write(drawn, tmp_path / f"x{suffix}", width)
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", (tmp_path / "x.pdf").read_bytes())
    assert box
    pixels = struct.unpack(">I", (tmp_path / "x.png").read_bytes()[16:20])[0]
    svg = ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))
    for inches in (float(box[1]) / 72, pixels / 300, float(svg.attrib["width"]) / 96):
        assert inches * MM_PER_INCH == pytest.approx(width, rel=0.06)


def test_an_axis_has_its_unit_where_the_heading_has_none(run: Path, tmp_path: Path) -> None:
    """A figure of goodput against its cost has two units, so both stand at the axes."""
    drawn = figure_files.figures([run])["pareto-goodput-retransmitted"]
    figure_files.write(drawn, tmp_path / "x.svg", 170.0)
    texts = list(ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8")).itertext())
    assert {"Goodput, Mbit/s", "Retransmitted, %"} <= set(texts)


@pytest.mark.parametrize(
    ("routings", "along", "least"),
    [
        (["drop-tail limit=1000 packets", "codel limit=1000 packets"], 0, 18 * 5),
        ([f"queue {number} · route" for number in range(20)], 1, 2 * 11),
        ([f"limit={number} kB · fq-codel" for number in range(100, 112)], 1, 2 * 11),
    ],
)
def test_names_of_bars_do_not_overlap(routings: list[str], along: int, least: float, tmp_path: Path) -> None:
    """Upright bars have room for a parameter of 18 letters, lying ones for both lines of a name. Twelve names have too little room beside each other."""
    run = write_run_directory(tmp_path / "run", stacks=["cubic"], routings=routings, seeds=1)
    figure_files.write(figure_files.figures([run])["goodput"], tmp_path / "x.svg", 170.0)
    texts = ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8")).iter("{http://www.w3.org/2000/svg}text")
    names = [text for text in texts if len(text) == 2]
    assert len(names) == len(routings)
    places = sorted(float(re.findall(r"[\d.]+", text.attrib["transform"])[along]) for text in names)
    assert min(after - before for before, after in pairwise(places)) >= least
    assert max(len(line) for text in names for line in text.itertext()) <= 18


@pytest.mark.parametrize(("name", "width"), [("goodput", 88.0), ("goodput", 170.0), ("delay", 170.0)])
@pytest.mark.parametrize("keys", [["queue"], ["queue", "way", "load"]])
def test_the_lines_of_a_name_are_centred_on_their_bar(name: str, width: float, keys: list[str], tmp_path: Path) -> None:
    routings = [" · ".join(f"{key} {number}" for key in keys) for number in range(20)]
    run = with_delays(tmp_path / "run", stacks=["cubic"], routings=routings, seeds=1)
    figure_files.write(figure_files.figures([run])[name], tmp_path / "x.svg", width)
    drawing = ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))
    (axis,) = (
        part
        for part in drawing.iter("{http://www.w3.org/2000/svg}g")
        if part.attrib.get("class") == "mark-group role-axis" and "queue 19" in " ".join(part.itertext())
    )
    ticks = [height_of(tick) for tick in axis.iter("{http://www.w3.org/2000/svg}line")]
    for text in axis.iter("{http://www.w3.org/2000/svg}text"):
        if "queue" in "".join(text.itertext()):
            lines = max(len(text), 1)
            assert lines == len(keys)
            middle = height_of(text) + (lines - 1) * 13 / 2 - 3  # the base of a line of 11 pixels is below its middle
            assert min(abs(middle - tick) for tick in ticks) < 2


def height_of(element: ET.Element) -> float:
    return float(re.findall(r"[\d.]+", element.attrib["transform"])[1])


def test_panels_with_long_names_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    """A line for each key: the ends of the names are not cut."""
    stack = "newreno-whose-name-lists-all-of-its-parameters-gamma-1.5-delta-0.3"
    run = write_run_directory(tmp_path / "run", stacks=[stack], routings=["ospf", "spray"], seeds=1)
    figure_files.write(figure_files.figures([run])["time-goodput"], tmp_path / "x.svg", 120.0)
    texts = set(ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8")).itertext())
    assert {"ospf", "spray"} <= texts


def test_without_a_name_the_first_figure_is_drawn_and_the_others_are_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["figure", str(run), "-o", str(tmp_path / "x.svg")]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path}/x.svg\n"
    assert shown.err.startswith("Figure goodput; --figure chooses another: ")
    assert " map-0.1, " in shown.err
    assert "newreno" in (tmp_path / "x.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--figure", "nope"], 1, "--figure nope: is no figure of these runs; possible: goodput, "),
        (["-o", "x.gif"], 2, "--output x.gif: must end in .pdf or .svg or .png"),
        (["-o", "missing/x.svg"], 1, "missing/x.svg: cannot be written (No such file or directory)"),
        (["--width", "88"], 2, "--width goes with --output"),
        (["--width", "3", "-o", "x.svg"], 2, "--width 3: must be from 40 to 1000 millimetres"),
    ],
)
def test_bad_input_is_named(
    run: Path, options: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert status(["figure", str(run), *options]) == code
    assert capsys.readouterr().err.startswith(says)
    assert list(tmp_path.iterdir()) == []
