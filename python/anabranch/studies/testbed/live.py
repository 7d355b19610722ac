"""The live network of a directory, and tests on it."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Timer

from anabranch.engines.openflow import routes
from anabranch.engines.openflow.lab import Lab
from anabranch.engines.openflow.link_state import CableEstimate
from anabranch.engines.openflow.plan import SOURCE_PORTS, LabPlan
from anabranch.engines.openflow.probes import Probes
from anabranch.engines.openflow.routes import Chosen
from anabranch.foundation.output_files import write_json
from anabranch.studies.testbed.tests import Log, Test, joined

ROUTES, TABLE = "routes.json", "tests.csv"


@dataclass(frozen=True)
class LearnedRoutes:
    """The controller's link state and routes."""

    routes: Chosen
    links: dict[tuple[str, str], CableEstimate]
    """By direction of a cable."""


def found_before(directory: Path) -> LearnedRoutes | None:
    """The link state and the routes of an earlier measurement in the directory, if there was one."""
    file = directory / ROUTES
    if not file.exists():
        return None
    document = json.loads(file.read_text(encoding="utf-8"))
    links = {(source, target): CableEstimate(*values) for source, target, *values in document["links"]}
    return LearnedRoutes(routes.read(document["routes"]), links)


@contextmanager
def live(plan: LabPlan, seed: int, directory: Path) -> Iterator[tuple[Lab, LearnedRoutes]]:
    """The live network with the routes of the directory. Without any, it measures them first and writes them there.

    Raises:
        NetworkError: names the program or privilege that is missing.
    """
    before = found_before(directory)
    with Lab(plan, None if before is None else before.routes) as bed:
        if before is not None:
            bed.wait_for_routes(0)
            yield bed, before
            return
        with Probes(plan, bed.hosts, seed):
            routed = bed.wait_for_routes(plan.probing.length_s)
        links = [[*ends, *values] for ends, values in routed.links.items()]
        write_json(directory / ROUTES, {"links": links, "routes": routes.written(routed.routes)})
        yield bed, LearnedRoutes(routed.routes, routed.links)


def run(
    bed: Lab,
    plan: LabPlan,
    todo: Sequence[Test],
    log: Log,
    seconds: int,
    warm_up_s: int,
    show: Callable[[Test, int], None],
) -> None:
    """Run tests of this length and add them to the log; ``show`` is called before each.

    Raises:
        NetworkError: iperf3 fails again and again.
    """
    for number, test in enumerate(todo):
        show(test, number)
        log.add(_row(bed, plan, test, seconds, warm_up_s))


def _row(bed: Lab, plan: LabPlan, test: Test, seconds: int, warm_up_s: int) -> dict[str, object]:
    at_warm: list[tuple[float, float]] = [(time.monotonic(), bed.switches.processor_s())]
    timer = Timer(warm_up_s + 1, lambda: at_warm.append((time.monotonic(), bed.switches.processor_s())))
    timer.start()
    try:
        found = bed.hosts.measure(
            *test.pair,
            flows=test.flows,
            first_port=plan.source_port(test.metrics[0])
            + next(_ports) * (test.flows + 1) % (SOURCE_PORTS - test.flows),
            seconds=seconds,
            warm_up_s=warm_up_s,
        )
    finally:
        timer.cancel()
    warm_s, before = at_warm[-1]
    busy = (bed.switches.processor_s() - before) / (time.monotonic() - warm_s)
    return {
        "source": test.pair[0], "target": test.pair[1], "path": joined(test.path), "back": joined(test.back), "metrics": "; ".join(test.metrics),
        "flows": test.flows, "repetition": test.repetition, "seconds": seconds, "warm_up_s": warm_up_s,
        "goodput_bps": round(found.mean_bps, 1), "jain": round(found.jain, 5), "retransmits": found.retransmits, "busy": round(busy, 3),
    }  # fmt: skip


_ports = count()
"""Each test has other source ports than those before: connections that have just ended keep theirs."""
