"""Judges `advise` by exhaustive simulation with other seeds: random networks, sixteen restrictions each.

`python -m validation.advise [--networks N] [--time S] [--objective goodput] [--truths DIR]` prints a table and writes docs/validation/advise.md.
With `--intervals 100` it judges the intervals of 100 answers instead: they must hold the means of 20 other seeds.

The questions about a network share their runs: one that another question made is not repeated, and its processor time counts again.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from threading import Event, Lock
from typing import Any, ClassVar

import numpy as np

from anabranch.network.topologies.errors import TopologyError
from anabranch.scenario.problems import ScenarioError
from anabranch.studies.advise import RESTRICTIONS, Question, advise, answer, race
from anabranch.studies.advise.answer import Advice, network_of, round_trip
from anabranch.studies.advise.candidates import DEFAULT_ROUTING, DEFAULT_STACK, STACKS, Candidate, routings
from anabranch.studies.advise.trials import Laboratory, PredictedValue, Trial
from bench.bench import ROOT, machine
from bench.page import write_part

PAGE = ROOT / "docs" / "validation" / "advise.md"
SEEDS, HASHED_SEEDS = range(101, 104), range(101, 113)
"""Of the truth, and of its candidates whose hash draws the paths of flows; the search uses seeds from 1."""
FEW = 4
"""Seeds of most answers."""
OTHER_SEEDS = range(201, 221)
"""Their mean is what the interval of an answer must hold."""
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


class KeptLaboratory(Laboratory):
    """Keeps runs and predictions of a network, with the processor time that each took."""

    kept: ClassVar[dict[tuple[object, ...], tuple[Any, float]]] = {}
    """Of all questions about a network."""
    own_s = counted_s = 0.0
    """Processor time of the runs and predictions made, and of all asked for."""
    _change, _predicting = Lock(), Lock()

    def run(self, stack: str, routing: str, seed: int, seconds: float, stop: Event) -> Trial | None:
        """A run, or what it has shown before; ``None`` if it was stopped."""
        key = (stack, routing, seed, seconds)
        if key not in self.kept:
            begun = time.thread_time()
            trial = super().run(stack, routing, seed, seconds, stop)
            took = self._own(time.thread_time() - begun)
            if trial is None:
                return None
            self.kept[key] = trial, took
        kept: Trial = self._counted(key)
        return kept

    def estimate(self, stack: str, routing: str, seconds: float) -> PredictedValue | None:
        """A prediction. It may use several threads, so only one at a time is timed."""
        key = (stack, routing, seconds)
        with self._predicting:
            if key not in self.kept:
                begun = time.process_time()
                estimate = super().estimate(stack, routing, seconds)
                self.kept[key] = estimate, self._own(time.process_time() - begun)
            kept: PredictedValue | None = self._counted(key)
            return kept

    @classmethod
    def _own(cls, took: float) -> float:
        with cls._change:
            cls.own_s += took
            return took

    @classmethod
    def _counted(cls, key: tuple[object, ...]) -> Any:
        value, took = cls.kept[key]
        with cls._change:
            cls.counted_s += took
        return value

    @classmethod
    def processor_s(cls) -> float:
        """Processor time, as if nothing had been kept."""
        return time.process_time() - cls.own_s + cls.counted_s


def laboratory_of(asked: Question) -> tuple[Laboratory, Sequence[Candidate], float]:
    """A laboratory for all candidates of a question, these, and the length of a run of the truth in seconds."""
    bare = Laboratory(asked.scenario({}, {}, "linux-cubic", DEFAULT_ROUTING), asked.objective)
    topology, pairs, flows = network_of(bare.compiled(1))
    found = routings(topology, pairs, flows)
    written = {one.name: dict(one.written) for one in found if one.name != DEFAULT_ROUTING}
    laboratory = Laboratory(asked.scenario(STACKS, written, next(iter(STACKS)), DEFAULT_ROUTING), asked.objective)
    candidates = [Candidate(stack, one) for stack, one in product(STACKS, found)]
    return laboratory, candidates, max(LEAST_S, ROUND_TRIPS * round_trip(topology, pairs))


def mean_of(laboratory: Laboratory, one: Candidate, seeds: range, seconds: float) -> float:
    """The mean value of a candidate over seeds."""
    trials = [laboratory.run(one.stack, one.routing.name, seed, seconds, Event()) for seed in seeds]
    return float(np.mean([trial.value for trial in trials if trial is not None]))


def truth(asked: Question, kept: Path | None) -> tuple[Mapping[Candidate, float], float]:
    """The mean value of every candidate, and the processor time of three seeds of each, seconds; read from a file, if it is there."""
    laboratory, candidates, seconds = laboratory_of(asked)
    if kept is not None and kept.exists():
        document = json.loads(kept.read_text())
        return {one: document["values"][one.name] for one in candidates}, document["cpu_s"]

    def value(one: Candidate) -> tuple[float, float]:
        begun, seeds = time.thread_time(), seeds_of(one)
        mean = mean_of(laboratory, one, seeds, seconds)
        return mean, (time.thread_time() - begun) * len(SEEDS) / len(seeds)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(value, candidates))
    values = {one: mean for one, (mean, _) in zip(candidates, found, strict=True)}
    cpu_s = sum(took for _, took in found)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"cpu_s": cpu_s, "values": {one.name: value for one, value in values.items()}}))
    return values, cpu_s


def _searching_time() -> float:
    """The clock of the searches: what else this machine does takes none of their time."""
    return KeptLaboratory.processor_s() / (os.cpu_count() or 1)


def allowed(one: Candidate, only: Sequence[str], stacks: Sequence[str] | None) -> bool:
    """Whether a question allows a candidate."""
    return all(RESTRICTIONS[name][1](one) for name in only) and (stacks is None or one.stack in stacks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, print and write the page."""
    parser = argparse.ArgumentParser(prog="python -m validation.advise", description=__doc__)
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--time", type=float, default=20.0, help="seconds of each search, of all processors")
    parser.add_argument("--objective", default="goodput", choices=("goodput", "worst-flow"))
    parser.add_argument("--numbers", type=int, nargs="+", help="of the networks; else the first that ask something")
    parser.add_argument(
        "--truths", type=Path, help="directory that keeps the truths, which do not depend on the search"
    )
    parser.add_argument(
        "--intervals", type=int, metavar="ANSWERS", help="judge the intervals of this many answers instead"
    )
    options = parser.parse_args(arguments)
    race.clock = _searching_time
    setattr(answer, "Laboratory", KeptLaboratory)  # noqa: B010  (which the module does not export)
    if options.intervals:
        _report_intervals(options)
    else:
        _judge(options)
    return 0


