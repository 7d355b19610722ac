"""TCPBP: routing by predicted TCP throughput (Vilela, Fonseca and Fonseca). The study's data are beside its modules."""

from collections.abc import Mapping

from anabranch.results.result import Result
from anabranch.studies.papers.study import Experiment, Findings, Lab, drawn
from anabranch.studies.papers.tcpbp import (
    absolute,
    asymmetry,
    beyond,
    claims,
    controller,
    fairness,
    law,
    numbers,
    pictures,
    tables,
    throughput,
    together,
)
from anabranch.studies.papers.tcpbp.evidence import Evidence


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments of all parts."""
    parts = (throughput, together, absolute, fairness, law, controller, asymmetry, beyond)
    return [experiment for part in parts for experiment in part.experiments(lab)]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings of the study."""
    evidence = Evidence(lab, results)
    return Findings(
        claims.all_of(evidence),
        numbers.all_of(evidence),
        drawn(pictures.FIGURES, evidence),
        [*tables.all_of(evidence), *beyond.tables(results)],
    )
