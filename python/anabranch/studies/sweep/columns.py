"""The columns of a sweep's tables: one schema for flows and one for links, for all engines and for every end of a run."""

from collections.abc import Mapping, Sequence

import polars as pl

from anabranch.results.schema import PREDICTED, TABLES, ResultColumn

COMPLETE, REFUSED, FAILED = "complete", "refused", "failed"
FLOWS, LINKS = "flows", "links"

HEAD: Sequence[ResultColumn] = (
    ResultColumn("run", "index", "", "Number of the run in the plan, from 0", ""),
    ResultColumn("run_hash", "text", "", "SHA-256 of the compiled run, its engine, and the build of Anabranch", ""),
    ResultColumn("engine", "text", "", "Engine: `packet`, `predict` or `kernel`", ""),
    ResultColumn("seed", "count", "", "Seed of the run", ""),
)
"""The first columns of both tables. The columns of the parameters follow."""
FACTS: Sequence[ResultColumn] = (
    ResultColumn(
        "status",
        "text",
        "",
        "`complete`; `refused`: it cannot be run; `failed`: the same command tries it again",
        "",
    ),
    ResultColumn("error", "text", "", "What went wrong", "complete"),
    ResultColumn("warning", "text", "", "Why a prediction may not hold", "nothing to say"),
    ResultColumn("warm_up_s", "number", "s", "From when on goodput counts", "not complete"),
    ResultColumn("simulated_s", "number", "s", "End of the run", "not complete"),
    ResultColumn("packet_hops", "count", "", "Packets that have crossed a link", "not complete"),
    ResultColumn("packets_without_route", "count", "", "Packets that no route led on", "not complete"),
    ResultColumn("packets_expired", "count", "", "Packets whose time to live was over", "not complete"),
)
"""The columns about the run in the table of flows."""
_NUMBERING = ("run", "seed")
_OWN: Mapping[str, Sequence[ResultColumn]] = {
    FLOWS: (*(column for column in TABLES[FLOWS] if column.name not in _NUMBERING), *PREDICTED),
    LINKS: tuple(column for column in TABLES[LINKS] if column.name not in _NUMBERING),
}
FACTS_SCHEMA = {column.name: column.type for column in (HEAD[1], *FACTS)}
RESULT_SCHEMAS: Mapping[str, dict[str, type[pl.DataType]]] = {
    FLOWS: FACTS_SCHEMA | {column.name: column.type for column in _OWN[FLOWS]},
    LINKS: {column.name: column.type for column in (HEAD[1], *_OWN[LINKS])},
}
"""The columns of a run's results in any plan: the tables without the plan's own columns."""
_OF_SUMMARY = (
    *("runs", "interrupted", "flows", "flow_goodput_bps", "goodput_interval_bps", "jain_index"),
    *("retransmit_ratio", "spurious_ratio", "reordered_ratio"),
    *("fct_mean_s", "fct_mean_at_least_s", "fct_interval_s", "finished", "unfinished"),
)
"""The columns that only :attr:`anabranch.studies.sweep.result.SweepResult.summary` has."""
TAKEN = frozenset({*(column.name for column in HEAD), *RESULT_SCHEMAS[FLOWS], *RESULT_SCHEMAS[LINKS], *_OF_SUMMARY})
"""Names that no parameter's column can have."""
ROWS_OF_A_RUN = {FLOWS: ["run", "flow"], LINKS: ["run", "link"]}
"""The order of rows."""

SUMMED_UP = (
    *("run", "traffic", "stack", "start_s", "end_s", "fct_s", "idle_fct_s", "size_bytes", "goodput_bps", "warm_up_s"),
    *(
        "simulated_s",
        "segments_sent",
        "retransmits",
        "spurious_retransmits",
        "timeouts",
        "reordered_segments",
        "srtt_s",
    ),
    *("reordering_extent_mean", "reordering_extent_max", "longest_stall_s", "reassembly_peak_bytes"),
    *("low_bps", "high_bps", "limited_by"),
)
"""The columns of flows that :mod:`anabranch.results.statistics` sums up."""

Types = Mapping[str, pl.DataType | type[pl.DataType]]


def schema(table: str, labels: Types) -> Types:
    """The columns of a table, with those of the plan's labels (:meth:`anabranch.studies.sweep.plan.Sweep.labels`)."""
    return {column.name: column.type for column in HEAD} | dict(labels) | RESULT_SCHEMAS[table]


def conformed(rows: pl.DataFrame, schema: Types) -> pl.DataFrame:
    """The rows with exactly these columns; columns that the rows lack are null."""
    return rows.select(
        pl.col(name).cast(kind) if name in rows.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in schema.items()
    )
