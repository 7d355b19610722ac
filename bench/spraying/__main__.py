"""Run sweeps/detectors.toml, and write the tables of docs/models/who-survives-spraying.md and their file.

Stopped, the same command continues. A finished sweep takes a second.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from anabranch import Sweep, version
from bench.page import write_part
from bench.spraying import cells, page

PAGE = cells.PLAN.parents[1] / "docs" / "models" / "who-survives-spraying.md"
FILE = PAGE.with_suffix(".csv")
COMMAND = "python -m bench.spraying"


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep, and write; the exit status is 1 if a run failed or was stopped, and then the page is left as it is."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("runs/spraying"), help="directory of the sweep (default: %(default)s)"
    )
    parser.add_argument("-j", "--jobs", type=int, help="runs at a time (default: one for each core)")
    options = parser.parse_args(arguments)
    sweep = Sweep.load(cells.PLAN)
    result = sweep.execute(options.out, jobs=options.jobs, show_progress=True)
    if result.interrupted or not result.failures.is_empty():
        print(f"{PAGE.name} is left as it is: {result.runs()} of {sweep.planned} runs are finished", file=sys.stderr)
        return 1
    found = cells.of_flows(result.flows)
    found.write_csv(FILE)
    write(found)
    transfers = result.flows.filter(pl.col("size_bytes").is_in(list(cells.SIZES.values()))).height
    source = (
        f"{sweep.planned:,} runs with {transfers:,} transfers, of which {found['unfinished'].sum()} did not finish. "
        f"Anabranch {version()}, {datetime.now(UTC).date().isoformat()}, `{COMMAND}`"
    )
    write_part(PAGE, "source", source)
    return 0


def write(found: pl.DataFrame) -> None:
    """Write the parts of the page that have the cells."""
    for key, text in page.parts(found).items():
        write_part(PAGE, key, text)


if __name__ == "__main__":
    sys.exit(main())
