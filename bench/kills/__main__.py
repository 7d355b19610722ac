"""Kill commands (SIGKILL) at random moments and before random changes of the file system, and look for results that are lost, torn or different afterwards.

Each command has two versions that write to one place in turn. After every kill the place holds a whole result, the former or the new one,
and no finished run has gone. The same command goes on until its result equals that of a command without a kill.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from bench.kills import checks, process
from bench.kills.commands import COMMANDS, Command, prepare


def main() -> int:
    """Kill so often, or so long."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (default 1)")
    parser.add_argument("--limit", type=float, default=float("inf"), help="end after so many seconds")
    options = parser.parse_args()
    began = time.monotonic()
    process.prepare()
    with tempfile.TemporaryDirectory(prefix="anabranch-kills-") as folder:
        victims = [Victim(name, Path(folder), Random(f"{options.seed} {name}")) for name in COMMANDS]
        for kill in range(options.kills):
            if time.monotonic() - began > options.limit:
                break
            victims[kill % len(victims)].kill()
            if sys.stderr.isatty():
                print(f"\r{kill + 1} kills", end="", file=sys.stderr)
        for victim in victims:
            victim.end()
    problems = [problem for victim in victims for problem in victim.problems]
    print("\n".join(problems))
    for victim in victims:
        print(f"{victim.name}: {victim.kills} kills, {victim.results} results reached, {len(victim.problems)} problems")
    print(
        f"{sum(victim.kills for victim in victims)} kills in {time.monotonic() - began:.0f} s, {len(problems)} problems"
    )
    return 1 if problems else 0


class Victim:
    """A command that is killed again and again until it ends; then its other version is."""

    def __init__(self, name: str, folder: Path, draw: Random) -> None:
        """Run both versions without a kill, for their results and how long they take."""
        self.name = name
        self.kills = self.results = 0
        self.problems: list[str] = []
        self._command: Command = COMMANDS[name]
        self._draw = draw
        self._wholes: list[dict[str, str]] = []
        self._durations: list[float] = []
        self._changes: list[int] = []
        for number, arguments in enumerate(self._command.versions):
            prepare(name, folder / f"{name}-{number}")
            began = time.monotonic()
            status = process.run(arguments, folder / f"{name}-{number}")
            self._durations.append(time.monotonic() - began)
            if status != 0:
                raise RuntimeError((folder / f"{name}-{number}" / "messages.txt").read_text())
            self._changes.append(int((folder / f"{name}-{number}" / "changes.txt").read_text()))
            self._wholes.append(process.call(checks.results, folder / f"{name}-{number}" / self._command.place))
        self._version = 0
        self._begin(folder / name)

    def _begin(self, folder: Path) -> None:
        prepare(self.name, folder)
        self._folder = folder
        self._place = folder / self._command.place
        self._former: dict[str, str] = {}
        self._finished: set[str] = set()

    def kill(self) -> None:
        """Run the command, kill it, and check what it leaves."""
        arguments = self._command.versions[self._version]
        if self._draw.random() < 0.5:
            moment = self._draw.uniform(0, 1.1 * self._durations[self._version])
            status = process.run(arguments, self._folder, kill_after_s=moment)
        else:
            change = self._draw.randrange(self._changes[self._version])
            status = process.run(arguments, self._folder, kill_at_change=change)
        self.kills += 1
        if status not in (None, 0):
            self._report(f"ended with status {status}: {self._messages()}")
        self._check()
        if status == 0:
            self._expect_whole()

    def end(self) -> None:
        """Let the command end; its result must be that of one that was not killed."""
        status = process.run(self._command.versions[self._version], self._folder)
        if status != 0:
            self._report(f"does not go on: status {status}: {self._messages()}")
        self._expect_whole()

    def _check(self) -> None:
        if not self._place.exists():
            if self._former:
                self._report("the former result is gone")
            return
        for problem in process.call(checks.torn, self._place):
            self._report(f"torn: {problem}")
        found = process.call(checks.results, self._place)
        whole = self._wholes[self._version]
        if self._command.is_one_result and found not in (self._former, whole):
            self._report(
                f"neither the former nor the new result: {sorted(set(found.items()) ^ set(whole.items()))[:4]}"
            )
        if not self._command.is_one_result and set(self._former) - set(found):
            self._report(f"gone: {sorted(set(self._former) - set(found))[:4]}")
        finished = process.call(checks.finished_runs, self._place)
        if found != whole and self._finished - finished:
            self._report(f"{len(self._finished - finished)} finished runs are lost")
        self._finished = finished

    def _expect_whole(self) -> None:
        """The command has ended: the other version is next."""
        self.results += 1
        found = process.call(checks.results, self._place)
        expected = self._wholes[self._version]
        different = sorted(name for name in expected if found.get(name) != expected[name])
        if different:
            self._report(f"the result differs from that of a command that was not killed: {different[:4]}")
        unexpected = (
            [path for path in self._place.rglob("*") if ".partial" in path.name] if self._place.is_dir() else []
        )
        if unexpected:
            self._report(f"left behind: {unexpected[:4]}")
        self._former = found
        self._finished = set()
        self._version = 1 - self._version
        if not self._command.replaces:
            self._begin(self._folder.with_name(f"{self.name}-after-{self.results}"))

    def _messages(self) -> str:
        return (self._folder / "messages.txt").read_text()[-500:]

    def _report(self, problem: str) -> None:
        self.problems.append(f"{self.name}, kill {self.kills}: {problem}")


if __name__ == "__main__":
    sys.exit(main())
