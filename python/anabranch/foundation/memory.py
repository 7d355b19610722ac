"""Memory that is no longer used, for other allocators of the process and for other processes."""

import ctypes


def return_freed_memory() -> None:
    """Return freed memory to the system. The C library keeps it for itself otherwise, and the tables' library has an allocator of its own.

    It takes microseconds if there is little to return. Only glibc has such a function.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
