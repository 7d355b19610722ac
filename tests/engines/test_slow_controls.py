"""Slow and endless congestion controls: signals and a stop end their runs soon, and what there is is kept.

Without interruption, each case takes minutes or never ends.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Timer

import pytest

from anabranch import _core
from anabranch.compile.run import compile_run
from anabranch.results.result import Result
from anabranch.scenario import Scenario
from tests.engines.test_program_controls import compiled, needs_clang

SOON_S = 20.0
"""Far more than an answer takes, on a busy machine too, and far less than the cases take."""

SCENARIO = """
[topology]
from = "dumbbell"
{rate}
[stacks.mine]
congestion = {congestion}
[[traffic]]
from = "left"
to = "right"
flows = {flows}
stack = "mine"
[run]
duration = "3s"
"""

CONTROLS = """
import time
from pathlib import Path

from anabranch.engines.control import Control

def wait(pause_s=0.0):
    Path("reached").touch()
    while Path("slow").exists():
        time.sleep(pause_s)

class Endless(Control):
    def on_ack(self, ack):
        super().on_ack(ack)
        if ack.now_s > 1:
            wait()

class Begins(Control):
    def __init__(self, flow):
        super().__init__(flow)
        wait()

class Interrupts(Control):
    def on_ack(self, ack):
        super().on_ack(ack)
        if ack.now_s > 1:
            raise KeyboardInterrupt

if Path("slow_module").exists():
    wait()
"""

SLOW = """
SEC("struct_ops/avoid") void BPF_PROG(avoid, struct sock *sk, u32 ack, u32 acked)
{ volatile u32 sink = 0; for (u32 pass = 0; pass < 900000; pass++) sink += pass; }
"""


def scenario(directory: Path, congestion: dict[str, str], flows: int = 20, rate: str = "") -> Path:
    (directory / "controls.py").write_text(CONTROLS)
    ((key, value),) = congestion.items()
    path = directory / "slow.toml"
    text = SCENARIO.format(congestion=f'{{ {key} = "{value}" }}', flows=flows, rate=rate)
    path.write_text(text, encoding="utf-8")
    return path


def interrupted(directory: Path, arguments: Sequence[object], number: signal.Signals, reached: str) -> tuple[int, str]:
    """Status and messages of a command to which a signal is sent once a file is there; and whether it ends soon."""
    command = [sys.executable, "-m", "anabranch", *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not list(directory.glob(reached)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(number)
        try:
            said, _ = process.communicate(timeout=SOON_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, said


@pytest.mark.parametrize(
    ("name", "options", "number"),
    [
        ("Endless", [], signal.SIGINT),
        ("Endless", [], signal.SIGTERM),
        ("Begins", [], signal.SIGTERM),
        ("Endless", ["--engine", "predict"], signal.SIGINT),
    ],
    ids=str,
)
def test_an_endless_control_in_python_keeps_the_results_until_the_signal(
    tmp_path: Path, name: str, options: list[str], number: signal.Signals
) -> None:
    path = scenario(tmp_path, {"python": f"controls.py:{name}"}, flows=2)
    (tmp_path / "slow").touch()
    command = ["run", path, "--out", "out", "--no-report", *options]
    code, said = interrupted(tmp_path, command, number, "reached")
    assert code == 130, said
    assert "Interrupted: 0 of 1 run complete" in said
    (run,) = Result.load(tmp_path / "out").manifest["runs"]
    assert run["status"] == "interrupted"
    if (name, options) == ("Endless", []):
        assert 1 < run["simulated_s"] < 1.5
        assert min(Result.load(tmp_path / "out").flows["delivered_bytes"]) > 0


def test_a_module_that_never_ends_is_interrupted(tmp_path: Path) -> None:
    path = scenario(tmp_path, {"python": "controls.py:Endless"}, flows=2)
    (tmp_path / "slow").touch()
    (tmp_path / "slow_module").touch()
    code, said = interrupted(tmp_path, ["run", path, "--out", "out"], signal.SIGINT, "reached")
    assert code == 130, said


def test_a_control_that_raises_an_interrupt_ends_the_run_like_ctrl_c(tmp_path: Path) -> None:
    path = scenario(tmp_path, {"python": "controls.py:Interrupts"}, flows=2)
    result = Scenario.load(path).run()
    assert result.interrupted
    assert result.flows["delivered_bytes"].min() > 0
    assert 1 < result.manifest["runs"][0]["simulated_s"] < 1.5


def test_the_replay_of_an_endless_control_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay uses the plain event loop, on the main thread."""
    path = scenario(tmp_path, {"python": "controls.py:Endless"}, flows=2)
    monkeypatch.chdir(tmp_path)
    assert not Scenario.load(path).run(directory=tmp_path / "out").interrupted
    (tmp_path / "reached").unlink()
    (tmp_path / "slow").touch()
    code, said = interrupted(tmp_path, ["replay", "out", "--at", "2s", "--run-control"], signal.SIGTERM, "reached")
    assert code == 130, said
    assert "Traceback" not in said


@needs_clang
@pytest.mark.parametrize("options", [[], ["--threads", "2"], ["--engine", "predict"]], ids=str)
def test_a_slow_program_hears_signals(tmp_path: Path, options: list[str]) -> None:
    program = compiled(tmp_path, SLOW, ".cong_avoid = (void *)avoid")
    path = scenario(tmp_path, {"program": program}, rate='capacity = "10Gbps"')
    code, said = interrupted(
        tmp_path, ["run", path, "--out", "out", "--no-report", *options], signal.SIGINT, "out/.anabranch/lock"
    )
    assert code == 130, said
    assert "Interrupted: 0 of 1 run complete" in said
    assert Result.load(tmp_path / "out").flows.height == 20 * ("predict" not in options)


@needs_clang
def test_calls_of_a_slow_program_are_executed_again_until_a_signal(tmp_path: Path) -> None:
    """Each record is zero: a call of the first function, of which there are as many as take minutes."""
    program = base64.b64encode((tmp_path / compiled(tmp_path, SLOW, ".cong_avoid = (void *)avoid")).read_bytes())
    congestion = json.dumps({"program": program.decode(), "hz": 250})
    with pytest.raises(ValueError, match="records have") as refused:
        _core.replay_calls(congestion, ["cong_avoid"], b"0")
    records = bytes(10_000 * int(str(refused.value).split()[2]))
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            _core.replay_calls(congestion, ["cong_avoid"], records)
    finally:
        signal.signal(signal.SIGINT, former)
    assert time.monotonic() - began < SOON_S


@needs_clang
def test_steps_of_a_slow_program_are_short_and_change_no_result(tmp_path: Path) -> None:
    """A step of 200,000 events would take a billion passes of its loop; the engine counts some of them as events."""
    program = compiled(tmp_path, SLOW.replace("900000", "1000"), ".cong_avoid = (void *)avoid")
    path = scenario(tmp_path, {"program": program}, flows=1)
    spec = json.dumps(compile_run(Scenario.load(path).cases[0], 1))
    finished = []
    for events in (2_000, 1 << 40):
        simulation, steps = _core.Simulation(spec), 1
        while simulation.advance(events):
            steps += 1
        flows = simulation.flows()
        finished.append(({name: list(flows[name]) for name in flows}, simulation.packet_hops, steps))
    (short, hops, steps), (long, _, one) = finished
    assert json.dumps(short, default=str) == json.dumps(long, default=str)
    assert one == 1
    assert steps > 20 * hops / 2_000
