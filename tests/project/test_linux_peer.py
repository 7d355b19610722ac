"""The guest that runs real Linux TCP: its network against arithmetic. Runs are skipped where no kernel has been built."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import pytest

from bench.peers.child import PeerError, PeerMissing
from bench.peers.linux import kernel
from bench.peers.linux.case import Case, Course, Flow, Link, Probes
from bench.peers.linux.disciplines import Discipline
from bench.peers.linux.runs import LinuxRun, run, run_guest

PAYLOAD = 1448 / 1500
RATE_BPS = 6_000_000


def run_or_skip(case: Case) -> LinuxRun:
    try:
        return run(case)
    except PeerMissing as error:
        pytest.skip(str(error))


def one_flow(
    lost: Sequence[int] = (), queue_packets: int = 1000, congestion: str = "reno", duration_s: float = 4.0
) -> Case:
    links = [Link(RATE_BPS, 0.015, queue_packets, lost), Link(RATE_BPS, 0.015, 1000)]
    flow = Flow(congestion, Course([[0]]), Course([[1]]))  # type: ignore[arg-type]
    return Case(links, [flow], duration_s=duration_s)


@pytest.mark.parametrize("congestion", ["reno", "cubic", "bbr"])
def test_a_flow_alone_fills_its_link_and_no_more(congestion: str) -> None:
    outcome = run_or_skip(replace(one_flow(congestion=congestion), warm_up_s=1.0))
    assert outcome.flows[0].goodput_bps == pytest.approx(RATE_BPS * PAYLOAD, rel=0.005)
    assert (outcome.timeouts, outcome.flows[0].window_limited_s) == (0, 0)


def test_the_packets_of_the_list_are_lost_and_each_is_sent_again_once() -> None:
    outcome = run_or_skip(one_flow(lost=[40, 300, 301, 900]))
    assert (outcome.losses, outcome.drops) == ((4, 0), (0, 0))
    assert (outcome.flows[0].retransmits, outcome.timeouts) == (4, 0)


def test_a_full_queue_drops_and_the_drops_are_sent_again() -> None:
    outcome = run_or_skip(one_flow(queue_packets=10))
    assert outcome.drops[0] > 0
    assert outcome.flows[0].retransmits == outcome.drops[0]


def test_behind_a_path_that_breaks_the_timer_backs_off() -> None:
    # The SYN, the ACK of its answer and 97 segments get through. RTT 30 ms: timeouts 0.23 s apart, then twice that, and so on, over 3.9 s.
    outcome = run_or_skip(one_flow(lost=range(100, 10_000)))
    assert outcome.flows[0].goodput_bps == 97 * 1448 * 8 / 4.0
    assert outcome.timeouts in (3, 4)


def test_a_flow_that_ends_takes_a_handshake_and_its_transmission() -> None:
    # A delay of 15 ms each way, there three times: SYN, SYN-ACK, data. Four packets follow each other; the
    # handshake and its ACK take less than 0.5 ms to transmit.
    case = one_flow()
    case = replace(case, flows=[replace(case.flows[0], start_s=0.1, payload_bytes=4 * 1448)])
    completed_s = run_or_skip(case).flows[0].completed_s
    assert completed_s == pytest.approx(0.1 + 3 * 0.015 + 4 * 1500 * 8 / RATE_BPS, abs=0.0005)


def test_two_paths_carry_twice_what_one_does() -> None:
    links = [Link(RATE_BPS, 0.015, 1000) for _ in range(4)]
    flow = Flow("cubic", Course([[0], [1]], "round-robin"), Course([[2], [3]], "round-robin"))
    outcome = run_or_skip(Case(links, [flow], duration_s=4.0, warm_up_s=1.0))
    assert outcome.flows[0].goodput_bps == pytest.approx(2 * RATE_BPS * PAYLOAD, rel=0.005)


@pytest.mark.parametrize("shaper", ["htb", "tbf"])
def test_a_router_of_linux_shapes_and_gives_a_sparse_flow_a_queue_of_its_own(shaper: Literal["htb", "tbf"]) -> None:
    """A packet lasts 2 ms. In one queue of 20 the sparse flow waits behind others, in a queue of its own behind two packets at most."""
    outcomes = {}
    for kind in ("pfifo", "fq_codel"):
        discipline = Discipline(kind, RATE_BPS, shaper, limit=20)
        case = one_flow()
        links = [Link(1_000_000_000, 0.015, 1000, discipline=discipline), case.links[1]]
        probes = Probes(0.1, 0.05, case.flows[0].ahead)
        outcomes[kind] = run_or_skip(replace(case, links=links, probes=probes, warm_up_s=1.0))
    one_queue, own_queue = outcomes["pfifo"], outcomes["fq_codel"]
    assert one_queue.flows[0].goodput_bps == pytest.approx(RATE_BPS * PAYLOAD, rel=0.005)
    assert 0.015 + 0.010 < fmean(one_queue.delays_s) < max(one_queue.delays_s) <= 0.015 + 0.002 * 21
    assert len(own_queue.delays_s) == 30
    assert max(own_queue.delays_s) <= 0.015 + 0.002 * 2


def test_results_depend_on_the_case_alone() -> None:
    # So that a run may be kept. BBR draws its phase.
    case = replace(one_flow(queue_packets=25, congestion="bbr"), seed=3)
    run_or_skip(case)
    first, second = (run_guest(*kernel.built(), case) for _ in range(2))
    assert first == second


def test_what_the_guest_cannot_do_is_said() -> None:
    case = one_flow()
    with pytest.raises(PeerError, match="no_such_value"):
        run_or_skip(replace(case, settings={"net/ipv4/no_such_value": "1"}))


def test_a_case_is_written_as_the_guest_reads_it() -> None:
    links = [Link(1000, 0.5, 10, [3, 7]), Link(2000, 0.25, 20, mark_packets=5), Link(3000, 0.125, 30)]
    flow = Flow("cubic", Course([[0, 1], [1]], "random"), Course([[2]]), start_s=0.001, payload_bytes=4344)
    assert Case(links, [flow], duration_s=2.0, warm_up_s=1.0, seed=4).text().splitlines() == [
        "end 2000000000",
        "warm_up 1000000000",
        "seed 4",
        "mtu 1500",
        "offload 0",
        "set net/ipv4/tcp_no_metrics_save 1",
        "set net/ipv4/tcp_rmem 4096 131072 6291456",
        "link 1000 500000000 10 0 2 3 7",
        "link 2000 250000000 20 5 0",
        "link 3000 125000000 30 0 0",
        "path 2 0 1",
        "path 1 1",
        "path 1 2",
        "flow cubic 1000000 4344 random 2 0 1 first 1 2",
    ]


def test_an_option_that_the_kernel_does_not_have_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "kernel.config"
    config.write_text("CONFIG_INET=y\nCONFIG_NO_SUCH_THING=y\n")
    monkeypatch.setattr(kernel, "CONFIG", config)
    with pytest.raises(PeerError, match="does not have CONFIG_NO_SUCH_THING=y"):
        kernel._check_config("CONFIG_INET=y\n")
