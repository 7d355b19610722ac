"""Run a checkout's scripts in packetdrill's language and tabulate what came of them.

    python -m bench.drill CHECKOUT/gtests/net/tcp --page

Prints a table of every script; ``--page`` writes it into docs/validation/drill.md, with the checkout's commit. The exit status is 1 if a
script fails.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from anabranch.engines import drill

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "drill.md"
BEGIN, END = "<!-- written by python -m bench.drill -->", "<!-- end of what it writes -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scripts."""
    parser = argparse.ArgumentParser(prog="python -m bench.drill", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the scripts are, in folders")
    parser.add_argument("--stack", choices=("linux", "rfc"), default="linux")
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument(
        "--source", default="", help="what the page is to call the checkout (default its folder and commit)"
    )
    options = parser.parse_args(arguments)
    scripts = sorted(options.directory.rglob("*.pkt"))
    if not scripts:
        parser.error(f"{options.directory}: no scripts (*.pkt) in it")
    outcomes = {script.relative_to(options.directory): drill.run(script, options.stack) for script in scripts}
    source = options.source or _commit(options.directory)
    page = "\n".join(_page(outcomes, source, options.stack))
    print(page)
    if options.page:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{page}\n{END}{after}", encoding="utf-8")
    return 1 if any(outcome.verdict == "failed" for outcome in outcomes.values()) else 0


def _commit(directory: Path) -> str:
    found = subprocess.run(
        ["git", "-C", str(directory), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return f"{directory.name} at {found.stdout.strip() or 'no commit'}"


def _page(outcomes: dict[Path, drill.Outcome], source: str, stack: str) -> Iterator[str]:
    yield f"\nScripts of {source}, stack `{stack}`: {drill.summary(outcomes.values())}.\n"
    yield "| folder | passed | failed | refused |"
    yield "| --- | --- | --- | --- |"
    for folder in dict.fromkeys(script.parent for script in outcomes):
        verdicts = Counter(outcome.verdict for script, outcome in outcomes.items() if script.parent == folder)
        refused = verdicts["refused"] + verdicts["invalid"]
        yield f"| {folder} | {verdicts['passed']} | {verdicts['failed']} | {refused} |"
    failed = [(script, outcome) for script, outcome in outcomes.items() if outcome.verdict == "failed"]
    if failed:
        yield "\n| failed | line | why |"
        yield "| --- | --- | --- |"
        yield from (f"| {script} | {outcome.line} | {_reason(outcome.text)} |" for script, outcome in failed)
    for verdict, head in (("refused", "refused"), ("invalid", "not of the language")):
        reasons = Counter(_reason(outcome.text) for outcome in outcomes.values() if outcome.verdict == verdict)
        if reasons:
            yield f"\n| {head} for | scripts |"
            yield "| --- | --- |"
            yield from (f"| {reason} | {count} |" for reason, count in reasons.most_common())


def _reason(text: str) -> str:
    first, *rest = text.replace("|", "\\|").splitlines()
    return "; ".join([first, *(" ".join(line.split()) for line in rest)])


if __name__ == "__main__":
    sys.exit(main())
