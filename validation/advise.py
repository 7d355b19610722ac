"""Judges `advise` by exhaustive simulation with other seeds: random networks, sixteen restrictions each.

`python -m validation.advise [--networks N] [--time S] [--objective goodput]` prints a table and writes docs/validation/advise.md.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from threading import Event

import numpy as np

from anabranch.network.topologies.errors import TopologyError
from anabranch.scenario.problems import ScenarioError
from anabranch.studies.advise import RESTRICTIONS, Question, advise, race
from anabranch.studies.advise.answer import network_of, round_trip
from anabranch.studies.advise.candidates import DEFAULT_ROUTING, DEFAULT_STACK, STACKS, Candidate, routings
from anabranch.studies.advise.trials import Laboratory
from bench.bench import ROOT, machine
from bench.page import write_part

PAGE = ROOT / "docs" / "validation" / "advise.md"
SEEDS, HASHED_SEEDS = range(101, 104), range(101, 113)
"""Of the truth, and of its candidates whose hash draws the paths of flows; the search uses seeds from 1."""
LEAST_S, ROUND_TRIPS = 30.0, 300
GOOD = 0.95
TOO_EASY = 0.8
"""A network where the baseline has more of the best than this asks little, and is left out."""

ASKED: Sequence[tuple[tuple[str, ...], tuple[str, ...] | None]] = (
    *((only, None) for only in ((), *((name,) for name in RESTRICTIONS))),
    *((only, None) for only in (("linux", "no-bbr"), ("linux", "one-path"), ("linux", "no-spraying"), ("no-bbr", "one-path"), ("no-bbr", "no-spraying"))),
    *(((), (stack,)) for stack in ("mprc", "linux-bbr", "bbr3", "linux-westwood")),
)  # fmt: skip
"""The restrictions: of the choice, and of stacks."""


@dataclass(frozen=True)
class Judged:
    """One question: the share of the best that its answer has, beside that of the best constant answer."""

    network: str
    only: Sequence[str]
    stacks: Sequence[str] | None
    share: float
    runs: int
    cpu_s: float


def network(number: int) -> Question:
    """A random network with 5 to 50 Mbit/s a link, losses on most, and one or some flows between two nodes."""
    draw = random.Random(7000 + number)
    nodes = [f"n{index}" for index in range(draw.randint(6, 14))]
    links = []
    for index, node in enumerate(nodes[1:], start=1):
        for other in draw.sample(nodes[:index], min(index, draw.choice((1, 2, 2, 3)))):
            link = {
                "source": node,
                "target": other,
                "capacity": f"{draw.choice((5, 10, 20, 50))}Mbps",
                "delay": f"{draw.uniform(1, 15):.2f}ms",
            }
            loss = draw.choice((0.0, 0.0, 10 ** draw.uniform(-4.5, -1.7)))
            links.append(link | ({"loss": loss} if loss else {}))
    source, target = draw.sample(nodes, 2)
    group = {"from": source, "to": target, "flows": draw.choice((1, 1, 3, 8))}
    return Question({"topology": {"links": links}, "traffic": [group]}, Path(), f"random-{number}")


def seeds_of(one: Candidate) -> range:
    """The seeds of a candidate's truth."""
    return HASHED_SEEDS if one.routing.paths > 1 and one.routing.per != "packet" else SEEDS


def truth(asked: Question) -> tuple[Mapping[Candidate, float], float]:
    """The mean value of every candidate, and the processor time that it took, seconds."""
    bare = Laboratory(asked.scenario({}, {}, "linux-cubic", DEFAULT_ROUTING), asked.objective)
    topology, pairs, flows = network_of(bare.compiled(1))
    found = routings(topology, pairs, flows)
    written = {one.name: dict(one.written) for one in found if one.name != DEFAULT_ROUTING}
    laboratory = Laboratory(asked.scenario(STACKS, written, next(iter(STACKS)), DEFAULT_ROUTING), asked.objective)
    candidates = [Candidate(stack, one) for stack, one in product(STACKS, found)]
    seconds = max(LEAST_S, ROUND_TRIPS * round_trip(topology, pairs))
    begun = time.process_time()

    def value(one: Candidate) -> float:
        trials = [laboratory.run(one.stack, one.routing.name, seed, seconds, Event()) for seed in seeds_of(one)]
        return float(np.mean([trial.value for trial in trials if trial is not None]))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        values = list(pool.map(value, candidates))
    return dict(zip(candidates, values, strict=True)), time.process_time() - begun


def _processor_time() -> float:
    """The clock of the searches: what else this machine does takes none of their time."""
    return time.process_time() / (os.cpu_count() or 1)


