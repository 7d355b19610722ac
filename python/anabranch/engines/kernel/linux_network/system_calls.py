"""Functions that Python 3.11 lacks: system calls, and the ticks of the kernel's clock."""

import ctypes
import os
import time

NEW_NETWORK = 0x40000000
NEW_PROCESS_IDS = 0x20000000
_SET_PARENT_DEATH_SIGNAL = 1
_COARSE_CLOCK = 6
"""CLOCK_MONOTONIC_COARSE: its resolution is a tick."""

_library = ctypes.CDLL(None, use_errno=True)


def unshare(kind: int) -> None:
    """Give the calling thread a new namespace of this kind.

    Raises:
        OSError: privileges are absent, or Linux has no more namespaces.
    """
    _check(_library.unshare(kind))


def enter(descriptor: int, kind: int) -> None:
    """Move the calling thread into a namespace of this kind.

    Raises:
        OSError: privileges are absent.
    """
    _check(_library.setns(descriptor, kind))


def die_with_parent(signal: int) -> None:
    """Have Linux send this signal to the calling process when the thread that started it ends."""
    _check(_library.prctl(_SET_PARENT_DEATH_SIGNAL, signal, 0, 0, 0))


def ticks_per_second() -> int:
    """HZ of this Linux."""
    return round(1 / time.clock_getres(_COARSE_CLOCK))


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
