"""Runs one eBPF program in the packet engine and in the running Linux, and draws the windows of both.

``sudo python docs/images/programs.py`` takes two minutes. Linux sends over a path that user space emulates in real time, so use a quiet machine.
"""

import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import altair
import polars as pl

from anabranch import Scenario, programs
from anabranch.engines.kernel.linux_programs.emulator import RECEIVER, EmulatedPath, Ends, emulated
from anabranch.engines.kernel.linux_programs.loaded import LoadedObject
from anabranch.engines.kernel.linux_programs.namespaces import inside

HERE = Path(__file__).parent
CONTROLS = {"anabranch_reno": "Reno", "anabranch_cubic": "CUBIC", "anabranch_kikolo": "Kikolo"}
RATE_BPS, DELAY_S = 10e6, 0.02
DURATION_S, EVERY_S = 30, 0.1
TCP_INFO_CWND = slice(80, 84)
"""tcpi_snd_cwnd in struct tcp_info (uapi/linux/tcp.h)."""
TCP_INFO_BYTES_ACKED = slice(120, 128)
"""tcpi_bytes_acked."""


def in_engine(program: str) -> tuple[list[tuple[float, float]], float]:
    """Times and windows, and the goodput in bit/s."""
    scenario = Scenario(
        {
            "topology": {
                "links": [{"source": "A", "target": "B", "capacity": f"{RATE_BPS} bit/s", "delay": f"{DELAY_S}s"}],
                "queue": {"discipline": "drop-tail", "limit": "1 bdp"},
            },
            "stacks": {"program": {"preset": "linux-cubic", "congestion": {"program": program}}},
            "traffic": [{"from": "A", "to": "B", "bulk": True, "stack": "program"}],
            "run": {"duration": f"{DURATION_S}s", "sample": f"{EVERY_S}s"},
        }
    )
    result = scenario.run(seed=1)
    windows = result.series_flows.select("time_s", "cwnd_segments").drop_nulls().rows()
    return windows, result.flows["goodput_bps"].item()


def in_linux(program: str) -> tuple[list[tuple[float, float]], float]:
    """The same from Linux, by TCP_INFO."""
    path = programs.find(program)
    assert path
    with LoadedObject(path) as control:
        (name,) = control.register()
        with emulated(EmulatedPath(RATE_BPS, DELAY_S, loss=0.0), ()) as ends:
            return _transfer(ends, name)


def _transfer(ends: Ends, control: str) -> tuple[list[tuple[float, float]], float]:
    listener = inside(ends.receiver, socket.socket)
    listener.bind((RECEIVER, 5001))
    listener.listen()
    threading.Thread(target=_receive, args=(listener,), daemon=True).start()
    sender = inside(ends.sender, socket.socket)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    sender.connect((RECEIVER, 5001))
    begin = time.monotonic()
    threading.Thread(target=_send, args=(sender,), daemon=True).start()
    windows: list[tuple[float, float]] = []
    while (now := time.monotonic() - begin) < DURATION_S:
        information = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        windows.append((now, int.from_bytes(information[TCP_INFO_CWND], "little")))
        time.sleep(EVERY_S - now % EVERY_S)
    acked = int.from_bytes(information[TCP_INFO_BYTES_ACKED], "little")
    sender.shutdown(socket.SHUT_RDWR)
    return windows, 8 * acked / now


def _send(sender: socket.socket) -> None:
    block = bytes(1 << 16)
    try:
        while True:
            sender.sendall(block)
    except OSError:
        return


def _receive(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    while connection.recv(1 << 18):
        pass


def picture(windows: pl.DataFrame, goodputs: dict[str, str]) -> Any:
    """Windows over time, a panel for each program."""
    base = altair.Chart(altair.InlineData(values=windows.to_dicts())).mark_line(strokeWidth=1.2)
    lines = base.encode(
        x=altair.X("time:Q", title="time, s", scale=altair.Scale(domain=[0, DURATION_S], nice=False)),
        y=altair.Y("window:Q", title="window, segments"),
        color=altair.Color(
            "where:N", title=None, scale=altair.Scale(domain=["packet engine", "Linux"], range=["#08519c", "#e6550d"])
        ),
    ).properties(width=760, height=120)
    panels = [
        lines.transform_filter(altair.datum.control == label).properties(
            title=altair.Title(f"{label}: {goodputs[label]}", fontSize=11, anchor="start")
        )
        for label in CONTROLS.values()
    ]
    heading = altair.Title(
        "The same eBPF programs in the packet engine and in Linux",
        subtitle=f"One flow over {RATE_BPS / 1e6:.0f} Mbit/s and {DELAY_S * 1e3:.0f} ms, with a queue of one bandwidth-delay product.",
        anchor="start",
    )
    return (
        altair.vconcat(*panels, spacing=8)
        .properties(title=heading)
        .configure(background="white", aria=False)
        .configure_view(stroke=None)
    )


def main() -> None:
    """Run everything and write the picture beside this file."""
    rows: list[dict[str, object]] = []
    goodputs: dict[str, str] = {}
    for program, label in CONTROLS.items():
        measured = {"packet engine": in_engine(program), "Linux": in_linux(program)}
        goodputs[label] = ", ".join(f"{where} {goodput / 1e6:.2f} Mbit/s" for where, (_, goodput) in measured.items())
        print(label, goodputs[label], flush=True)
        rows += [
            {"control": label, "where": where, "time": round(at, 2), "window": round(window, 1)}
            for where, (windows, _) in measured.items()
            for at, window in windows
        ]
    picture(pl.DataFrame(rows), goodputs).save(HERE / "programs.svg")
    os._exit(0)  # threads still wait at sockets of namespaces that are gone


if __name__ == "__main__":
    main()
