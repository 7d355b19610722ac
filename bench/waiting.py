"""Measure what users wait for: commands of the package as it is and of an earlier commit, beside ns-2, htsim and scipy.

Prints a table and writes it into docs/development/performance.md. All take turns on one CPU. The earlier commit is built for it, once.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from anabranch import version
from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario
from bench import earlier
from bench.bench import PAGE, ROOT, machine
from bench.page import write_part
from bench.peers import htsim, ns2
from bench.peers.child import PeerError, PeerMissing, measure_child, run_child
from bench.reference import hosts

EARLIER = "c0582b3"
"""The last commit before start-up was looked at."""
SECOND = 1.0
"""A command that takes longer runs once only: the noise of the machine is then small beside it."""
NODES, CABLES = 100_000, 300_000
PAIRS_OF, MANY_PAIRS_OF = 1_000, 5_000
"""Nodes of the networks for all pairs, with three cables each."""
_FOUR_STACKS = ("--set", 'traffic[0].stack=["newreno-dup-ack", "cubic-dup-ack", "bbr-dup-ack", "mprc"]')
ONE_FLOW = """\
topology.from = "dumbbell"
traffic = [{ from = "s1", to = "d1", bulk = true, stack = "newreno" }]
"""
TINY = ONE_FLOW + 'run.duration = "1ms"\n'
LONG = ONE_FLOW + 'run.duration = "10s"\n'
DUMBBELL = ROOT / "bench" / "scenarios" / "dumbbell.toml"
FAT_TREE = """\
topology.generate = {{ kind = "fat-tree", k = {ports}, rate = "10Gbps", delay = "1us" }}
routing.ecmp = {{ metric = "hop-count", select = "hash" }}
traffic = [{{ from = {hosts}, to = {hosts}, pattern = "random-pairs", count = {flows}, bulk = true, stack = "newreno" }}]
run.duration = "10us"
"""
PERMUTATION = """\
topology.generate = {{ kind = "fat-tree", k = 32, rate = "100Gbps", delay = "1us" }}
routing.ecmp = {{ metric = "hop-count", {choice} }}
traffic = [{{ from = {hosts}, to = {hosts}, pattern = "permutation", bulk = true, stack = "newreno", routing = "ecmp" }}]
run.duration = "50us"
"""
CHOICES = {
    "a path per flow, by hash": 'select = "hash"',
    "a path per packet, in turn": 'select = "round-robin", per = "packet"',
    "a path per packet, drawn": 'select = "random", per = "packet"',
}


@dataclass
class Waiting:
    """A command, and its runs: CPU seconds and peak bytes."""

    name: str
    arguments: Sequence[str] = ("-m", "anabranch")
    """Arguments of Python."""
    beside: tuple[str, Callable[[int], float]] | None = None
    """A peer that does the same work, and its CPU seconds."""
    has_earlier: bool = True
    before: list[tuple[float, int]] = field(default_factory=list)
    now: list[tuple[float, int]] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)

    def row(self) -> list[str]:
        """Medians, with the memory where it is much."""
        return [self.name, _cost(self.before), _cost(self.now), self._ratio(), self._beside()]

    def _ratio(self) -> str:
        return f"{_seconds(self.before) / _seconds(self.now):.1f} times" if self.before else ""

    def _beside(self) -> str:
        if not (self.beside and self.peer):
            return ""
        beside = median(self.peer)
        return f"{self.beside[0]}: {beside:.2f}, now {_seconds(self.now) / beside:.1f} times"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.waiting", description=__doc__)
    parser.add_argument("--before", metavar="COMMIT", default=EARLIER, help=f"the earlier commit (default {EARLIER})")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each command of less than a second, in turn")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU that all runs share")
    parser.add_argument("--only", metavar="TEXT", help="commands with this text in the name; the page is left as it is")
    options = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users keep compiled modules
    try:
        with tempfile.TemporaryDirectory() as folder:
            waiting = [one for one in _commands(Path(folder)) if (options.only or "") in one.name]
            python = earlier.install(options.before) if any(one.has_earlier for one in waiting) else Path()
            load = os.getloadavg()[0]
            _measure(waiting, python, options.rounds, options.cpu, Path(folder))
    except PeerError as error:
        print(f"waiting: {error}", file=sys.stderr)
        return 1
    columns = ("command", f"before ({options.before}), CPU s", "now, CPU s", "faster by", "beside, CPU s")
    rows = [one.row() for one in waiting]
    table = Table(*columns, title="What users wait for", title_justify="left")
    for row in rows:
        table.add_row(*row)
    source = (
        f"Anabranch {version()}, {datetime.now(UTC).date().isoformat()}, `python -m bench.waiting --rounds {options.rounds}`, "
        f"medians, in turn on one CPU; load {load:.1f} at the beginning and {os.getloadavg()[0]:.1f} at the end; {machine()}."
    )
    Console().print(table, source, highlight=False)
    if options.only is None:
        lines = [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]
        write_part(PAGE, "waiting", "\n".join([*lines, "", source]))
    return 0


def _commands(folder: Path) -> list[Waiting]:
    """The commands to measure. Their files are written into the folder."""
    texts = {
        "tiny": TINY,
        "westwood": ONE_FLOW.replace("newreno", "westwood"),
        "long": LONG,
        "dumbbell": DUMBBELL.read_text(encoding="utf-8"),
    }
    texts |= {"fat-tree": _fat_tree(32, 8192), "large-fat-tree": _fat_tree(72, 100_000)}
    texts |= {choice: PERMUTATION.format(choice=text, hosts=hosts(32)) for choice, text in CHOICES.items()}
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    _write_network(folder)
    demo = str(ROOT / "scenarios" / "abilene.toml")
    return [
        _command("run of 1 ms, with report", "run", "tiny.toml", beside=_ns2(0.001)),
        _command("run of 1 ms, without report", "run", "tiny.toml", "--no-report", beside=_ns2(0.001)),
        _command("500 runs of 1 ms", *_TINY, "--seeds", "1..500", has_earlier=False),
        _command("`check`", "check", "tiny.toml"),
        _command("one flow for 10 s", "run", "long.toml", beside=_ns2(10)),
        _command("dumbbell for 20 s", "run", "dumbbell.toml", beside=_htsim(folder / "dumbbell.toml")),
        _command("demo, four of its stacks, 60 runs", "run", demo, *_FOUR_STACKS, "--jobs", "1"),
        _command("`anabranch --help`", "--help"),
        Waiting("`from anabranch import Scenario`", ["-c", "from anabranch import Scenario"]),
        _command("fat tree of 9,472 nodes, 8,192 flows", "run", "fat-tree.toml", "--no-report"),
        _command(
            "fat tree of 99,792 nodes, 100,000 flows",
            *("run", "large-fat-tree.toml", "--no-report"),
            has_earlier=False,
        ),
        *(
            _command(f"one route among {NODES:,} nodes ({kind})", "routes", file, *_ENDS, beside=beside)
            for kind, file, beside in (
                ("CSV", "network.csv", _scipy("CSV and a path", folder / "network.csv", "one")),
                ("GraphML", "network.graphml", None),
                ("TopoHub JSON", "network.json", None),
            )
        ),
        *_all_pairs(folder),
        _command(
            "one `westwood` flow in `predict`",
            *("run", "westwood.toml", "--engine", "predict", "--no-report"),
            has_earlier=False,
        ),
        *(
            _command(f"`plan` of AttMpls, load {load}", *_plan("topozoo/AttMpls", "200Mbps", load))
            for load in ("0.9", "0.59")
        ),
        _command(
            "`plan` of germany50 for 30 s",
            *_plan("sndlib/germany50", "50Mbps", "0.9"),
            "--time",
            "30s",
            has_earlier=False,
        ),
        *(
            _command(f"permutation of 8,192 hosts, {choice}", "run", f"{choice}.toml", "--no-report", has_earlier=False)
            for choice in CHOICES
        ),
    ]


_TINY = ("run", "tiny.toml", "--no-report", "--jobs", "1")


def _all_pairs(folder: Path) -> list[Waiting]:
    """Routes of all pairs, to standard output and into files."""
    found = []
    for nodes in (PAIRS_OF, MANY_PAIRS_OF):
        name = f"pairs-{nodes}.csv"
        _write_csv(folder / name, _random_links(nodes, 3 * nodes))
        pairs, beside = f"routes of all pairs of {nodes:,} nodes", _scipy("paths alone", folder / name, "all")
        if nodes == PAIRS_OF:
            outputs = {"text": (), "`--json`": ("--json",)}
            found += [
                _command(f"{pairs}, {what}", "routes", name, "--metric", "delay", *output, beside=beside)
                for what, output in outputs.items()
            ]
        found += [
            _command(
                f"{pairs}, into {ending}",
                *("routes", name, "--metric", "delay", "--out", f"routes{ending}"),
                beside=beside,
                has_earlier=False,
            )
            for ending in (".csv", ".parquet")
        ]
    return found


def _plan(network: str, hose: str, load: str) -> tuple[str, ...]:
    return "plan", network, "--hose", hose, "--capacity", "1Gbps", "--load", load


_ENDS = ("--metric", "hop-count", "--from", "n0", "--to", f"n{NODES - 1}")


def _command(
    name: str, *words: str, beside: tuple[str, Callable[[int], float]] | None = None, has_earlier: bool = True
) -> Waiting:
    return Waiting(name, ("-m", "anabranch", *words), beside, has_earlier)


def _measure(waiting: Sequence[Waiting], python: Path, rounds: int, cpu: int, folder: Path) -> None:
    """One run of each after the other, so that what disturbs the machine disturbs all alike; short commands have a round more."""

    def run(program: Sequence[str], arguments: Sequence[str]) -> tuple[float, int]:
        out = ("--out", str(folder / "out")) if "run" in arguments else ()
        _, cpu_seconds, peak = measure_child([*program, *arguments, *out], cpu, cwd=folder)
        shutil.rmtree(folder / "out", ignore_errors=True)
        return cpu_seconds, peak

    for turn in range(rounds + 1):
        for one in waiting:
            if any(runs and _seconds(runs) > SECOND for runs in (one.before, one.now)):
                continue
            if turn == 1:
                for runs in (one.before, one.now, one.peer):
                    runs.clear()  # of the round in which modules were compiled and files came into memory
            print(f"{turn}/{rounds}: {one.name}", file=sys.stderr)
            if one.has_earlier:
                one.before.append(run([str(python), "-I"], one.arguments))  # -I: no PYTHONPATH leads to this package
            one.now.append(run([sys.executable], one.arguments))
            if one.beside is not None:
                one.peer.append(one.beside[1](cpu))


def _ns2(seconds: float) -> tuple[str, Callable[[int], float]] | None:
    if shutil.which("ns") is None:
        print("waiting: without ns-2, which is not installed", file=sys.stderr)
        return None
    return "ns-2 tuned", lambda cpu: ns2.run_dumbbell(1, seconds, tuned=True, cpu=cpu).cpu_seconds


def _htsim(scenario: Path) -> tuple[str, Callable[[int], float]] | None:
    """The same run in htsim; the whole process."""
    try:
        program = htsim.build()
    except PeerMissing as missing:
        print(f"waiting: without htsim: {missing}", file=sys.stderr)
        return None
    description = scenario.with_suffix(".htsim")
    text = htsim.describe(json.dumps(compile_run(Scenario.load(scenario).cases[0], 1))).text
    description.write_text(text, encoding="utf-8")
    return "htsim", lambda cpu: measure_child([str(program), str(description)], cpu)[1]


_SCIPY = """
import csv, json, sys, time
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
file, which = sys.argv[1:]
with open(file, newline="") as opened:
    _, *rows = csv.reader(opened)
