"""A network namespace without a name, kept by one thread of this process."""

import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.programs import ChildProgram
from anabranch.engines.kernel.linux_network.system_calls import NEW_NETWORK, unshare

Result = TypeVar("Result")


class NetworkNamespace:
    """A network namespace. Its thread calls functions and starts programs in it; both end with :meth:`close`."""

    def __init__(self) -> None:
        """Make it, without devices other than the loopback, which is down.

        Raises:
            NetworkError: privileges are absent, or Linux has no more namespaces.
        """
        self._thread = ThreadPoolExecutor(1, "network-namespace")
        try:
            self.run(lambda: unshare(NEW_NETWORK))
        except OSError as error:
            self._thread.shutdown()
            raise NetworkError(
                f"a network namespace cannot be made ({error.strerror}): use sudo, or `unshare --user --map-root-user`"
            ) from None
        self.descriptor = self.run(lambda: os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        """Descriptor of the namespace, for ``setns`` and ``ip link set netns``."""
        self._programs: list[ChildProgram] = []

    def run(self, action: Callable[[], Result]) -> Result:
        """Call ``action`` inside and return its result. Sockets and devices that it opens belong to the namespace."""
        return self._thread.submit(action).result()

    def configure(self, commands: str) -> None:
        """Execute lines of ``ip -batch``, such as ``link set lo up``.

        Raises:
            NetworkError: ``ip`` is absent, or refuses a line.
        """
        try:
            done = self.run(
                lambda: subprocess.run(
                    ["ip", "-batch", "-"], input=commands, capture_output=True, text=True, check=False
                )
            )
        except FileNotFoundError:
            raise NetworkError("ip is not installed: install iproute2") from None
        if done.returncode:
            raise NetworkError(f"ip refuses a line of {commands!r}: {done.stderr.strip()}")

    def set_sysctl(self, name: str, value: str) -> None:
        """Set a sysctl of the namespace, such as ``net.ipv4.tcp_sack``.

        Raises:
            NetworkError: there is no such sysctl in a namespace, or Linux refuses the value.
        """
        path = Path("/proc/sys") / name.replace(".", "/")
        try:
            self.run(lambda: path.write_text(value))
        except OSError as error:
            raise NetworkError(f"sysctl {name} = {value}: {error.strerror}") from None

    def sysctl(self, name: str) -> str:
        """The value of a sysctl of the namespace.

        Raises:
            NetworkError: there is no such sysctl in a namespace.
        """
        path = Path("/proc/sys") / name.replace(".", "/")
        try:
            return self.run(path.read_text).strip()
        except OSError as error:
            raise NetworkError(f"sysctl {name}: {error.strerror}") from None

    def start(self, command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
        """Start a program inside, with these options of ``subprocess.Popen``.

        Raises:
            NetworkError: there is no such program.
        """
        program = ChildProgram(self.descriptor, command, options)
        self._programs.append(program)
        return program.process

    def close(self) -> None:
        """End the programs inside, and the namespace once no socket or device is left in it."""
        for program in self._programs:
            program.end()
        self._programs.clear()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self._thread.shutdown()

    def __enter__(self) -> "NetworkNamespace":
        """The namespace; it is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
