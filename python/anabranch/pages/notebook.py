"""Figures, reports and replays of results for notebooks: each is a page of its own in a frame, which loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from polars.exceptions import PolarsError

from anabranch.foundation.json_text import json_text
from anabranch.foundation.output_files import write_text
from anabranch.foundation.suggest import suggest
from anabranch.pages.report import evaluation, figure_files, libraries, page
from anabranch.pages.report import figures as report_figures
from anabranch.pages.report.outcomes import outcomes
from anabranch.pages.report.parts import Figure
from anabranch.results.run_directory import unreadable_series

if TYPE_CHECKING:
    from anabranch.results.result import Result

_WIDTH = 820
"""Pixels of a figure, about those of a notebook's cell."""
_TALL = 720
"""Pixels of a frame in which a report or a replay scrolls."""
_OVER_TIME = "time-"
_MAP = "map-0"
_PLOT = Template("""\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>$title</title>
<style>body { margin: 0; background: white; color: #16202c; font: 14px system-ui, sans-serif } p { margin: .3rem 0 }</style>
<h4 style="margin: .3rem 0">$title</h4><div id="chart"></div><p>$caption</p>
<script type="module">$libraries</script>
<script type="module">
const show = () => { if (window.frameElement) window.frameElement.style.height = document.documentElement.offsetHeight + 8 + "px"; };
await vegaEmbed("#chart", $specification, { actions: false, renderer: "svg" });
document.documentElement.dataset.charts = "drawn";
show();
</script>
""")
_LINKS = """
<script>
// In a frame without an address, a link to a part of the page would load the notebook.
document.addEventListener("click", event => {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  event.preventDefault();
  const part = document.getElementById(link.getAttribute("href").slice(1));
  if (part && "open" in part) part.open = true;
  part?.scrollIntoView();
});
</script>
"""


class NotebookError(ValueError):
    """A figure that a result does not have: says which ones it has."""


class Page:
    """A page that a notebook shows in a frame."""

    def __init__(self, title: str, html: str, specification: Mapping[str, Any] | None = None) -> None:
        """Takes the title and the whole page; of a figure also its Vega-Lite specification."""
        self.title = title
        self.html = html
        self.specification = specification

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, and return its path.

        Raises:
            anabranch.foundation.output_files.FileError: the file cannot be written.
        """
        write_text(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        """The frame, for notebooks."""
        inside = self.html if self.specification is not None else self.html + _LINKS
        style = f"width: 100%; height: {_TALL}px; border: 0"
        return f'<iframe title="{escape(self.title)}" style="{style}" srcdoc="{escape(inside)}"></iframe>'

    def __repr__(self) -> str:
        """The title, for terminals."""
        return f"{self.title} (a notebook shows it; save() writes it to a file)"


def plot(result: Result, name: str | None) -> Page:
    """A figure of the report by its name, such as ``goodput``, or ``cwnd`` for ``time-cwnd``; without a name the first one.

    Raises:
        NotebookError: the result has no figure of this name.
        anabranch.foundation.extras.MissingExtraError: the charts' JavaScript is not installed.
    """
    known = _figures(result)
    if not known:
        raise NotebookError("this result has no figures: no flow ran")
    name = next(iter(known)) if name is None else name
    figure = known.get(name) or known.get(f"{_OVER_TIME}{name}")
    if figure is None:
        if not any(each.startswith(_OVER_TIME) for each in known):
            hint = 'figures over time need `[run] sample = "50ms"` in the scenario; '
        else:
            hint = ""
        raise NotebookError(f"{name}: this result has no such figure; {hint}{suggest(name, map(_short, known))}")
    specification = figure_files.fitted(figure, _WIDTH)
    specification.pop("title", None)  # the page has it
    html = _PLOT.substitute(
        title=escape(figure.title),
        caption=escape(figure.caption),
        libraries=libraries.vega(),
        specification=json_text(specification).replace("<", "\\u003c"),
    )
    return Page(figure.title, html, specification)


def load_map(result: Result) -> Page:
    """The map of the network with the load of its links; a menu chooses the variant."""
    return plot(result, _MAP)


def report(result: Result) -> Page:
    """The whole report."""
    try:
        return Page(f"Report: {result.manifest['title']}", page.render([result.directory]))
    except PolarsError as error:
        raise unreadable_series([result.directory], error) from None


def replay(result: Result, run: int | None, at_s: float | None, for_s: float, run_control: bool) -> Page:
    """The film of a span of a run: :func:`anabranch.pages.replay.record`."""
    from anabranch.pages.replay import record, render

    recording = record(result.directory, run=run, at_s=at_s, for_s=for_s, run_control=run_control)
    return Page(f"Replay: {recording.title}", render(recording))


def _figures(result: Result) -> dict[str, Figure]:
    e = evaluation.evaluate(result.runs)
    sections: Mapping[str, Sequence[Figure]] = report_figures.by_section(e, outcomes(e))
    return {figure.name: figure for section in sections.values() for figure in section}


def _short(name: str) -> str:
    return name.removeprefix(_OVER_TIME)
