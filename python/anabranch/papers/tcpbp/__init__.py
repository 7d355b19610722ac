"""TCPBP: routing by predicted TCP throughput (Vilela, Fonseca and Fonseca). The study's data are beside its modules."""

from collections.abc import Mapping

from anabranch.papers.study import Experiment, Findings, Lab
from anabranch.papers.tcpbp import (
    absolute,
    asymmetry,
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
from anabranch.papers.tcpbp.evidence import Evidence
from anabranch.results import Result


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments of all parts."""
    parts = (throughput, together, absolute, fairness, law, controller, asymmetry)
    return [experiment for part in parts for experiment in part.experiments(lab)]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings of the study."""
    evidence = Evidence(lab, results)
    return Findings(
        claims.all_of(evidence), numbers.all_of(evidence), pictures.all_of(evidence), tables.all_of(evidence)
    )
