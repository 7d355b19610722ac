"""Freed memory goes back to the system."""

import ctypes
from pathlib import Path

import pytest

from anabranch.foundation.memory import return_freed_memory

PIECES, BYTES = 60_000, 1000
"""Python takes more than 512 bytes from the C library."""


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc can")
def test_freed_memory_below_used_memory_is_returned() -> None:
    """The C library returns none of it by itself: the last piece is in use."""
    pieces = [bytes(BYTES) for _ in range(PIECES)]
    last = bytes(BYTES)
    del pieces
    before = resident_bytes()
    return_freed_memory()
    assert before - resident_bytes() > PIECES * BYTES / 2
    del last