places = {}
one, other = (np.array([places.setdefault(row[end], len(places)) for row in rows]) for end in (0, 1))
delay = np.array([float(row[2].removesuffix("ms")) for row in rows])
ends = np.concatenate([one, other]), np.concatenate([other, one])
matrix = csr_matrix((np.concatenate([delay, delay]), ends), shape=(len(places),) * 2)
before = time.process_time()
dijkstra(matrix, indices=None if which == "all" else 0, return_predecessors=True)
now = time.process_time()
print(json.dumps({"all": now - before, "one": now}))
"""
"""Prints the CPU seconds of all paths alone, or of one source with reading and imports."""


def _scipy(what: str, file: Path, which: str) -> tuple[str, Callable[[int], float]] | None:
    if find_spec("scipy") is None:
        print("waiting: without scipy, which comes with `pip install -r requirements/bench.txt`", file=sys.stderr)
        return None
    command = (sys.executable, "-c", _SCIPY, str(file), which)
    return f"scipy, {what}", lambda cpu: float(run_child(command, cpu).values[which])


def _fat_tree(ports: int, flows: int) -> str:
    return FAT_TREE.format(ports=ports, hosts=hosts(ports), flows=flows)


def _random_links(nodes: int, cables: int) -> list[tuple[str, str, str]]:
    """Both ends and delay of the links of a connected network."""
    draw = random.Random(1)
    ends = {(draw.randrange(node), node) for node in range(1, nodes)}
    while len(ends) < cables:
        one, other = sorted(draw.sample(range(nodes), 2))
        ends.add((one, other))
    return [(f"n{one}", f"n{other}", f"{draw.randrange(1, 10_000) / 1000}ms") for one, other in sorted(ends)]


def _write_csv(file: Path, links: Sequence[tuple[str, str, str]]) -> None:
    rows = (f"{','.join(link)},10Gbps\n" for link in links)
    file.write_text("source,target,delay,capacity\n" + "".join(rows), encoding="utf-8")


def _write_network(folder: Path) -> None:
    """A random network in three formats."""
    links = _random_links(NODES, CABLES)
    nodes = [f"n{node}" for node in range(NODES)]
    _write_csv(folder / "network.csv", links)
    document = {
        "nodes": [{"id": node} for node in nodes],
        "edges": [dict(zip(("source", "target", "delay"), link, strict=True), capacity="10Gbps") for link in links],
    }
    (folder / "network.json").write_text(json.dumps(document), encoding="utf-8")
    edges = (
        f'<edge source="{one}" target="{other}"><data key="d">{delay}</data><data key="c">10Gbps</data></edge>\n'
        for one, other, delay in links
    )
    keys = (
        f'<key id="{name[0]}" for="edge" attr.name="{name}" attr.type="string"/>\n' for name in ("delay", "capacity")
    )
    places = (f'<node id="{node}"/>\n' for node in nodes)
    parts = (*keys, '<graph edgedefault="undirected">\n', *places, *edges, "</graph>\n")
    (folder / "network.graphml").write_text(f"<graphml>\n{''.join(parts)}</graphml>\n", encoding="utf-8")


def _seconds(runs: Sequence[tuple[float, int]]) -> float:
    return median(seconds for seconds, _ in runs)


def _cost(runs: Sequence[tuple[float, int]]) -> str:
    """CPU seconds, and the peak of the memory of a long command."""
    if not runs:
        return ""
    memory = f", {median(peak for _, peak in runs) / 1e6:,.0f} MB" if _seconds(runs) > SECOND else ""
    return f"{_seconds(runs):.{2 if memory else 3}f}{memory}"


if __name__ == "__main__":
    sys.exit(main())
