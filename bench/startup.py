"""Count the modules that small commands import, and compare with what was recorded: imports are most of a small run's time.

Fails if a count has grown by more than 2 % and no reason was recorded (--record). Modules of Python and of other packages count too.
"""

import argparse
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

RECORD = Path(__file__).with_suffix(".toml")
GROWTH = 0.02
SCENARIO = """\
topology.from = "dumbbell"
traffic = [{ from = "s1", to = "d1", bulk = true }]
run.duration = "1ms"
"""
COMMAND_LINE = "from anabranch.__main__ import main\nmain()"
CASES = {
    "help": (COMMAND_LINE, "--help"),
    "scenario": ("from anabranch import Scenario\nScenario.load('tiny.toml')",),
    "check": (COMMAND_LINE, "check", "tiny.toml"),
    "run": (COMMAND_LINE, "run", "tiny.toml", "--no-report"),
    "report": (COMMAND_LINE, "run", "tiny.toml"),
}
"""Python code, and the arguments of its command line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=__doc__)
    parser.add_argument("--record", metavar="REASON", help="write the counts down as what holds from now on")
    options = parser.parse_args(arguments)
    counts = {case: len(imported(case)) for case in CASES}
    if options.record is not None:
        _write(counts, options.record)
    latest = tomllib.loads(RECORD.read_text(encoding="utf-8"))["record"][-1]
    table = Table("case", "recorded", "now", title="Imported modules", title_justify="left")
    for case, count in counts.items():
        table.add_row(case, str(latest[case]), str(count))
    Console().print(table)
    grown = [case for case, count in counts.items() if count > latest[case] * (1 + GROWTH)]
    if grown:
        print(
            f"startup: {', '.join(grown)}: imports have grown by more than {GROWTH:.0%}. Import later what few commands need, "
            "or say why it must be: python -m bench.startup --record REASON. "
            f"Recorded with Python {latest['python']}, counted with {platform.python_version()}.",
            file=sys.stderr,
        )
    return 1 if grown else 0


def imported(case: str) -> set[str]:
    """The names of all modules that are loaded when a case ends.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    code, *arguments = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tiny.toml").write_text(SCENARIO, encoding="utf-8")
        names = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{code}"
        command = [sys.executable, "-c", names, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stderr.splitlines()[-1].split())


def _write(counts: dict[str, int], reason: str) -> None:
    today = datetime.now(UTC).date().isoformat()
    numbers = "".join(f"{case} = {count}\n" for case, count in counts.items())
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    with RECORD.open("a", encoding="utf-8") as file:
        file.write(
            f'\n[[record]]\ndate = {today}\n{numbers}python = "{platform.python_version()}"\nreason = "{quoted}"\n'
        )


if __name__ == "__main__":
    sys.exit(main())
