"""The generated parts of docs/models/who-survives-spraying.md."""

from collections.abc import Mapping

import polars as pl

from bench.spraying import tables, verdict
from bench.spraying.cells import COSTS, GOODPUT, TIMES
from bench.spraying.tables import LOSSES, Column

UNITS = {"10 kB": (1.0, "ms"), "100 kB": (1.0, "ms"), "1 MB": (1e3, "s"), "10 MB": (1e3, "s")}
"""In which unit the page has the times of each size, which the file has in milliseconds."""
HARD: Mapping[str, float | str] = {"delays": "unequal", "select": "random"}


def parts(cells: pl.DataFrame) -> dict[str, str]:
    """The text of each part by its key."""
    return {
        "verdict": verdict.sentences(cells),
        "long": tables.of_columns(cells, _long()).markdown(),
        "short": tables.of_columns(cells, _short()).markdown(),
        "mprc": tables.beside(cells, tables.OTHERS).markdown(),
        "details": "\n\n".join(_folded(title, cells, *measure) for title, measure in _details().items()),
    }


def _long() -> list[Column]:
    columns = [
        Column(
            f"{paths} paths, {f'{loss:g} % loss' if loss else 'no loss'}",
            GOODPUT,
            {**HARD, "paths": paths, "loss_percent": loss},
        )
        for paths in (2, 4)
        for loss in LOSSES
    ]
    where = {**HARD, "paths": 4, "loss_percent": 0.0}
    titles = ("spurious, %", "held, kB", "stall, ms")
    return columns + [Column(title, cost, where) for title, cost in zip(titles, COSTS, strict=True)]


def _short() -> list[Column]:
    return [
        Column(
            f"{name}, {UNITS[name][1]}{f', {loss:g} % loss' if loss else ''}",
            measure,
            {**HARD, "paths": 2, "loss_percent": loss},
            UNITS[name][0],
        )
        for loss in (0.0, 1.0)
        for name, measure in TIMES.items()
    ]


def _details() -> dict[str, tuple[str, float]]:
    times = {
        f"A transfer of {name}: mean completion time, {UNITS[name][1]}": (measure, UNITS[name][0])
        for name, measure in TIMES.items()
    }
    costs = dict(
        zip(
            (
                "A long flow: spurious retransmissions, % of all segments",
                "A long flow: the most that the receiver held beyond a hole, kB",
                "A long flow: the longest time without data in order, ms",
            ),
            ((cost, 1.0) for cost in COSTS),
            strict=True,
        )
    )
    return {"A long flow: goodput, % of what all paths carry": (GOODPUT, 1.0), **times, **costs}


def _folded(title: str, cells: pl.DataFrame, measure: str, unit: float) -> str:
    table = tables.of_measure(cells, measure, unit).markdown()
    return f"<details>\n<summary>{title}</summary>\n\n{table}\n\n</details>"
