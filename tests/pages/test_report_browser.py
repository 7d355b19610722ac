"""The report in a browser: every chart is drawn, nothing is requested, everybody can use it, and it does what a reader asks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch.pages import report
from anabranch.scenario import Scenario
from tests.browser import Browser, assert_drawn, open_report, violations
from tests.pages.test_report import HOSTILE, Page, write
from tests.report_fixture import ABILENE, ROUTINGS, STACKS, write_run_directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_directory(tmp_path_factory.mktemp("runs") / "abilene")


@pytest.fixture(scope="module")
def page(directory: Path) -> tuple[Path, Page]:
    path = report.write([directory], directory / "report.html")
    return path, Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page]:
    """All kinds of figures and tables, few of each: axe looks at every mark."""
    folder = tmp_path_factory.mktemp("small")
    few: dict[str, Any] = {"stacks": STACKS[2:], "routings": ROUTINGS[:1], "seeds": 2, "flows": 12, "sample_s": 2.0}
    few |= {"nodes": {name: ABILENE[name] for name in ("Seattle", "Atlanta")}, "edges": [("Seattle", "Atlanta")]}
    directories = [write_run_directory(folder / name, sized=True, **few) for name in ("before", "after")]
    path = report.write(directories, folder / "report.html")
    return path, Page(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_every_chart_is_drawn_and_axe_finds_nothing(
    browser: Browser, small_page: tuple[Path, Page], width: int, dark: bool
) -> None:
    open_report(browser, small_page[0], width, dark=dark)
    assert_drawn(browser, small_page[1].charts)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(17, 22, 29)" if dark else "rgb(255, 255, 255)"
    )
    if (width, dark) in ((1400, False), (400, True)):  # axe takes seconds; colours do not depend on the width
        assert violations(browser) == []


def test_charts_of_many_variants_are_drawn(browser: Browser, page: tuple[Path, Page]) -> None:
    open_report(browser, page[0])
    assert_drawn(browser, page[1].charts)
    text = browser.evaluate("document.querySelector('#chart-map-0').textContent")
    assert [name for name in ABILENE if name not in text] == []


def test_every_figure_has_a_name_and_buttons_that_can_be_seen(browser: Browser, page: tuple[Path, Page]) -> None:
    open_report(browser, page[0], 400)
    figures = browser.evaluate(
        """[...document.querySelectorAll("figure")].map(figure => ({
            name: figure.getAttribute("aria-label"),
            drawing: figure.querySelector("svg").getAttribute("aria-label") ?? figure.querySelector("[role] [aria-label]")?.getAttribute("aria-label"),
            buttons: [...figure.querySelectorAll("[data-save]")].map(button => {
                const box = button.getBoundingClientRect();
                return [button.textContent, button.getAttribute("aria-label"), box.width > 24 && box.height > 16];
            }),
        }))"""
    )
    assert len({figure["name"] for figure in figures}) == len(figures) == len(page[1].charts)
    for figure in figures:
        assert figure["drawing"]
        assert figure["buttons"] == [[kind, f"Save {figure['name']} as {kind}", True] for kind in ("SVG", "PNG", "CSV")]


def test_tables_sort_and_selectors_choose(browser: Browser, page: tuple[Path, Page]) -> None:
    """A reader sorts by goodput, then by goodput the other way, and picks another variant of the table and of the map."""
    open_report(browser, page[0])
    sort = """(() => {
        const table = document.getElementById("summary-table");
        const column = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith("Goodput"));
        table.tHead.rows[0].cells[column].querySelector("button").click();
        return [...table.tBodies[0].rows].map(row => Number(row.cells[column].textContent));
    })()"""
    falling, rising = browser.evaluate(sort), browser.evaluate(sort)
    assert len(falling) == len(STACKS) * len(ROUTINGS)
    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(falling)
    groups = browser.evaluate(
        """(() => {
            const links = document.querySelector("select[data-table=link-table]");
            links.value = "mprc · spray at random";
            links.dispatchEvent(new Event("change"));
            const rows = [...document.getElementById("link-table").tBodies[0].rows];
            return [...new Set(rows.filter(row => !row.hidden).map(row => row.dataset.group))];
        })()"""
    )
    assert groups == ["mprc · spray at random"]
    widths = '[...document.querySelectorAll("#chart-map-0 .mark-rule line")].map(line => line.getAttribute("stroke-width")).join()'
    drawn = {browser.evaluate(widths)}
    for selector, index in ((0, 7), (1, 1)):  # the variant, then the peak
        browser.evaluate(
            f"""(() => {{
                const select = document.querySelectorAll("#controls-map-0 select")[{selector}];
                select.selectedIndex = {index};
                select.dispatchEvent(new Event("input"));
                select.dispatchEvent(new Event("change"));
                return new Promise(done => setTimeout(done, 100));
            }})()"""
        )
        drawn.add(browser.evaluate(widths))
    assert len(drawn) == 3


def test_a_printed_page_has_every_chart_and_says_which_rows_of_a_table_it_has(
    browser: Browser, small_page: tuple[Path, Page]
) -> None:
    """A browser prints once its event has been handled, with the promises that follow at once. It waits for no other event."""
    open_report(browser, small_page[0], unfolded=False)
    undrawn = "[...document.querySelectorAll('[data-chart]')].filter(chart => !chart.querySelector('svg')).length"
    assert browser.evaluate(undrawn) > 0
    assert (
        browser.evaluate(
            f"""(async () => {{
            dispatchEvent(new Event("beforeprint"));
            for (let turn = 0; turn < 10000; turn++) await null;
            return {undrawn};
        }})()"""
        )
        == 0
    )
    assert_drawn(browser, small_page[1].charts)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        select = "document.querySelector('select[data-table=difference-table]')"
        assert browser.evaluate(f"{select}.getBoundingClientRect().height") > 0
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_long_names_leave_room_for_numbers(browser: Browser, tmp_path: Path) -> None:
    """All columns of the answer are within the page, and so are the selectors of the map."""
    names = ["cubic with a name of all its parameters: " + "gamma=1.5 delta=0.3 " * 6, "mprc"]
    directory = write_run_directory(tmp_path / "run", stacks=names, seeds=2, sample_s=None)
    open_report(browser, report.write([directory], tmp_path / "report.html"))
    assert browser.evaluate(
        """[...document.querySelectorAll("#ranking-goodput th, #map select")]
            .every(part => part.getBoundingClientRect().right <= document.body.getBoundingClientRect().right)"""
    )


def test_many_flows_and_distributions(browser: Browser, tmp_path: Path) -> None:
    path, page = write(tmp_path, stacks=STACKS[:2], routings=ROUTINGS[:2], seeds=2, flows=60, sized=True, sample_s=0.5)
    assert {"completion", "slowdown"} <= page.charts
    open_report(browser, path)
    assert_drawn(browser, page.charts)


def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    path, page = write(
        tmp_path,
        title=HOSTILE,
        stacks=[HOSTILE, "cubic"],
        routings=["x[0].y:Q", "\\'\"datum"],
        seeds=2,
        flows=12,
        sized=True,
        nodes={HOSTILE: (1.0, 2.0), "b": (3.0, 4.0)},
        edges=[(HOSTILE, "b")],
        source=HOSTILE,
        destination="b",
        traffic=HOSTILE,
    )
    open_report(browser, path)
    assert_drawn(browser, page.charts)
    assert browser.evaluate("document.title") == HOSTILE


def test_a_topology_without_coordinates(browser: Browser, tmp_path: Path) -> None:
    path, page = write(
        tmp_path,
        stacks=["mprc"],
        routings=["ospf"],
        seeds=1,
        nodes=dict.fromkeys("abcd"),
        edges=[("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")],
        source="a",
        destination="c",
    )
    open_report(browser, path)
    assert_drawn(browser, page.charts)


def test_twelve_variants_fit_four_screens_with_the_table_first(browser: Browser, page: tuple[Path, Page]) -> None:
    """A screen is 1400 by 900 pixels. A folded part opens by a link of the page, and is drawn then."""
    open_report(browser, page[0], unfolded=False)
    assert browser.evaluate("document.documentElement.scrollHeight") <= 4 * 900
    assert browser.evaluate("document.querySelector('main table, main figure').tagName") == "TABLE"
    assert browser.evaluate("document.querySelectorAll('#time svg').length") == 0
    browser.evaluate("document.querySelector(\"nav a[href='#time']\").click()")
    browser.wait("document.querySelectorAll('#time .chart svg').length === 5")


def test_twelve_variants_of_lasting_and_short_flows_fit_four_screens(browser: Browser, tmp_path: Path) -> None:
    """Two answers: goodput of the bulk flow, and completion times of those beside it."""
    matrix = {"stack": ["newreno", "cubic", "bbr", "mprc"], "routing": ["one", "hash", "spray"]}
    ends = {"from": "left", "to": "right"}
    document = {
        "topology": {"from": "parallel"},
        "routing": {
            "one": {},
            "hash": {"paths": {"disjoint": 2}, "select": "hash", "per": "flow"},
            "spray": {"paths": {"disjoint": 2}, "select": "random", "per": "packet"},
        },
        "traffic": [
            {"name": "bulk", "bulk": True} | ends | matrix,
            {"name": "short", "short": {"arrivals": "10/s", "sizes": "web-search"}} | ends | matrix,
        ],
        "run": {"duration": "2s", "seeds": 2, "sample": "500ms"},
    }
    Scenario(document).run(directory=tmp_path / "run")
    path = report.write([tmp_path / "run"], tmp_path / "report.html")
    open_report(browser, path, unfolded=False)
    assert "over the flows with a size" in browser.evaluate("document.querySelector('#answer').textContent")
    assert browser.evaluate("document.querySelectorAll('#ranking-goodput tbody tr').length") == 12
    assert browser.evaluate("document.documentElement.scrollHeight") <= 4 * 900


def test_every_figure_can_be_saved(browser: Browser, page: tuple[Path, Page], directory: Path) -> None:
    """As a drawing, a picture and numbers: the CSV of goodput has the means of the files."""
    open_report(browser, page[0], unfolded=False)
    saved: dict[str, Any] = browser.evaluate(
        """(async () => {
            const saved = {}, blobs = [];
            URL.createObjectURL = blob => `#${blobs.push(blob) - 1}`;
            HTMLAnchorElement.prototype.click = function () { saved[this.download] = this.getAttribute("href"); };
            for (const button of document.querySelectorAll("[aria-label='Goodput'] [data-save]")) button.click();
            while (Object.keys(saved).length < 3) await new Promise(done => setTimeout(done, 20));
            for (const [name, address] of Object.entries(saved))
                if (address.startsWith("#")) saved[name] = await blobs[Number(address.slice(1))].text();
            return saved;
        })()"""
    )
    assert saved.keys() == {"goodput.svg", "goodput.png", "goodput.csv"}
    assert saved["goodput.png"].startswith("data:image/png;base64,")
    assert saved["goodput.svg"].startswith("<svg")
    table = pl.read_csv(io.StringIO(saved["goodput.csv"]))
    flows = pl.read_parquet(directory / "flows.parquet")
    means = flows.group_by("stack", x="routing").agg(pl.col("goodput_bps").mean() / 1e6)
    joined = table.join(means, on=["stack", "x"])
    assert joined.height == len(STACKS) * len(ROUTINGS)
    assert joined["mean"].to_list() == pytest.approx(joined["goodput_bps"].to_list(), rel=1e-4)
