"""The answer: each pair and path, live beside the packet engine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from anabranch.engines.openflow.link_state import CableEstimate
from anabranch.foundation.output_files import write_json, write_text
from anabranch.foundation.text_table import TextTable
from anabranch.results.statistics import half_width
from anabranch.studies.papers.measures import Mean
from anabranch.studies.testbed.live import TABLE
from anabranch.studies.testbed.measuring import Measured
from anabranch.studies.testbed.simulated import CASE, Simulated, simulated
from anabranch.studies.testbed.tests import BUSY, Log

CSV, JSON = "answer.csv", "answer.json"


@dataclass(frozen=True)
class PathAnswer:
    """A pair over one path. Goodputs are means of a flow, bit/s."""

    source: str
    target: str
    path: str
    metrics: str
    flows: int
    tests: int
    """Tests that count."""
    busy: int
    """Tests that do not: the switches took nearly all of their processor."""
    goodput_bps: float | None
    half_bps: float | None
    """Half of the 95 % confidence interval over the tests (Student's t); unknown for one."""
    jain: float | None
    packet_bps: float | None
    packet_half_bps: float | None
    packet_jain: float | None

    @property
    def difference(self) -> float | None:
        """Share by which the live goodput exceeds the packet engine's."""
        if self.goodput_bps is None or not self.packet_bps:
            return None
        return self.goodput_bps / self.packet_bps - 1


def answer(
    found: Measured, pairs: Sequence[tuple[str, str]], flows: int, directory: Path
) -> tuple[list[PathAnswer], dict[str, Any]]:
    """The rows of these pairs and flows, from all tests in the directory, and the document that is written there as CSV and JSON."""
    own = pl.DataFrame(pairs, schema={"source": pl.String, "target": pl.String}, orient="row")
    table = Log(directory / TABLE).table.filter(pl.col("flows") == flows).join(own, on=["source", "target"], how="semi")
    lengths = pl.col("seconds", "warm_up_s").median().cast(pl.Int64)
    cases = table.group_by(CASE, maintain_order=True).agg(lengths)
    engine = simulated(found.network, cases, directory / "packet")
    rows = [_row(key, part, engine) for key, part in table.group_by(CASE, maintain_order=True)]
    records = [asdict(row) | {"difference": row.difference} for row in rows]
    document = _document(found) | {"paths": records}
    write_text(directory / CSV, pl.DataFrame(records).write_csv())
    write_json(directory / JSON, document)
    return rows, document


def _row(key: tuple[Any, ...], part: pl.DataFrame, engine: Mapping[tuple[Any, ...], Simulated]) -> PathAnswer:
    counted = part.filter(pl.col("busy") <= BUSY)
    rates, packet = counted["goodput_bps"].to_list(), engine.get(key)
    return PathAnswer(
        source=key[0],
        target=key[1],
        path=key[2],
        metrics=part["metrics"][0],
        flows=key[4],
        tests=len(rates),
        busy=part.height - len(rates),
        goodput_bps=fmean(rates) if rates else None,
        half_bps=half_width(rates) if rates else None,
        jain=fmean(counted["jain"].to_list()) if rates else None,
        packet_bps=None if packet is None else packet.goodput_bps,
        packet_half_bps=None if packet is None else packet.half_bps,
        packet_jain=None if packet is None else packet.jain,
    )


def _document(found: Measured) -> dict[str, Any]:
    """The network with its own and its measured values."""
    links = {} if found.found is None else found.found.links
    return {
        "network": found.network.name,
        "seed": found.network.seed,
        "interrupted": found.interrupted,
        "links": [
            {name: getattr(link, name) for name in ("source", "target", "capacity_bps", "delay_s", "loss")} | _measured(links.get((link.source, link.target)))
            for link in found.plan.topology.links
        ],
    }  # fmt: skip


def _measured(estimate: CableEstimate | None) -> dict[str, float]:
    return {} if estimate is None else {f"measured_{name}": value for name, value in estimate._asdict().items()}


def text_table(rows: Sequence[PathAnswer]) -> TextTable:
    """The table for people: Mbit/s of a flow."""
    head = (
        "from",
        "to",
        "path",
        "metrics",
        "flows",
        "tests",
        "live, Mbit/s",
        "packet engine",
        "difference",
        "Jain",
        "packet",
    )
    return TextTable(head, [_cells(row) for row in rows], text_columns=4)


def _cells(row: PathAnswer) -> tuple[str, ...]:
    difference = row.difference
    return (
        row.source, row.target, row.path, row.metrics, str(row.flows),
        f"{row.tests}" if not row.busy else f"{row.tests} ({row.busy} too busy)",
        _rate(row.goodput_bps, row.half_bps), _rate(row.packet_bps, row.packet_half_bps),
        "-" if difference is None else f"{difference:+.1%}", _index(row.jain), _index(row.packet_jain),
    )  # fmt: skip


def _rate(value: float | None, half: float | None) -> str:
    return "-" if value is None else str(Mean(value / 1e6, None if half is None else half / 1e6))


def _index(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
