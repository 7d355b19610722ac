"""The view of runs in a terminal while they go on: goodput over time of one of them, and the runs that have ended."""

import time
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType

import polars as pl
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anabranch.foundation.printable import printable_line
from anabranch.foundation.text_table import percent, quantity
from anabranch.results.joined import joined
from anabranch.results.matrix_columns import text
from anabranch.results.run_directory import active_share
from anabranch.results.statistics import per_run
from anabranch.runs.run import Finished, PendingRun

COLUMNS, ROWS = 64, 6
MOST_ENDED = 8
"""The most ended runs in the view, which shows the last ones."""
_EIGHTHS = " ▁▂▃▄▅▆▇█"


class LiveView(AbstractContextManager["LiveView"]):
    """A view on standard error until the runs are over. Then it disappears, and the command prints its tables."""

    def __init__(self, runs: int) -> None:
        """How many runs there are."""
        self._runs = runs
        self._began = time.monotonic()
        self._ended = 0
        self._rows: deque[tuple[str, ...]] = deque(maxlen=MOST_ENDED)
        self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)

    def __enter__(self) -> "LiveView":
        """Begin."""
        self._live.start()
        return self

    def update(self, ended: Sequence[Finished], going: Sequence[PendingRun], share: float) -> None:
        """Draw anew.

        ``ended`` are the runs that have ended since the last time, ``going`` the runs under way. ``share`` is the part of the virtual time that
        has been simulated; runs that were finished before do not count in it.
        """
        self._ended += len(ended)
        self._rows.extend(map(_row, ended[-MOST_ENDED:]))
        head = f"{self._ended} of {self._runs} runs ended, {percent(share)} simulated"
        if share > 0:
            elapsed_s = time.monotonic() - self._began
            head += f", {elapsed_s / share - elapsed_s:.0f} s left"
        self._live.update(Group(Text(head), *_over_time(going), self._table()), refresh=True)

    def _table(self) -> Table:
        table = Table("run", "variant", "goodput", "flows", "finished", box=None, title_justify="left")
        for row in self._rows:
            table.add_row(*(Text(printable_line(cell)) for cell in row))
        return table

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the view."""
        self._live.stop()


def _over_time(going: Sequence[PendingRun]) -> list[Text]:
    """Goodput over time of the run that has come furthest."""
    run = max((run for run in going if 0 < run.now_s < run.duration_s), key=lambda run: run.now_s, default=None)
    if run is None:
        return []
    samples = run.goodput_over_time()
    title = f"Run {run.number}: {_name(run)}, {run.now_s:.3g} of {run.duration_s:g} s. Goodput of all flows together:"
    if samples.is_empty():
        return [Text(printable_line(title)), Text("unknown, as the run takes no samples: --set run.sample=100ms")]
    return [Text(printable_line(title)), *map(Text, chart(samples, run.duration_s))]


def chart(samples: pl.DataFrame, duration_s: float) -> list[str]:
    """Lines of text that draw ``goodput_bps`` over ``time_s``, from 0 to the run's duration: the mean of each column.

    A column that no sample reaches is empty. The axis has the greatest mean on top and 0 below.
    """
    number = (pl.col("time_s") / duration_s * COLUMNS).ceil().clip(1, COLUMNS).cast(pl.Int64) - 1
    means = dict(samples.group_by(number.alias("column")).agg(pl.col("goodput_bps").mean()).iter_rows())
    most = max(means.values())
    heights = [round(means.get(column, 0.0) / most * ROWS * 8) if most > 0 else 0 for column in range(COLUMNS)]
    top, bottom = quantity(most, "bit/s"), "0"
    lines = []
    for row in reversed(range(ROWS)):
        label = top if row == ROWS - 1 else bottom if row == 0 else ""
        blocks = "".join(_EIGHTHS[min(max(height - 8 * row, 0), 8)] for height in heights)
        lines.append(f"{label:>14} {blocks}".rstrip())
    return [*lines, f"{'':>14} 0 s{f'{duration_s:g} s':>{COLUMNS - 3}}"]


def _name(run: PendingRun) -> str:
    return " · ".join([*map(text, run.case.values.values()), f"seed {run.seed}"])


def _row(ended: Finished) -> tuple[str, ...]:
    flows = joined("flows", [ended.rows("flows")])
    facts = {name: pl.lit(ended.result.facts[name]) for name in ("warm_up_s", "simulated_s")}
    measured = per_run(flows.with_columns(**facts).with_columns(active_share()), ["run"])
    goodput = quantity(next(iter(measured["goodput_bps"]), None), "bit/s")
    return str(ended.run.number), _name(ended.run), goodput, f"{flows.height:,}", f"{flows['fct_s'].count():,}"
