"""What a terminal shows of runs while they go on: goodput over time of one that goes on, and those that have ended."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType

import polars as pl
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anabranch.matrix_columns import text
from anabranch.runs.run import Finished, Run
from anabranch.text_table import percent, quantity

COLUMNS, ROWS = 64, 6
MOST_ENDED = 8
"""Of the runs that have ended, the last ones are shown."""
_EIGHTHS = " ▁▂▃▄▅▆▇█"


class LiveView(AbstractContextManager["LiveView"]):
    """On standard error, until the runs are over. Then it goes, and the tables of the command are printed."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """The runs, all of them."""
        self._runs = runs
        self._began = time.monotonic()
        self._ended: dict[int, tuple[str, ...]] = {}
        self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)

    def __enter__(self) -> "LiveView":
        """Begin."""
        self._live.start()
        return self

    def update(self, ended: Sequence[Finished]) -> None:
        """Draw anew. ``ended`` are the runs that have ended since the last time."""
        self._ended |= {one.run.number: _row(one) for one in ended}
        self._live.update(self._drawing(), refresh=True)

    def _drawing(self) -> Group:
        # Runs that were finished before took no time, and say nothing of the time left.
        made = [run for run in self._runs if not run.was_kept]
        reached, total = sum(run.now_s for run in made), sum(run.duration_s for run in made)
        share = reached / total if total else 1.0
        head = f"{len(self._ended)} of {len(self._runs)} runs ended, {percent(share)} simulated"
        if share > 0:
            elapsed_s = time.monotonic() - self._began
            head += f", {elapsed_s / share - elapsed_s:.0f} s left"
        return Group(Text(head), *self._chart(), self._table())

    def _chart(self) -> list[Text]:
        """Of the run that goes on and has come furthest."""
        going = [run for run in self._runs if 0 < run.now_s < run.duration_s and run.number not in self._ended]
        if not going:
            return []
        run = max(going, key=lambda run: run.now_s)
        samples = run.goodput_over_time()
        title = (
            f"Run {run.number}: {_name(run)}, {run.now_s:.3g} of {run.duration_s:g} s. Goodput of all flows together:"
        )
        if samples.is_empty():
            return [Text(title), Text("unknown, as the run takes no samples: --set run.sample=100ms")]
        return [Text(title), *map(Text, chart(samples, run.duration_s))]

    def _table(self) -> Table:
        table = Table("run", "variant", "goodput", "flows", "finished", box=None, title_justify="left")
        for row in list(self._ended.values())[-MOST_ENDED:]:
            table.add_row(*row)
        return table

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the view."""
        self._live.stop()


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


def _name(run: Run) -> str:
    return " · ".join([*map(text, run.case.values.values()), f"seed {run.seed}"])


def _row(ended: Finished) -> tuple[str, ...]:
    flows = ended.table("flows")
    lasting = flows.filter(pl.col("size_bytes").is_null())["goodput_bps"]
    goodput = quantity(float(lasting.sum()), "bit/s") if len(lasting) else "-"
    return str(ended.run.number), _name(ended.run), goodput, f"{flows.height:,}", f"{flows['fct_s'].count():,}"
