"""A table of a comparison: as Markdown, as CSV, and as a summary of its deviations."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

DEVIATION = re.compile(r"([+-]?\d+(?:\.\d+)?) %")
NOT_JUDGED = re.compile(r"\(.*\)")


@dataclass(frozen=True)
class Table:
    """Cells are texts; those in brackets are not judged."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """A line for each row, below the head."""
        lines = (self.columns, ["---"] * len(self.columns), *self.rows)
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def csv(self) -> str:
        """Comma-separated, with a header row."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def summary(self) -> "Table":
        """One row per value of the first column: how many rows it has, and from what to what each column of percentages goes."""
        cells = list(zip(*self.rows, strict=True))
        ranged = [
            index
            for index, column in enumerate(cells)
            if any(column) and all(not cell or DEVIATION.search(cell) for cell in column)
        ]
        names = list(dict.fromkeys(cells[0]))
        rows = []
        for name in names:
            group = [row for row in self.rows if row[0] == name]
            rows.append([name, str(len(group)), *(_range([row[index] for row in group]) for index in ranged)])
        return Table([self.columns[0], "rows", *(self.columns[index] for index in ranged)], rows)


def _range(cells: Sequence[str]) -> str:
    judged = [cell for cell in cells if cell and not NOT_JUDGED.fullmatch(cell)]
    values = sorted((float(found[1]), found[1]) for cell in judged if (found := DEVIATION.search(cell)))
    if not values:
        return ""
    least, greatest = values[0][1], values[-1][1]
    return f"{least} %" if least == greatest else f"{least} to {greatest} %"
