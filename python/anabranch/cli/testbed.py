"""``anabranch testbed``."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, INTERRUPTED, UsageError
from anabranch.cli.options import OUTPUT, PATHS, TOPOLOGY, TRAFFIC, WORK, Json, Whole, at_least, between, rate_bps
from anabranch.cli.output import json_text, say
from anabranch.foundation.output_files import require_directory
from anabranch.foundation.text_table import print_table

MOST_FLOWS = 128
"""iperf3's bound."""


@Parameter(name="*", group=TOPOLOGY)
@dataclass(frozen=True)
class Links:
    """The values of links."""

    rate: Annotated[str | None, Parameter(help="Rate of all links, such as 10Mbps (default their own).")] = None
    losses: Annotated[
        Literal["printed", "drawn"],
        Parameter(help="Losses and delays as the network has them, or each drawn within 5 %."),
    ] = "printed"
    seed: Annotated[Whole, Parameter(help="Seed of losses, and of drawn values.")] = 1


@Parameter(name="*", group=TRAFFIC)
@dataclass(frozen=True)
class Tests:
    """The flows of a test, and their repetition."""

    flows: Annotated[Whole, Parameter(help="Flows of a test.")] = 10
    repetitions: Annotated[Whole, Parameter(help="Tests of each pair and path.")] = 3


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """Where results are kept, and the form of the answer."""

    out: Annotated[
        Path | None,
        Parameter(name=["--out", "-o"], help="Keep tests and answer in this directory (default testbed-NETWORK)."),
    ] = None
    json: Json = False


def testbed(
    network: Annotated[
        str, Parameter(help="A TopoHub name, a built-in, a topology file, or a scenario (its topology and losses).")
    ],
    /,
    *,
    pairs: Annotated[
        list[str],
        Parameter(group=TRAFFIC, negative="", help="Who sends to whom, one pair at a time: A-B,C-D. May be repeated."),
    ],
    minutes: Annotated[float, Parameter(group=WORK, help="Time of all tests together, with the start and the probes.")],
    metrics: Annotated[
        str,
        Parameter(group=PATHS, help="Metrics whose paths are measured; + joins metrics of which the first decides."),
    ] = "tcpbp,delay,hop-count",
    tests: Tests = Tests(),
    links: Links = Links(),
    output: Output = Output(),
) -> int:
    """Measure TCP over Open vSwitch on this machine: Linux's CUBIC over the paths of metrics, beside the packet engine.

    An OpenFlow controller probes the links and installs the paths. Needs root, openvswitch-switch, iperf3 and os-ken. Ctrl-C gives the table of the
    tests so far and ends with status 130; the same command continues.
    """
    at_least(1, flows=tests.flows, repetitions=tests.repetitions)
    between("--flows", tests.flows, tests.flows, 1, MOST_FLOWS)
    if not 0 < minutes < math.inf:
        raise UsageError(f"--minutes {minutes:g}: must be more than 0, such as 10")
    if links.rate is not None:
        rate_bps("--rate", links.rate)
    names = _metrics(metrics)
    from anabranch.studies.testbed.answer import answer, text_table
    from anabranch.studies.testbed.measuring import measure
    from anabranch.studies.testbed.network import LiveNetwork
    from anabranch.studies.testbed.tests import pairs_of

    own = LiveNetwork.of(network, links.rate, links.seed, is_drawn=links.losses == "drawn")
    asked = pairs_of(pairs, own.cables().cases[0].names.nodes)
    directory = output.out or Path(f"testbed-{Path(network).stem}")
    require_directory(directory)
    found = measure(
        own,
        asked,
        names,
        flows=tests.flows,
        repetitions=tests.repetitions,
        time_s=60 * minutes,
        directory=directory,
    )
    if found.lateness:
        say(found.lateness)
    rows, document = answer(found, asked, tests.flows, directory)
    if output.json:
        print(json_text(document))
    else:
        print_table(text_table(rows))
    say(f"Tests and answer: {directory}")
    if found.interrupted:
        say(
            f"Interrupted: {sum(row.tests + row.busy for row in rows)} of {len(found.planned) or 'all'} tests; the same command continues"
        )
        return INTERRUPTED
    return DONE


def _metrics(text: str) -> list[str]:
    from anabranch.network.metrics import metric

    names = [", ".join(metric(one.replace("+", ","))) for one in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'--metrics {text}: "{name}" is listed twice; name each metric once')
    return names
