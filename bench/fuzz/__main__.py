"""Run random scenarios, predict others, and look for results that cannot be; read broken files and look for answers that no reader should give. So with odd values at keys.

A panic, a traceback and a run that does not end are problems in all. Prints each problem with the number of its scenario or file, which
``--show``, ``--show-predicted``, ``--show-odd`` and ``--show-file`` print. The exit status is 1 if there is any.
"""

import argparse
import faulthandler
import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from anabranch.foundation.progress import Steps
from bench.fuzz import keys, predicted, read, run
from bench.fuzz.broken import broken
from bench.fuzz.scenarios import random_scenario

AT_ONCE = 50
"""Scenarios or files that a process takes one after another."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios with these numbers."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("scenarios", type=int, nargs="?", default=20_000, help="how many (default 20000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (default 0)")
    parser.add_argument(
        "--limit", type=int, default=120, help="seconds after which a scenario counts as one that hangs"
    )
    parser.add_argument("--show", type=int, help="print the scenario of this number, and what is wrong with it")
    parser.add_argument("--predicted", type=int, default=10_000, help="how many predicted scenarios (default 10000)")
    parser.add_argument("--show-predicted", type=int, help="the same as --show of a predicted scenario")
    parser.add_argument(
        "--odd", type=int, default=5_000, help="how many odd values at keys of a scenario (default 5000)"
    )
    parser.add_argument("--show-odd", type=int, help="the same as --show of a scenario with an odd value")
    parser.add_argument("--files", type=int, default=7_000, help="how many broken files (default 7000)")
    parser.add_argument(
        "--show-file", type=int, help="print the broken file of this number, and what is wrong with how it is read"
    )
    options = parser.parse_args(arguments)
    if options.show is not None:
        print(json.dumps(random_scenario(options.show), indent=1))
        print(*run.problems(options.show), sep="\n")
        return 0
    if options.show_predicted is not None:
        print(json.dumps(predicted.predictable_scenario(options.show_predicted), indent=1))
        print(*predicted.problems(options.show_predicted), sep="\n")
        return 0
    if options.show_odd is not None:
        path, document = keys.odd(options.show_odd)
        print(path, document, *keys.problems(options.show_odd), sep="\n")
        return 0
    if options.show_file is not None:
        original, data = broken(options.show_file)
        sys.stdout.buffer.write(data)
        print(original.name, *read.problems(options.show_file), sep="\n")
        return 0
    found = 0
    for what, count, problems in (
        ("scenario", options.scenarios, run.problems),
        ("predicted scenario", options.predicted, predicted.problems),
        ("odd value", options.odd, keys.problems),
        ("broken file", options.files, read.problems),
    ):
        numbers = range(options.first, options.first + count)
        listed = sorted(_all(what, numbers, partial(_part, problems=problems, limit=options.limit)))
        for number, problem in listed:
            print(f"{what} {number}: {problem}")
        print(f"{count} {what}s, {len(listed)} problems in {len({number for number, _ in listed})}")
        found += len(listed)
    return 1 if found else 0


def _all(what: str, numbers: range, part_of: Callable[[range], list[tuple[int, str]]]) -> list[tuple[int, str]]:
    parts = [numbers[begin : begin + AT_ONCE] for begin in range(0, len(numbers), AT_ONCE)]
    found: list[tuple[int, str]] = []
    with Steps(len(numbers), f"{what}s") as progress, ProcessPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(part_of, part): part for part in parts}
        for future in as_completed(futures):
            part = futures[future]
            try:
                found += future.result()
            except (
                BrokenProcessPool
            ):  # the process of one part did not end in time, and took those of the others with it
                found.append(
                    (part[0], f"this or one of the next {len(part) - 1} ended its process, or was not run after that")
                )
            progress.advance(len(part))
    return found


def _part(numbers: range, problems: Callable[[int], list[str]], limit: int) -> list[tuple[int, str]]:
    found = []
    for number in numbers:
        faulthandler.dump_traceback_later(limit, exit=True)
        try:
            found += [(number, problem) for problem in problems(number)]
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a user would see its traceback; a panic of the core is no Exception
            found.append((number, f"{type(error).__name__}: {error}"))
    faulthandler.cancel_dump_traceback_later()
    return found


if __name__ == "__main__":
    sys.exit(main())
