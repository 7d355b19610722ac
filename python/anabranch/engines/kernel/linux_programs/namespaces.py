"""Network namespaces by name: which congestion control their new sockets have."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from anabranch.engines.kernel.linux_programs.libbpf import LinuxError

NAMESPACES = Path("/run/netns")
"""Where ip netns add makes them."""
DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_NETWORK = 0x40000000

Result = TypeVar("Result")


def inside(name: str, action: Callable[[], Result]) -> Result:
    """Call ``action`` in that namespace and return its result. A thread of its own enters the namespace, and ends there.

    Raises:
        LinuxError: there is no such namespace, or privileges are absent.
    """
    known = sorted(path.name for path in NAMESPACES.iterdir()) if NAMESPACES.exists() else []
    if name not in known:
        there = ", ".join(known) or "none"
        raise LinuxError(
            f"--namespace {name}: no such network namespace (there are: {there}); ip netns add {name} makes it"
        )

    def enter_and_act() -> Result:
        library = ctypes.CDLL(None, use_errno=True)
        descriptor = os.open(NAMESPACES / name, os.O_RDONLY)
        try:
            if library.setns(descriptor, _NETWORK) < 0:
                raise LinuxError(f"--namespace {name}: cannot be entered ({os.strerror(ctypes.get_errno())}): use sudo")
        finally:
            os.close(descriptor)
        return action()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(enter_and_act).result()


def default_control(namespace: str) -> str:
    """The congestion control of new sockets there."""
    return inside(namespace, DEFAULT.read_text).strip()


def set_default_control(namespace: str, control: str) -> None:
    """Make ``control`` that of new sockets there.

    Raises:
        LinuxError: Linux refuses; a control without TCP_CONG_NON_RESTRICTED is for the first namespace only.
    """
    try:
        inside(namespace, lambda: DEFAULT.write_text(control))
    except OSError as error:
        raise LinuxError(
            f"--namespace {namespace}: {control} cannot be its congestion control ({error.strerror}): "
            "the program needs .flags = TCP_CONG_NON_RESTRICTED"
        ) from None
