"""A measurement of some pairs within a time, which a later one in the same directory continues."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.engines.openflow.plan import LabPlan, Probing
from anabranch.engines.openflow.routes import Pair
from anabranch.foundation.output_files import write_text
from anabranch.foundation.progress import Shown
from anabranch.studies.testbed.live import TABLE, LearnedRoutes, found_before, live, run
from anabranch.studies.testbed.network import LiveNetwork, MeasurementError
from anabranch.studies.testbed.tests import Log, Test, each_path

CABLES = "cables.toml"
"""The network of a directory, and the metrics."""
_SWITCH_S, _OVERHEAD_S = 0.7, 1.5
"""Time to start a switch; time of a test besides its flows. Estimates for two cores."""
_PROBE_BYTES, _PROBE_SHARE, _MOST_PROBES, _MOST_PROBES_OF_ALL = 200, 0.05, 200, 6000
"""A probe's size; the most that probes take of a link; the most probes in a second over a direction of a cable, and over all together."""
_LONGEST_PROBING_S, _PROBING_SHARE = 120.0, 0.25
_LEAST_TEST_S, _LONGEST_TEST_S = 6, 60
_WARM_UP_SHARE = 1 / 3
"""Of a test, as in TCPBP's: 5 s of 15 s."""


@dataclass
class Measured:
    """The results so far."""

    network: LiveNetwork
    plan: LabPlan
    found: LearnedRoutes | None = None
    """``None`` if the measurement was interrupted before there were routes."""
    planned: list[Test] = field(default_factory=list)
    lateness: str = ""
    interrupted: bool = False


def measure(
    network: LiveNetwork,
    pairs: Sequence[Pair],
    metrics: Sequence[str],
    *,
    flows: int,
    repetitions: int,
    time_s: float,
    directory: Path,
) -> Measured:
    """Measure the throughput of the pairs, within this time, and continue what is in the directory.

    Ctrl-C ends the measurement: ``interrupted``.

    Raises:
        MeasurementError: the time is too short, or the directory has another measurement.
        NetworkError: names the program or privilege that is missing.
    """
    began = time.monotonic()
    plan = LabPlan(network.cables(), metrics)
    probing = _probing(plan, min(_LONGEST_PROBING_S, _PROBING_SHARE * time_s))
    plan = LabPlan(plan.scenario, metrics, probing, keeps_routes=True)
    _claim(directory, plan)
    log, measured = Log(directory / TABLE), Measured(network, plan, found_before(directory))
    most = len(pairs) * len(metrics) * repetitions
    if measured.found is not None:
        measured.planned = list(each_path(measured.found.routes, pairs, flows, repetitions))
        most = sum(not log.has(test) for test in measured.planned)
        if most == 0:
            return measured
    least_s = (_SWITCH_S * len(plan.numbers) + most * (_LEAST_TEST_S + _OVERHEAD_S)) / (1 - _PROBING_SHARE)
    if time_s < least_s:
        raise MeasurementError(
            f"--minutes {time_s / 60:g}: up to {most} tests take at least {math.ceil(least_s / 6) / 10:g} minutes: give more minutes, fewer "
            "pairs, metrics or repetitions"
        )
    try:
        with Shown(time_s) as shown:
            shown.show(0, "starting switches, probing links", f"{probing.length_s:.0f} s of probes")
            with live(plan, network.seed, directory) as (bed, measured.found):
                measured.planned = list(each_path(measured.found.routes, pairs, flows, repetitions))
                todo = [test for test in measured.planned if not log.has(test)]
                whole_s = int((time_s - (time.monotonic() - began)) / len(todo) - _OVERHEAD_S)
                whole_s = min(_LONGEST_TEST_S, max(_LEAST_TEST_S, whole_s))
                warm_up_s = round(_WARM_UP_SHARE * whole_s)

                def show(test: Test, number: int) -> None:
                    done_s, left_s = time.monotonic() - began, (len(todo) - number) * (whole_s + _OVERHEAD_S)
                    shown.skip(time_s - done_s - left_s)
                    shown.show(done_s, test.title, f"test {number + 1} of {len(todo)}")

                run(bed, plan, todo, log, whole_s - warm_up_s, warm_up_s, show)
                measured.lateness = bed.lateness()
    except KeyboardInterrupt:
        measured.interrupted = True
    return measured


def _probing(plan: LabPlan, length_s: float) -> Probing:
    """Probes of all cables, at the greatest rate that their links and this machine carry."""
    links = plan.topology.links
    slowest = min(link.capacity_bps or 0 for link in links)
    rate = min(_MOST_PROBES, _MOST_PROBES_OF_ALL / len(links), _PROBE_SHARE * slowest / (8 * _PROBE_BYTES))
    # Three samples for the mean, and the counters before them.
    return Probing(rate * 8 * _PROBE_BYTES, _PROBE_BYTES, min(10.0, length_s / 4), length_s)


def _claim(directory: Path, plan: LabPlan) -> None:
    """Note what is measured here; refuse a directory of another measurement."""
    directory.mkdir(parents=True, exist_ok=True)
    text = f"# metrics: {'; '.join(plan.metrics)}\n{plan.scenario.to_toml()}"
    file = directory / CABLES
    if not file.exists():
        write_text(file, text)
    elif file.read_text(encoding="utf-8") != text:
        raise MeasurementError(
            f"{directory}: has measurements of another network, seed or metrics ({file.name}): choose another --out, or remove it"
        )
