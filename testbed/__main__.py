"""Measure Tables 2 to 5 on the live testbed: ``sudo python -m testbed``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.foundation.output_files import write_json
from anabranch.foundation.progress import Shown
from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, TCPBP
from testbed import measuring, page
from testbed.lab import Routed, Testbed
from testbed.plan import PROBED_S, Plan
from testbed.probes import Probes

FLOWS = (10, 25, 50)
FEWER_LOSSES = 8.0
"""Divisor of the losses that would explain the paper's rates (Table 4)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the testbed, wait for routes, measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("runs/testbed"), help="tables, kept from run to run (default runs/testbed)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of link values, losses and probes (default 1)")
    parser.add_argument("--slower", type=float, default=4.0, help="divides rates and multiplies delays (default 4)")
    parser.add_argument("--page", action="store_true", help="only write the page of what has been measured")
    options = parser.parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for fewer in () if options.page else (1.0, FEWER_LOSSES):
            _measure(options.out, options.seed, options.slower, fewer)
        page.write(options.out, options.seed, options.slower)
    except (NetworkError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Interrupted; the same command goes on from {options.out}", file=sys.stderr)
        return 130
    print(f"Written: {options.out / page.FILE}")
    return 0


def _measure(out: Path, seed: int, slower: float, fewer: float) -> None:
    plan = Plan.drawn(seed, slower, fewer)
    log = measuring.Log(out / page.TABLE)
    with Testbed(plan, seed) as bed:
        routed = _routes(bed, plan, seed)
        if fewer == 1.0:
            write_json(out / page.ROUTES, _document(routed))
            todo = list(measuring.tests(routed.routes, FLOWS, networks.pairs(plan.topology)))
        else:
            todo = list(measuring.tests(routed.routes, FLOWS[:1], [measuring.SHOWN]))
        with Shown(len(todo)) as shown:
            measuring.run(bed, plan, todo, log, fewer, lambda test, done: shown.show(done, "tests", test.title))
        mean, late, greatest, frames, refused = bed.cables.end()
        print(
            f"frames: {frames:,}, late by {1e6 * mean:.0f} us in the mean, {1e6 * late:.0f} us at the 99th percentile, {1e3 * greatest:.0f} ms at most; "
            f"{refused} not taken by a device",
            file=sys.stderr,
        )


def _routes(bed: Testbed, plan: Plan, seed: int) -> Routed:
    print(f"Probing the cables for {PROBED_S:.0f} s", file=sys.stderr)
    with Probes(plan, bed.hosts, seed):
        return bed.wait_for_routes(PROBED_S)


def _document(routed: Routed) -> dict[str, object]:
    """The link state and the routes as JSON, which the page reads."""
    return {
        "links": [[*ends, *values] for ends, values in routed.links.items()],
        "routes": {
            metric: [[*pair, list(path)] for pair, path in routed.routes[metric].items()]
            for metric in (TCPBP, DELAY, HOPS)
        },
    }


if __name__ == "__main__":
    sys.exit(main())
