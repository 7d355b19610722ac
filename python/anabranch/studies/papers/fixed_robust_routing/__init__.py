"""Fukushima, Matsumura, Urushibara, Yokohira (2016): candidate paths for TCP in fixed robust routing."""

from collections.abc import Mapping

from anabranch.results.result import Result
from anabranch.studies.papers.fixed_robust_routing import (
    network,
    network_claims,
    network_numbers,
    network_pictures,
    parallel,
    parallel_findings,
)
from anabranch.studies.papers.study import Experiment, Findings, Lab, drawn


def experiments(lab: Lab) -> list[Experiment]:
    """Section 4's parallel paths, and section 6's NSFNET."""
    return [*parallel.experiments(lab), *network.experiments(lab)]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """Verdicts, numbers and figures of both sections."""
    paths, nsfnet = parallel.found(results), network.found(lab, results)
    return Findings(
        [*parallel_findings.claims(paths, lab.published), *network_claims.claims(nsfnet, lab.published)],
        [*parallel_findings.numbers(paths), *network_numbers.numbers(nsfnet)],
        [
            *drawn(parallel_findings.FIGURES, paths, lab.published),
            *drawn(network_pictures.FIGURES, nsfnet, lab.published),
        ],
        [*parallel_findings.tables(paths, lab.published), *network_numbers.tables(lab, nsfnet)],
    )