def _judge(options: argparse.Namespace) -> None:
    """Judge the answers to the restricted questions."""
    judged: list[Judged] = []
    truths: list[Mapping[Candidate, float]] = []
    exhaustive_s = 0.0
    for number in options.numbers or count():
        if len(truths) == options.networks:
            break
        asked = Question(network(number).document, Path(), f"random-{number}", options.objective)
        if options.objective == "worst-flow" and asked.document["traffic"][0]["flows"] == 1:
            continue  # the goodput of the only flow
        kept = options.truths and options.truths / f"{asked.name}-{options.objective}.json"
        try:
            values, cpu_s = truth(asked, kept)
        except (ScenarioError, TopologyError):  # two nodes drew two links between them
            continue
        baseline = next(
            value for one, value in values.items() if (one.stack, one.routing.name) == (DEFAULT_STACK, DEFAULT_ROUTING)
        )
        if baseline > TOO_EASY * max(values.values()):
            continue
        truths.append(values)
        exhaustive_s += cpu_s
        KeptLaboratory.kept.clear()
        for only, stacks in ASKED:
            best = max(value for one, value in values.items() if allowed(one, only, stacks))
            begun = KeptLaboratory.processor_s()
            advice = advise(asked, only=only, stacks=stacks, time_s=options.time)
            cpu = KeptLaboratory.processor_s() - begun
            chosen = next(one for one in values if one.name == advice.best.name)
            got = values[chosen]
            judged.append(Judged(asked.name, only, stacks, got / best, advice.runs, cpu))
            print(
                f"{asked.name} {' '.join(only) or '-'} {stacks or ''}: {advice.best.name} {got / best:.3f}, {advice.runs} runs, {cpu:.1f} s",
                file=sys.stderr,
            )
    _report(options, judged, truths, exhaustive_s)


