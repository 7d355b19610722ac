"""The system's libbpf (1.0 or later) by ctypes: the functions that this package calls, and their errors.

Only the programs in Linux need it: without libbpf, all other parts of the package can be installed and used.
"""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from pathlib import Path

KERNEL_BTF = Path("/sys/kernel/btf/vmlinux")
_LINE = 4096
"""Bytes of a piece of the log. The verifier's log comes in one piece, whose end has the reason."""
_LOG = 1 << 24


class LinuxError(ValueError):
    """Linux or libbpf lacks what a command needs, or refuses a program."""


class UnavailableError(LinuxError):
    """Linux cannot be asked: the library, the kernel's BTF or privileges are absent."""


_PRINT = ctypes.CFUNCTYPE(c_int, c_int, c_char_p, c_void_p)

TAKE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
"""Type of the function that takes an entry of a ring buffer: its address and size."""

_FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "libbpf_set_print": (c_void_p, [_PRINT]),
    "libbpf_minor_version": (c_uint32, []),
    "bpf_object__open_mem": (c_void_p, [c_char_p, c_size_t, c_void_p]),
    "bpf_object__load": (c_int, [c_void_p]),
    "bpf_object__close": (None, [c_void_p]),
    "bpf_object__next_map": (c_void_p, [c_void_p, c_void_p]),
    "bpf_object__next_program": (c_void_p, [c_void_p, c_void_p]),
    "bpf_object__find_map_by_name": (c_void_p, [c_void_p, c_char_p]),
    "bpf_map__type": (c_int, [c_void_p]),
    "bpf_map__name": (c_char_p, [c_void_p]),
    "bpf_map__fd": (c_int, [c_void_p]),
    "bpf_map__map_flags": (c_uint32, [c_void_p]),
    "bpf_map__set_map_flags": (c_int, [c_void_p, c_uint32]),
    "bpf_map__attach_struct_ops": (c_void_p, [c_void_p]),
    "bpf_program__name": (c_char_p, [c_void_p]),
    "bpf_program__fd": (c_int, [c_void_p]),
    "bpf_program__expected_attach_type": (c_int, [c_void_p]),
    "bpf_link__fd": (c_int, [c_void_p]),
    "bpf_link__destroy": (c_int, [c_void_p]),
    "bpf_link_create": (c_int, [c_int, c_int, c_int, c_void_p]),
    "bpf_obj_pin": (c_int, [c_int, c_char_p]),
    "ring_buffer__new": (c_void_p, [c_int, TAKE, c_void_p, c_void_p]),
    "ring_buffer__poll": (c_int, [c_void_p, c_int]),
    "ring_buffer__free": (None, [c_void_p]),
    "btf__new": (c_void_p, [c_char_p, c_uint32]),
    "btf__type_by_id": (POINTER(c_uint32), [c_void_p, c_uint32]),
    "btf__name_by_offset": (c_char_p, [c_void_p, c_uint32]),
    "btf__find_by_name_kind": (c_int, [c_void_p, c_char_p, c_uint32]),
    "btf__resolve_size": (ctypes.c_int64, [c_void_p, c_uint32]),
}


class Libbpf:
    """The library, and the messages that it printed since :meth:`clear`."""

    def __init__(self) -> None:
        """Load it.

        Raises:
            UnavailableError: this is not Linux, or the library or the kernel's BTF is absent.
        """
        try:
            self._library = ctypes.CDLL("libbpf.so.1", use_errno=True)
        except OSError:
            raise UnavailableError(
                "libbpf.so.1 is not installed: install it (Debian: apt-get install libbpf1; Fedora: dnf install libbpf)"
            ) from None
        if not KERNEL_BTF.exists():
            raise UnavailableError(
                f"{KERNEL_BTF} is missing: eBPF congestion controls need a Linux built with CONFIG_DEBUG_INFO_BTF"
            )
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._messages: list[str] = []
        self._print = _PRINT(self._take)
        self._format = ctypes.CDLL(None).vsnprintf
        self._format.argtypes = [c_char_p, c_size_t, c_char_p, c_void_p]
        self._library.libbpf_set_print(self._print)

    def _take(self, level: int, text: bytes, arguments: int) -> int:
        if level < 2:  # a warning or information, not for debugging
            room = ctypes.create_string_buffer(_LOG if b"LOG" in text else _LINE)
            self._format(room, len(room), text, arguments)
            self._messages.append(room.value.decode(errors="replace"))
        return 0

    def clear(self) -> None:
        """Forget the messages."""
        self._messages.clear()

    def messages(self) -> str:
        """The text that the library printed."""
        return "".join(self._messages)

    def call(self, name: str, *arguments: object) -> int:
        """Call a function of the library. Returns its result, a number or an address.

        Raises:
            OSError: it returned a negative number, or no address, with errno.
        """
        function = getattr(self._library, name)
        ctypes.set_errno(0)
        result: int | None = function(*arguments)
        is_address = function.restype is c_void_p
        if (is_address and not result) or (not is_address and result is not None and result < 0):
            number = ctypes.get_errno() or -(result or 0)
            raise OSError(number, os.strerror(number))
        return result or 0

    def find(self, name: str, *arguments: object) -> int | None:
        """The address that a function returns, None for none."""
        result: int | None = getattr(self._library, name)(*arguments)
        return result

    def text(self, name: str, *arguments: object) -> str:
        """The text that a function returns."""
        result: bytes = getattr(self._library, name)(*arguments)
        return result.decode()

    def words(self, name: str, *arguments: object) -> "ctypes._Pointer[c_uint32]":
        """The numbers that a function returns the address of."""
        result: ctypes._Pointer[c_uint32] = getattr(self._library, name)(*arguments)
        return result


@cache
def libbpf() -> Libbpf:
    """The library, loaded at the first call."""
    return Libbpf()
