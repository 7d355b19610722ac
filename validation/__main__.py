"""Compare the packet engine with formulas, with ns-2, ns-3 and real Linux, and with a thesis.

Prints tables and verdicts, and writes them into docs/validation/comparisons.md, long tables into CSV files beside it. The exit status is 1 if a comparison deviates.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from anabranch import version
from bench.peers import PeerError, PeerMissing
from validation import (
    against_linux,
    against_linux_queues,
    against_linux_transfers,
    against_ns2,
    against_ns3,
    against_random_linux,
    against_real_linux,
    bernoulli,
    dctcp,
    fabrics,
    kikolo,
    l4s,
    link_state,
    periodic,
    responses,
    routing,
    spraying,
    utilisation,
    vegas,
)
from validation.section import Comparison

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "comparisons.md"
COMPARISONS = (
    Comparison("periodic", periodic.run),
    Comparison("responses", responses.run),
    Comparison("bernoulli", bernoulli.run),
    Comparison("ns2", against_ns2.run),
    Comparison("linux", against_linux.run),
    Comparison("real-linux", against_real_linux.run),
    Comparison("real-linux-controls", against_real_linux.run_controls),
    Comparison("real-linux-cdg-dctcp", against_real_linux.run_cdg_and_dctcp),
    Comparison("real-linux-short-flows", against_real_linux.run_short_flows),
    Comparison("real-linux-bbr-loss", against_real_linux.run_heavy_loss),
    Comparison("real-linux-bbr-shallow", against_real_linux.run_shallow),
    Comparison("real-linux-pairs", against_real_linux.run_pairs),
    Comparison("real-linux-spraying", against_real_linux.run_sprayed),
    Comparison("real-linux-spraying-bbr", against_real_linux.run_sprayed_bbr),
    Comparison("real-linux-mechanisms", against_real_linux.run_mechanisms),
    Comparison("real-linux-networks", against_random_linux.run),
    Comparison("real-linux-transfers", against_linux_transfers.run),
    Comparison("real-linux-queues", against_linux_queues.run),
    Comparison("ns2-reno", against_ns2.run_reno),
    Comparison("spraying", spraying.run),
    Comparison("spraying-variants", spraying.run_variants),
    Comparison("ns3", against_ns3.run),
    Comparison("utilisation", utilisation.run),
    Comparison("kikolo", kikolo.run),
    Comparison("vegas", vegas.run),
    Comparison("dctcp", dctcp.run),
    Comparison("l4s", l4s.run),
    Comparison("fabrics", fabrics.run),
    Comparison("tcpbp", routing.run),
    Comparison("tcpbp-backbones", routing.run_backbones),
    Comparison("link-state", link_state.run),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(prog="python -m validation", description=__doc__)
    keys = [comparison.key for comparison in COMPARISONS]
    parser.add_argument("--quick", action="store_true", help="fewer seeds and cells; the page is left as it is")
    parser.add_argument("--only", nargs="+", choices=keys, metavar="KEY", help=f"of {', '.join(keys)}")
    options = parser.parse_args(arguments)
    console = Console()
    sections = []
    for comparison in COMPARISONS:
        if options.only and comparison.key not in options.only:
            continue
        try:
            section = comparison.run(options.quick)
        except PeerMissing as error:
            print(f"{comparison.key}: skipped, {error}", file=sys.stderr)
            continue
        except PeerError as error:
            print(f"{comparison.key}: {error}", file=sys.stderr)
            return 1
        section.show(console)
        sections.append(section)
        if not options.quick:
            today = datetime.now(UTC).date().isoformat()
            section.write(PAGE, f"Anabranch {version()}, {today}, `python -m validation --only {section.key}`")
    return 0 if all(section.passed for section in sections) else 1


if __name__ == "__main__":
    sys.exit(main())
