"""The reference work of the packet engine, shortened: the fast event loop gives what the oracle gives, bit for bit."""

import json

import pytest

from anabranch import _core
from bench.peers.work import Work
from bench.reference import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=[case.key for case in CASES])
def test_both_loops_give_the_same_results(case: Case) -> None:
    spec = case.compiled(short=True)
    assert _core.disagreement(spec) is None
    simulation = _core.Simulation(spec)
    while simulation.advance(1 << 20):
        pass
    assert simulation.packet_hops > 100_000, "long enough to mean something"


@pytest.mark.parametrize("key", ["B", "C", "D", "H"])
def test_both_loops_give_the_same_samples_and_captures(key: str) -> None:
    case = next(case for case in CASES if case.key == key)
    spec = json.loads(case.compiled(short=True))
    spec["sample"] = 10**9  # 1 ms
    spec["captures"] = [0, 1]
    assert _core.disagreement(json.dumps(spec)) is None


def test_a_peer_gets_the_links_of_a_case_with_their_losses() -> None:
    """Case B loses 0.1 % of the data packets on its bottleneck, A loses none."""
    losses = {
        case.key: [link[-1] for link in Work.of(json.loads(case.compiled(short=True))).links]
        for case in CASES
        if case.key in "AB"
    }
    assert set(losses["A"]) == {0.0}
    assert max(losses["B"]) == 0.001
