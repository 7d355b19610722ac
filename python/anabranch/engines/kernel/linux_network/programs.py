"""Programs that end with this process, and all that they start, daemons included.

Each program is the first process of a namespace of process ids: Linux kills all processes there when the first one ends. Linux kills the first
one when the thread that started it ends, as it does by ``kill -9`` of this process.
"""

import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.system_calls import (
    NEW_NETWORK,
    NEW_PROCESS_IDS,
    die_with_parent,
    enter,
    unshare,
)


class ChildProgram:
    """A program in a network namespace. A thread of its own starts it. The program ends with this thread at the latest."""

    def __init__(self, namespace: int, command: Sequence[str], options: Mapping[str, Any]) -> None:
        """Start it, with the descriptor of the namespace and these options of ``subprocess.Popen``.

        Raises:
            NetworkError: there is no such program, or privileges are absent.
        """
        self._thread = ThreadPoolExecutor(1, command[0])
        try:
            self.process = self._thread.submit(_start, namespace, command, options).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def end(self) -> None:
        """Kill it, with all that it has started."""
        self.process.kill()
        self.process.wait()
        self._thread.shutdown()


def _start(namespace: int, command: Sequence[str], options: Mapping[str, Any]) -> "subprocess.Popen[Any]":
    lifeline, held = os.pipe()

    def prepare() -> None:
        os.close(held)
        die_with_parent(signal.SIGKILL)
        # The parent may have ended before that call. Then no process holds the other end of the pipe.
        if select.select([lifeline], [], [], 0)[0]:
            os._exit(1)

    try:
        enter(namespace, NEW_NETWORK)
        # For the processes that this thread starts from now on: the program only.
        unshare(NEW_PROCESS_IDS)
        # A session of its own: Ctrl-C at the terminal interrupts this process, which ends the program in its own time.
        return subprocess.Popen(command, preexec_fn=prepare, start_new_session=True, **options)
    except FileNotFoundError:
        raise NetworkError(
            f"{command[0]} is not installed: install it (Debian: apt-get install {command[0]})"
        ) from None
    except OSError as error:
        raise NetworkError(f"{command[0]} cannot be started ({error.strerror})") from None
    finally:
        os.close(lifeline)
        os.close(held)
