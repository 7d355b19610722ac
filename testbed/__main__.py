"""Measure Tables 2 to 5 on the live testbed: ``sudo python -m testbed``."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.foundation.extras import MissingExtraError
from anabranch.foundation.progress import Shown
from anabranch.studies.testbed.live import ROUTES, TABLE, live, run
from anabranch.studies.testbed.tests import Log
from testbed import page
from testbed.paper import FLOWS, FOLDERS, SECONDS, WARM_UP_S, Paper, planned, worth_doing


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
        for fewer, folder in {} if options.page else FOLDERS.items():
            _measure(Paper(options.seed, options.slower, fewer), options.out / folder)
        shutil.copyfile(options.out / FOLDERS[1.0] / ROUTES, options.out / page.ROUTES)
        page.write(options.out, options.seed, options.slower)
    except (NetworkError, MissingExtraError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Interrupted; the same command goes on from {options.out}", file=sys.stderr)
        return 130
    print(f"Written: {options.out / page.FILE}")
    return 0


def _measure(paper: Paper, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    plan, log = paper.plan(), Log(directory / TABLE)
    with live(plan, paper.seed, directory) as (bed, found):
        every = list(planned(found.routes, paper.fewer_losses))
        with Shown(len(every)) as shown:
            before = log.table.height
            shown.skip(before)
            for flows in FLOWS:  # whether a path is too fast shows with fewer flows
                todo = list(worth_doing((test for test in every if test.flows == flows), log))
                run(
                    bed,
                    plan,
                    todo,
                    log,
                    SECONDS,
                    WARM_UP_S,
                    lambda test, _: shown.show(log.table.height - before, "tests", test.title),
                )
        print(bed.lateness(), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
