"""Records the calls of real flows of Linux under a congestion control, over an emulated path."""

import socket
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from anabranch.engines.kernel.linux_network.system_calls import NEW_NETWORK, enter
from anabranch.engines.kernel.linux_programs.emulator import RECEIVER, EmulatedPath, Ends, child, emulated
from anabranch.engines.kernel.linux_programs.loaded import LoadedObject
from anabranch.engines.kernel.linux_programs.recorder import CallRecorder
from anabranch.foundation.interrupts import Interruptible
from anabranch.foundation.progress import Shown

_PORT = 5001
_CONNECTION_S = 10.0
"""Seconds after which a new connection begins: calls come from the start of flows as well."""


def trace(path: Path, output: Path, network: EmulatedPath, calls: int, longest_s: float, sysctls: Sequence[str]) -> int:
    """Record at least this number of calls, for at most this time; how many there are.

    One connection after another transfers data without end.

    Raises:
        KeyboardInterrupt: it was interrupted, and the file has the calls until then.
        LinuxError: Linux refuses the object, or it does not record its calls.
        NetworkError: the path cannot be made.
    """
    with LoadedObject(path) as control:
        name = next(iter(control.register()))
        with (
            emulated(network, sysctls) as ends,
            CallRecorder(control, name, output) as recorder,
            child(partial(_transfer, ends, name)),
        ):
            # An exception of a signal's handler would be lost in the recorder's callback.
            stop = threading.Event()
            with Interruptible(stop), Shown(1) as shown:
                while recorder.calls < calls and shown.elapsed_s() < longest_s and not stop.is_set():
                    recorder.poll()
                    done = max(recorder.calls / calls, shown.elapsed_s() / longest_s)
                    shown.show(done, f"calls of {name}", f"{recorder.calls} recorded")
        if stop.is_set():
            raise KeyboardInterrupt
        return recorder.calls


def _transfer(ends: Ends, control: str) -> None:
    """Send from one namespace to the other, until the process is killed."""
    enter(ends.receiver.descriptor, NEW_NETWORK)
    listener = socket.socket()
    listener.bind((RECEIVER, _PORT))
    listener.listen()
    threading.Thread(target=_receive, args=(listener,), daemon=True).start()
    enter(ends.sender.descriptor, NEW_NETWORK)
    block = bytes(1 << 16)
    while True:
        sender = socket.socket()
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        sender.connect((RECEIVER, _PORT))
        end = time.monotonic() + _CONNECTION_S
        while time.monotonic() < end:
            sender.sendall(block)
        sender.close()


def _receive(listener: socket.socket) -> None:
    data = bytearray(1 << 18)
    while True:
        connection, _ = listener.accept()
        while connection.recv_into(data):
            pass
        connection.close()
