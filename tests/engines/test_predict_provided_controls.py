"""``--engine predict`` of controls in Python and in eBPF: like the native control of the same rules, or a clear error."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.runs import RunError
from anabranch.scenario import Scenario

CONTROLS = '''
from anabranch.engines.control import Control


class Reno(Control):
    """RFC 5681."""


class CountsAcks(Control):
    """RFC 5681, by ACKs instead of segments: the same if each segment has its ACK."""

    def avoid_congestion(self, ack, growth):
        self.cwnd += 1 / self.cwnd


class Fails(Reno):
    def on_congestion(self, event):
        raise KeyError(event.kind)


class Paces(Reno):
    def __init__(self, flow):
        super().__init__(flow)
        self.pacing_bps = 1e6


class Measures(Reno):
    samples_rate = True


class Waits(Reno):
    """Vegas, with three segments in the queue."""

    def avoid_congestion(self, ack, growth):
        waiting = self.cwnd * (1 - ack.min_rtt_s / ack.srtt_s)
        self.cwnd = max(self.cwnd + (1 if waiting < 3 else -1) * growth / self.cwnd, 2)


class Yields(Reno):
    """LEDBAT (RFC 6817): Reno up to a wait of 100 ms in queues, and less beyond."""

    def avoid_congestion(self, ack, growth):
        self.cwnd = max(self.cwnd + (1 - (ack.rtt_s - ack.min_rtt_s) / 0.1) * growth / self.cwnd, 2)


class Holds(Reno):
    def on_congestion(self, event):
        self.ssthresh = self.cwnd


import threading

OF_THREAD, calls = threading.local(), 0


class Remembers(Reno):
    def avoid_congestion(self, ack, growth):
        global calls
        super().avoid_congestion(ack, growth)
        OF_THREAD.calls = getattr(OF_THREAD, "calls", 0) + 1
        calls += 1
        if OF_THREAD.calls < calls:
            raise RuntimeError("Python has forgotten this thread since the last call")
'''


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "controls.py").write_text(CONTROLS)
    return tmp_path


def scenario(
    directory: Path, stack: dict[str, Any], loss: float, flows: int = 1, capacity: str = "30Mbps", queue: int = 100
) -> Scenario:
    document = {
        "topology": {
            "links": [{"source": "a", "target": "b", "capacity": capacity, "delay": "20ms"}],
            "queue": {"limit": f"{queue} packets"},
        },
        "stacks": {"mine": stack},
        "traffic": [{"from": "a", "to": "b", "flows": flows, "stack": "mine"}],
        "run": {"duration": "60s", "warm_up": "10s"},
    }
    if loss > 0:
        document["impairments"] = [{"link": ["a", "b"], "loss": loss, "one_way": True}]
    return Scenario(document, directory=directory)


def python(name: str) -> dict[str, Any]:
    return {"congestion": {"python": f"controls.py:{name}"}}


def program(name: str) -> dict[str, Any]:
    return {"preset": "linux-reno", "congestion": {"program": name}}


def goodput(scenario: Scenario, engine: str = "predict", threads: int = 1) -> np.ndarray[Any, Any]:
    return scenario.run(engine=engine, threads=threads).flows["goodput_bps"].to_numpy()


@pytest.mark.parametrize("loss", [0.0, 0.001, 0.01])
@pytest.mark.parametrize(
    ("mine", "native"),
    [
        (python("Reno"), {"congestion": "newreno"}),
        (python("CountsAcks"), {"congestion": "newreno"}),
        (program("anabranch_reno"), {"preset": "linux-reno"}),
        (program("anabranch_cubic"), {"preset": "linux-cubic"}),
        (program("anabranch_kikolo"), {"preset": "linux-reno", "congestion": "kikolo"}),
    ],
)
def test_its_prediction_is_near_that_of_the_native_control(
    directory: Path, mine: dict[str, Any], native: dict[str, Any], loss: float
) -> None:
    predicted, expected = (goodput(scenario(directory, stack, loss))[0] for stack in (mine, native))
    assert predicted == pytest.approx(expected, rel=0.02 if loss == 0 else 0.2)


@pytest.mark.parametrize("mine", [python("Reno"), python("CountsAcks"), program("anabranch_kikolo")])
def test_its_prediction_is_near_the_packet_engine(directory: Path, mine: dict[str, Any]) -> None:
    predicted, simulated = (
        goodput(scenario(directory, mine, 0.004, flows=4), engine).mean() for engine in ("predict", "packet")
    )
    assert predicted == pytest.approx(simulated, rel=0.2)


def test_threads_share_python_and_change_nothing(directory: Path) -> None:
    # Two batches of flows, each with a thread of its own, ask for the same observations.
    run = scenario(directory, python("Reno"), 0.002, flows=4100, capacity="100Gbps")
    assert (goodput(run, threads=2) == goodput(run, threads=1)).all()


def test_the_thread_of_a_prediction_keeps_its_state_of_python(directory: Path) -> None:
    """To make and free one for each call takes longer than most controls."""
    assert goodput(scenario(directory, python("Remembers"), 0.004))[0] > 0


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Fails", r"stack 'mine', congestion, observed over an ideal path, at 0\.\d+ s: line 18: KeyError: 'loss'"),
        ("Paces", "cannot predict stack mine: its congestion control paces its packets"),
        ("Measures", "cannot predict stack mine: its congestion control measures delivery rates"),
        ("Waits", "cannot predict stack mine: its congestion control hardly answers losses"),
        ("Holds", "cannot predict stack mine: its congestion control hardly answers losses"),
    ],
)
def test_what_an_ideal_path_does_not_show_is_an_error_by_name(directory: Path, name: str, problem: str) -> None:
    with pytest.raises(RunError, match=problem):
        goodput(scenario(directory, python(name), loss=0))


def test_a_control_that_answers_delays_only_in_long_queues_is_refused_only_there(directory: Path) -> None:
    short, long = (scenario(directory, python("Yields"), loss=0, queue=queue) for queue in (50, 800))
    assert goodput(short)[0] == pytest.approx(goodput(short, "packet")[0], rel=0.05)
    with pytest.raises(RunError, match="cannot predict stack mine: its congestion control hardly answers losses"):
        goodput(long)
