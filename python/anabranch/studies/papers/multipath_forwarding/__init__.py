"""Lee, Park and Choi, "Improving TCP performance in multipath packet forwarding networks" (2002).

The study compares stacks over several paths, with forwarding packet by packet and flow by flow. The stacks are plain TCP, a greater
duplicate-ACK threshold, a delayed ACK that also delays ACKs for segments out of order, and both together.
"""

from collections.abc import Mapping

from anabranch.results.result import Result
from anabranch.studies.papers.multipath_forwarding import (
    backbone,
    maps,
    parallel_paths,
    partial_paths,
    readings,
    short_flows,
    up_link,
    windows,
)
from anabranch.studies.papers.study import Experiment, Findings, Lab

_PARTS = (maps, parallel_paths, windows, partial_paths, backbone, short_flows, up_link, readings)


def experiments(lab: Lab) -> list[Experiment]:
    """All parts' experiments."""
    return [experiment for part in _PARTS for experiment in part.experiments(lab)]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """All parts' findings, in the order of the paper."""
    found = [part.findings(lab, results) for part in _PARTS]
    return Findings(
        [claim for one in found for claim in one.claims],
        [number for one in found for number in one.numbers],
        [picture for one in found for picture in one.pictures],
        [table for one in found for table in one.tables],
    )