def allowed(one: Candidate, only: Sequence[str], stacks: Sequence[str] | None) -> bool:
    """Whether a question allows a candidate."""
    return all(RESTRICTIONS[name][1](one) for name in only) and (stacks is None or one.stack in stacks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, print and write the page."""
    parser = argparse.ArgumentParser(prog="python -m validation.advise", description=__doc__)
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--time", type=float, default=20.0, help="seconds of each search, of all processors")
    parser.add_argument("--objective", default="goodput", choices=("goodput", "worst-flow"))
    options = parser.parse_args(arguments)
    race.clock = _processor_time
    judged: list[Judged] = []
    truths: list[Mapping[Candidate, float]] = []
    exhaustive_s, exhaustive_runs, number = 0.0, 0, 0
    while len(truths) < options.networks:
        asked = Question(network(number).document, Path(), f"random-{number}", options.objective)
        number += 1
        try:
            values, cpu_s = truth(asked)
        except (ScenarioError, TopologyError):  # two nodes drew two links between them
            continue
        baseline = next(
            value for one, value in values.items() if (one.stack, one.routing.name) == (DEFAULT_STACK, DEFAULT_ROUTING)
        )
        if baseline > TOO_EASY * max(values.values()):
            continue
        truths.append(values)
        exhaustive_s, exhaustive_runs = (
            exhaustive_s + cpu_s,
            exhaustive_runs + sum(len(seeds_of(one)) for one in values),
        )
        for only, stacks in ASKED:
            best = max(value for one, value in values.items() if allowed(one, only, stacks))
            begun = time.process_time()
            advice = advise(asked, only=only, stacks=stacks, time_s=options.time)
            cpu = time.process_time() - begun
            got = next(value for one, value in values.items() if one.name == advice.best.name)
            judged.append(Judged(asked.name, only, stacks, got / best, advice.runs, cpu))
            print(
                f"{asked.name} {' '.join(only) or '-'} {stacks or ''}: {advice.best.name} {got / best:.3f}, {advice.runs} runs, {cpu:.1f} s",
                file=sys.stderr,
            )
    _report(options, judged, truths, exhaustive_s, exhaustive_runs)
    return 0


def _constant(truths: Sequence[Mapping[Candidate, float]]) -> tuple[str, list[float]]:
    """The answer to all unrestricted questions at once that is good most often, and its shares of the best, by question that allows it."""
    names = set.intersection(*({one.name for one in values} for values in truths))

    def shares(name: str) -> list[float]:
        found = []
        for values, (only, stacks) in product(truths, ASKED):
            able = {one.name: value for one, value in values.items() if allowed(one, only, stacks)}
            found.append(able.get(name, 0.0) / max(able.values()))
        return found

    best = max(sorted(names), key=lambda name: sum(share >= GOOD for share in shares(name)))
    return best, shares(best)


def _report(
    options: argparse.Namespace,
    judged: Sequence[Judged],
    truths: Sequence[Mapping[Candidate, float]],
    exhaustive_s: float,
    exhaustive_runs: int,
) -> None:
    shares = np.array([one.share for one in judged])
    name, constant = _constant(truths)
    free = [one for one in judged if not one.only and one.stacks is None]
    worst = sorted(judged, key=lambda one: one.share)[:5]
    lines = [
        f"| {options.objective} | must | came out |",
        "|---|---|---|",
        f"| questions whose answer has 95 % of the best or more | 95 % (worst flow 85 %) | {np.mean(shares >= GOOD):.1%} of {len(shares)} |",
        f"| the worst answer | 85 % | {shares.min():.1%} |",
        f"| the best constant answer, {name} | about 70 % | {np.mean(np.array(constant) >= GOOD):.1%} |",
        f"| runs of the unrestricted search, of exhaustive ones | 10 % | {sum(one.runs for one in free) / exhaustive_runs:.1%} |",
        f"| processor time of the unrestricted search, of exhaustive search | 35 % | {sum(one.cpu_s for one in free) / exhaustive_s:.1%} |",
        "",
        f"`python -m validation.advise --networks {options.networks} --time {options.time:g} --objective {options.objective}` (the time of a search is processor time over "
        f"{os.cpu_count()} processors): "
        f"{len(truths)} random networks, {exhaustive_runs} runs of at least {LEAST_S:g} s and {ROUND_TRIPS} round trips; {machine()}. The worst: "
        + "; ".join(
            f"{one.network}, {' '.join(one.only) or (one.stacks or ('all',))[0]}: {one.share:.1%}" for one in worst
        )
        + ".",
    ]
    print("\n".join(lines))
    write_part(PAGE, options.objective, "\n".join(lines))


if __name__ == "__main__":
    raise SystemExit(main())
