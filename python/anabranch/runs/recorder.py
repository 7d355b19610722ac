"""Writes the time series and captures of a run into its folder while the run goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.foundation.array_types import Columns
from anabranch.foundation.output_files import unwritable, write_new_table
from anabranch.results.captures import CaptureFiles
from anabranch.results.files import SERIES
from anabranch.results.matrix_columns import with_keys
from anabranch.results.schema import SERIES_TABLES, frame

ROWS_PER_PART = 250_000
"""Rows of a time series held in memory before they are written."""


class RunRecorder:
    """Records one run. Series go into numbered parts, ``series/KIND-PART.parquet``, each of them whole once it is closed."""

    def __init__(self, folder: Path, number: int, keys: pl.DataFrame, spec: Mapping[str, Any]) -> None:
        """Takes the run's folder, which is made with the first file in it, its number and values of the matrix, which are columns of the series, and the compiled run."""
        self.folder = folder
        self._keys = keys
        self._number = number
        self._names = {"routing": [routing["name"] for routing in spec["routings"]]}
        self._captures = CaptureFiles(folder, spec)
        self._pending: dict[str, list[pl.DataFrame]] = {}
        self._parts: dict[str, int] = {}
        self.now_s = 0.0
        self.packet_hops = 0

    def flow_series(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("flows", columns)

    def link_series(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("links", columns)

    def link_state(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("link_state", columns)

    def capture(self, link: int, piece: bytes) -> None:
        """Append to the capture of the link."""
        self._captures.append(link, piece)

    def captures(self) -> list[dict[str, Any]]:
        """The manifest's entries for the captures."""
        return self._captures.records()

    def progress(self, now_s: float, packet_hops: int) -> None:
        """Keep for the reporter, which reads it from another thread."""
        self.now_s, self.packet_hops = now_s, packet_hops

    def goodput_over_time(self) -> pl.DataFrame:
        """The goodput of all flows together at each sample that is not yet in a file: ``time_s``, ``goodput_bps``.

        Another thread may call this while the run goes on.
        """
        parts = list(self._pending.get("flows", []))
        if not parts:
            return pl.DataFrame(schema={"time_s": pl.Float64, "goodput_bps": pl.Float64})
        samples = pl.concat(part.select("time_s", "goodput_bps") for part in parts)
        return samples.group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")

    def close(self) -> None:
        """Write what is still held in memory."""
        for kind in list(self._pending):
            self._write_part(kind)

    def _record(self, kind: str, columns: Columns) -> None:
        table = frame(SERIES_TABLES[kind], columns, {"run": self._number}, self._names)
        pending = self._pending.setdefault(kind, [])
        if table.height:
            pending.append(table)
        if sum(part.height for part in pending) >= ROWS_PER_PART:
            self._write_part(kind)

    def _write_part(self, kind: str) -> None:
        pending = self._pending.pop(kind)
        if not pending:
            return
        part = self._parts.get(kind, 0)
        self._parts[kind] = part + 1
        folder = self.folder / SERIES
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from None
        write_new_table(folder / f"{kind}-{part}.parquet", with_keys(pl.concat(pending), self._keys))
