"""Other readings of points on which the paper is silent, over the same three paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from anabranch.studies.papers.multipath_forwarding import schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios, relative, total
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.study import Experiment, Findings, Table

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

SCENARIO = "parallel.toml"
FEW_FLOWS = "ten-flows"
OURS = "ours"
ALL_FIELDS = {"routing.flow.hash": '["source", "destination", "source-port", "destination-port"]'}
_NO_RULE_2 = '{ name = "stretch", segments = 2, interval = "0s", out_of_order = false }'
_QUICK = {"run.duration": '"5s"', "run.warm_up": '"2s"', "run.seeds": "3"}
_SCHEMES = (schemes.STANDARD, schemes.MODIFIED, schemes.THRESHOLD, schemes.INTEGRATED, schemes.FLOW_LEVEL)


@dataclass(frozen=True)
class Reading:
    """A reading: settings for every scheme, and for the single path too."""

    name: str
    says: str
    settings: Mapping[str, str] = field(default_factory=dict)
    receiver: str = schemes.MODIFIED.ack
    """The receiver with the modified delayed ACK."""


READINGS = (
    Reading(OURS, "as we read it"),
    Reading("random", "paths at random instead of in turn", {"routing.packet.select": '"random"'}),
    Reading("hash", "hash of addresses and ports instead of the source's address", ALL_FIELDS),
    Reading(
        "acks-on-one-path", "ACKs take one path", {"routing.packet.acks": '"single"', "routing.flow.acks": '"single"'}
    ),
    Reading("sack", "SACK", {"stacks.tcp.sack": "true"}),
    Reading("limited-transmit", "limited transmit", {"stacks.tcp.limited_transmit": "true"}),
    Reading("both", "SACK and limited transmit", {"stacks.tcp.sack": "true", "stacks.tcp.limited_transmit": "true"}),
    Reading("no-rule-2", "receiver without rule 2: no ACK at once", receiver=_NO_RULE_2),
    Reading("min-rto", "least retransmission timeout 1 s", {"stacks.tcp.min_rto": '"1s"'}),
    Reading("queue-100", "queues of 100 packets", {"topology.queue.limit": '"100 packets"'}),
    Reading("queue-bdp", "queues of a bandwidth-delay product", {"topology.queue.limit": '"1 bdp"'}),
    Reading(
        "long-paths",
        "paths of two links of 10 ms",
        {"topology.generate.delay": '"20ms"', "topology.generate.difference": '"10ms"'},
    ),
    Reading(FEW_FLOWS, "ten flows, one of each pair", {"traffic.0.flows": "1"}),
)


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments in every reading: packet by packet over one path and three, and flow by flow over three."""
    made = []
    for reading in READINGS:
        packet = merged(
            schemes.STANDARD.settings(),
            {
                "topology.generate.paths": "[1, 3]",
                "stacks.tcp.detection": '["dup-ack", "path-count"]',
                "stacks.tcp.ack": f'["immediate", {reading.receiver}]',
            },
            reading.settings,
        )
        flow = merged(schemes.FLOW_LEVEL.settings(), {"topology.generate.paths": "3"}, reading.settings)
        for kind, settings in (("packet", packet), ("flow", flow)):
            scenario = lab.scenario(SCENARIO, full=settings, quick=merged(settings, _QUICK))
            made.append(Experiment(f"reading-{reading.name}-{kind}", scenario))
    return made


def ratios(results: Mapping[str, Result]) -> Ratios:
    """Goodput over three paths relative to a single path, by reading and scheme; delays of 10, 12.5 and 15 ms, no link loss."""
    tables = []
    names = {"topology.generate.paths": "paths", "stacks.tcp.detection": "detection", "stacks.tcp.ack": "ack"}
    for reading in READINGS:
        packet = total(results[f"reading-{reading.name}-packet"], names)
        plain = (pl.col("detection") == "dup-ack") & (pl.col("ack") == "immediate")
        single = packet.filter(plain & (pl.col("paths") == 1))
        scheme = (
            pl.when(plain)
            .then(pl.lit(schemes.STANDARD.label))
            .when(pl.col("detection") == "dup-ack")
            .then(pl.lit(schemes.MODIFIED.label))
            .when(pl.col("ack") == "immediate")
            .then(pl.lit(schemes.THRESHOLD.label))
            .otherwise(pl.lit(schemes.INTEGRATED.label))
        )
        several = packet.filter(pl.col("paths") == 3).with_columns(scheme=scheme)
        flow = total(results[f"reading-{reading.name}-flow"]).with_columns(scheme=pl.lit(schemes.FLOW_LEVEL.label))
        columns = ["seed", "scheme", "goodput"]
        both = pl.concat([several.select(columns), flow.select(columns)])
        tables.append(relative(both, single).with_columns(reading=pl.lit(reading.name)))
    return Ratios(pl.concat(tables))


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """A table of all schemes in all readings."""
    found = ratios(results)
    rows = [
        [reading.says, *(str(found.at(reading=reading.name, scheme=scheme.label)) for scheme in _SCHEMES)]
        for reading in READINGS
    ]
    table = Table(
        "readings",
        "Other readings",
        "Goodput over three paths, relative to a single path with the same reading; delays of 10, 12.5 and 15 ms, no link loss.",
        ["Reading", *(scheme.label for scheme in _SCHEMES)],
        rows,
    )
    return Findings([], [], [], [table])
