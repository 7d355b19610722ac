"""A plan does not depend on rounding: on the processor, the libraries, or the order in which a file lists nodes."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.engineering import robust
from anabranch.engineering.plan import Planner, options
from anabranch.engineering.plan.ties import SHARE_STEP, in_order, rounded
from anabranch.engineering.robust.lp import LinearProgram, Method, Optimum
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats
from anabranch.network import topologies
from anabranch.network.topologies import Topology
from tests.plan.test_planning import tiny
from tests.robust.networks import random_network


@pytest.mark.slow("searches three plans of NSFNET")
def test_solutions_within_the_tolerance_of_linear_programs_give_the_same_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program's solution changes by up to 1e-9, and each predicted throughput by up to 1e-12 of itself, as on another machine.

    Of NSFNET's pairs, 130, 129 and 131 kept to single paths.
    """
    network = robust.Network.of(topologies.load("nsfnet"), 500e6)
    model = robust.bounds(network, 130e6, 130e6, 50e6)
    problem = robust.Problem(network, model, robust.shortest(network, 4, ties="delay"))
    expected = Planner(problem, moves_per_pair=20).plan(0.65)
    assert 0 < expected.single_pairs < network.pairs
    solve, throughput = LinearProgram.solve, options.throughput
    draw = np.random.default_rng(1)

    def perturbed(program: LinearProgram, method: Method, tolerance: float = 1e-8, limit_s: float = np.inf) -> Optimum:
        found = solve(program, method, tolerance, limit_s)
        noise = draw.uniform(-1e-9, 1e-9, len(found.columns))
        return replace(found, columns=np.maximum(found.columns + noise, 0.0))

    def inexact(*arguments: Any) -> Floats:
        rates = throughput(*arguments)
        return rates * (1 + draw.uniform(-1e-12, 1e-12, len(rates)))

    monkeypatch.setattr(LinearProgram, "solve", perturbed)
    monkeypatch.setattr(options, "throughput", inexact)
    for _ in range(2):
        found = Planner(problem, moves_per_pair=20).plan(0.65)
        assert found.splits.shares.tolist() == expected.splits.shares.tolist()


@given(st.integers(0, 2**32 - 1))
def test_rounded_shares_add_up_and_are_near(seed: int) -> None:
    problem = tiny(seed % 5)
    candidates = problem.candidates
    shares = np.random.default_rng(seed).exponential(size=candidates.paths) ** 3
    splits = Splits.rounded(candidates, shares)
    found = rounded(splits)
    sums = np.add.reduceat(found.shares, candidates.first[:-1])
    assert sums == pytest.approx(np.ones(problem.network.pairs), abs=1e-12)
    assert (found.shares >= 0).all()
    most = int(np.diff(candidates.first).max())
    assert np.abs(found.shares - splits.shares).max() <= most * SHARE_STEP / 2 + 1e-12
    multiples = found.shares / SHARE_STEP
    assert multiples == pytest.approx(np.rint(multiples), abs=1e-6)


@given(st.integers(0, 20), st.randoms(use_true_random=False))
def test_the_order_in_which_a_file_lists_nodes_and_links_makes_no_difference(seed: int, draw: random.Random) -> None:
    topology = random_network(seed, nodes=12, extra=6).topology
    nodes, links = list(topology.nodes), list(topology.links)
    draw.shuffle(nodes)
    draw.shuffle(links)
    assert in_order(Topology(topology.name, tuple(nodes), tuple(links))) == in_order(topology)


def test_nodes_are_in_the_order_of_their_names() -> None:
    network = random_network(0, nodes=12, extra=0)
    names = [f"node {number}" for number in (10, 9, 2, 1, 11, 0, 3, 4, 5, 8, 7, 6)]
    renamed = dict(zip(network.names, names, strict=True))
    nodes = tuple(node._replace(name=renamed[node.name]) for node in network.topology.nodes)
    links = tuple(
        link._replace(source=renamed[link.source], target=renamed[link.target]) for link in network.topology.links
    )
    ordered = robust.Network.of(in_order(Topology("t", nodes, links)), 1e9)
    assert ordered.names == tuple(f"node {number}" for number in range(12))


LINKS = """\
source,target,capacity,delay
{}
"""
ROWS = ("a,b,10Mbps,1ms", "b,c,10Mbps,2ms", "c,d,10Mbps,3ms", "d,a,10Mbps,4ms", "a,c,10Mbps,9ms")


def test_libraries_threads_and_the_order_of_rows_give_the_same_plan(tmp_path: Path) -> None:
    """By the command, with OpenBLAS as on an old processor and on several threads, and from a file of the same links in another order."""
    outputs = []
    for name, rows, settings in (
        ("first", ROWS, {"OPENBLAS_NUM_THREADS": "1"}),
        ("other", ROWS, {"OPENBLAS_NUM_THREADS": "4", "OPENBLAS_CORETYPE": "Prescott"}),
        ("order", ROWS[::-1], {}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "net.csv").write_text(LINKS.format("\n".join(rows)))
        command = "-m anabranch plan net.csv --hose 6Mbps --pipe 4Mbps --load 0.62 --paths 3 --flow 1Mbps --json"
        done = subprocess.run(
            [sys.executable, *command.split()], cwd=folder, env=os.environ | settings, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] == outputs[2]
    assert '"single_path_pairs"' in outputs[0]