@dataclass(frozen=True)
class Held:
    """An answer's interval beside the mean over other seeds, both as shares of the answer's value."""

    seeds: int
    low: float
    high: float
    mean: float
    longer: bool
    """Whether the runs with other seeds are longer than those of the answer."""

    @property
    def holds(self) -> bool:
        """Whether the interval has the mean."""
        return self.low <= self.mean <= self.high


def _held(asked: Question, advice: Advice) -> list[Held]:
    """The answers of a search, by restriction, each beside runs with other seeds that are as long, or as long as those of the truth."""
    laboratory, _, least_s = laboratory_of(asked)
    held = []
    for standing in {line.best.candidate: line.best for line in advice.lines}.values():
        interval = advice.interval(standing)
        if interval is None:
            continue
        one, seconds = standing.candidate, max(standing.seconds, least_s)
        trials = [laboratory.run(one.stack, one.routing.name, seed, seconds, Event()) for seed in OTHER_SEEDS]
        values = np.array([trial.value for trial in trials if trial is not None]) / standing.value
        low, high = (bound / standing.value for bound in interval)
        held.append(Held(len(standing.trials), low, high, float(values.mean()), seconds > standing.seconds))
    return held


def _report_intervals(options: argparse.Namespace) -> None:
    held: list[Held] = []
    networks = 0
    for number in options.numbers or count():
        if len(held) >= options.intervals:
            break
        asked = Question(network(number).document, Path(), f"random-{number}", options.objective)
        KeptLaboratory.kept.clear()
        try:
            advice = advise(asked, time_s=options.time)
        except (ScenarioError, TopologyError):  # two nodes drew two links between them
            continue
        networks += 1
        found = _held(asked, advice)
        held += found
        print(f"{asked.name}: {_share(found)}", file=sys.stderr)
    del held[options.intervals :]
    few, many = ([one for one in held if (one.seeds <= FEW) == least] for least in (True, False))
    widths = [(one.high - one.low) / 2 for one in held]
    lines = [
        f"| {options.objective} | must | came out |",
        "|---|---|---|",
        f"| 90 % intervals that hold the mean of {len(OTHER_SEEDS)} other seeds | 85 to 95 % | {_share(held)} |",
        f"| of answers with at most {FEW} seeds | - | {_share(few)} |",
        f"| of answers with more seeds | - | {_share(many)} |",
        f"| of answers whose other runs are longer | - | {_share([one for one in held if one.longer])} |",
        f"| means above the interval, below it | alike | {sum(one.mean > one.high for one in held)}, {sum(one.mean < one.low for one in held)} |",
        f"| half the width of the interval, median | - | {np.median(widths):.2%} |",
        f"| mean of the other seeds, of the answer's value: mean over answers | 100 % | {np.mean([one.mean for one in held]):.2%} |",
        "",
        f"`{_command(options)}`: the answers of the unrestricted search to {networks} random networks, one for each restriction, if they differ.",
    ]
    print("\n".join(lines))
    write_part(PAGE, f"intervals of {options.objective}", "\n".join(lines))


def _share(held: Sequence[Held]) -> str:
    return f"{sum(one.holds for one in held)} of {len(held)}"


def _command(options: argparse.Namespace) -> str:
    chosen = f"--numbers {' '.join(map(str, options.numbers))}" if options.numbers else f"--networks {options.networks}"
    chosen = f"--intervals {options.intervals}" if options.intervals else chosen
    return f"python -m validation.advise {chosen} --time {options.time:g} --objective {options.objective}"


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
) -> None:
    shares = np.array([one.share for one in judged])
    exhaustive_runs = len(SEEDS) * sum(map(len, truths))
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
        f"`{_command(options)}` (the time of a search is processor time over "
        f"{os.cpu_count()} processors; an exhaustive search has three seeds): "
        f"{len(truths)} random networks, {exhaustive_runs} exhaustive runs of at least {LEAST_S:g} s and {ROUND_TRIPS} round trips; {machine()}. The worst: "
        + "; ".join(
            f"{one.network}, {' '.join(one.only) or (one.stacks or ('all',))[0]}: {one.share:.1%}" for one in worst
        )
        + ".",
    ]
    print("\n".join(lines))
    write_part(PAGE, options.objective, "\n".join(lines))


if __name__ == "__main__":
    raise SystemExit(main())
