"""A congestion control's object in Linux: loaded, verified, registered under its name, and kept."""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from anabranch.engines.kernel.linux_programs.libbpf import Libbpf, LinuxError, UnavailableError, libbpf
from anabranch.foundation.input_files import content

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PINS = Path("/sys/fs/bpf/anabranch")
"""A link that has a file here outlives the process that made it."""
_STRUCT_OPS_MAP = 26
_STRUCT_OPS_LINK = 44
_BY_LINK = 1 << 13
_LINES_OF_REASON = 4


def available() -> list[str]:
    """Names of the congestion controls that Linux has, in its order."""
    return AVAILABLE.read_text().split()


class LoadedProgram(NamedTuple):
    """A program that is a function of a congestion control."""

    name: str
    descriptor: int
    member: int
    """Index of the function among the members of the kernel's tcp_congestion_ops."""


class LoadedObject:
    """An object whose programs Linux accepted. Its controls can be chosen after :meth:`register`, until it is closed."""

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        """Load the object; the verifier checks every program. Its bytes are ``data``, or else the file's.

        Raises:
            LinuxError: libbpf or BTF is absent, privileges are, or Linux refuses the object. The message has the verifier's reason.
        """
        self.path = path
        self._library: Libbpf = libbpf()
        self._links: list[int] = []
        # libbpf before 1.2 does not know this section. Registering by a link is a flag of the map and does not depend on the section's name.
        data = content(path) if data is None else data
        self._bytes = data.replace(b".struct_ops.link\0", b".struct_ops\0\0\0\0\0\0")
        self._library.clear()
        try:
            self.address = self._library.call("bpf_object__open_mem", self._bytes, len(self._bytes), None)
        except OSError as error:
            raise LinuxError(f"{path}: libbpf cannot read it ({_reason(self._library.messages(), error)})") from None
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        if not any(self._control_maps()):
            raise LinuxError(f"{self.path}: has no tcp_congestion_ops in a section .struct_ops")
        for address in self._control_maps():
            flags = self._library.call("bpf_map__map_flags", address)
            self._library.call("bpf_map__set_map_flags", address, flags | _BY_LINK)
        try:
            self._library.call("bpf_object__load", self.address)
        except OSError as error:
            if error.errno == errno.EPERM:
                raise UnavailableError(f"{self.path}: {_PRIVILEGES}") from None
            raise LinuxError(f"{self.path}: Linux refuses it: {_reason(self._library.messages(), error)}") from None

    def _control_maps(self) -> Iterator[int]:
        for address in self._each("bpf_object__next_map"):
            if self._library.call("bpf_map__type", address) == _STRUCT_OPS_MAP:
                yield address

    def _each(self, following: str) -> Iterator[int]:
        address = self._library.find(following, self.address, None)
        while address:
            yield address
            address = self._library.find(following, self.address, address)

    def programs(self) -> list[LoadedProgram]:
        """The programs in the object's order."""
        return [
            LoadedProgram(
                self._library.text("bpf_program__name", address),
                self._library.call("bpf_program__fd", address),
                self._library.call("bpf_program__expected_attach_type", address),
            )
            for address in self._each("bpf_object__next_program")
        ]

    def map_descriptor(self, name: str) -> int | None:
        """The file descriptor of a map; None if the object has none of this name."""
        address = self._library.find("bpf_object__find_map_by_name", self.address, name.encode())
        return self._library.call("bpf_map__fd", address) if address else None

    def register(self) -> dict[str, int]:
        """Register the controls; the file descriptor of each one's link, by the control's name.

        Raises:
            LinuxError: a control of that name is registered already, or Linux refuses it.
        """
        registered: dict[str, int] = {}
        for address in self._control_maps():
            before = set(available())
            try:
                link = self._link(address)
            except OSError as error:
                label = self._library.text("bpf_map__name", address)
                if error.errno == errno.EEXIST:
                    raise LinuxError(
                        f"{self.path}: Linux accepts the programs, but has a congestion control with the name in {label} "
                        "already: unload that one"
                    ) from None
                raise LinuxError(f"{self.path}: Linux does not register {label} ({error.strerror})") from None
            names = sorted(set(available()) - before)
            registered |= dict.fromkeys(names, link)
        if not registered:
            raise LinuxError(f"{self.path}: registered no congestion control: its .struct_ops is of another kind")
        return registered

    def _link(self, address: int) -> int:
        """A link's file descriptor; libbpf before 1.2 fills the map without making a link."""
        link = self._library.call("bpf_map__attach_struct_ops", address)
        if self._library.call("libbpf_minor_version") >= 2:
            descriptor = os.dup(self._library.call("bpf_link__fd", link))
            self._library.call("bpf_link__destroy", link)
        else:
            map_descriptor = self._library.call("bpf_map__fd", address)
            descriptor = self._library.call("bpf_link_create", map_descriptor, 0, _STRUCT_OPS_LINK, None)
        self._links.append(descriptor)
        return descriptor

    def close(self) -> None:
        """Unregister the controls that no pin keeps; present flows go on with theirs."""
        for descriptor in self._links:
            os.close(descriptor)
        self._links.clear()
        self._library.call("bpf_object__close", self.address)

    def __enter__(self) -> "LoadedObject":
        """The object; it is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


_PRIVILEGES = "Linux lets only root load eBPF programs (or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN): use sudo"


def pin(name: str, link: int) -> Path:
    """Keep a control registered after this process; the file that keeps it.

    Raises:
        LinuxError: there is no bpf file system, or the control has a pin.
    """
    path = PINS / name
    try:
        PINS.mkdir(exist_ok=True)
        libbpf().call("bpf_obj_pin", link, str(path).encode())
    except OSError as error:
        remedy = "unload it first" if error.errno == errno.EEXIST else f"mount -t bpf bpf {PINS.parent}"
        raise LinuxError(f"{path}: cannot be made ({error.strerror}): {remedy}") from None
    return path


def pinned() -> list[str]:
    """Names of the controls that pins keep."""
    try:
        return sorted(path.name for path in PINS.iterdir())
    except OSError:
        return []


def unpin(name: str) -> None:
    """Unregister a control that a pin keeps.

    Raises:
        LinuxError: no pin keeps a control of this name, or privileges are absent.
    """
    if name not in pinned():
        known = ", ".join(pinned()) or "none"
        raise LinuxError(f"{name}: no control of this name was loaded with --persist (there are: {known})")
    try:
        (PINS / name).unlink()
    except OSError as error:
        raise LinuxError(f"{PINS / name}: cannot be removed ({error.strerror})") from None


def _reason(messages: str, error: OSError) -> str:
    """The verifier's last words, or libbpf's."""
    log = re.search(r"prog '([^']*)': -- BEGIN PROG LOAD LOG --\n(.*?)-- END PROG LOAD LOG --", messages, re.DOTALL)
    if log is None:
        lines = [line.removeprefix("libbpf: ") for line in messages.splitlines() if line]
        return "; ".join(lines[-_LINES_OF_REASON:]) or error.strerror or f"error {error.errno}"
    ends = ("processed ", "verification time", "stack depth", "func#")
    lines = [line for line in log[2].splitlines() if line.strip() and not line.startswith(ends)]
    said = "\n".join(f"  {line}" for line in lines[-_LINES_OF_REASON:])
    return f"in {log[1]}:\n{said}" if said else f"in {log[1]} ({_text(error)})"


def _text(error: OSError) -> str:
    """Text of an error number. 524 is Linux's ENOTSUPP, which the C library does not know."""
    return "not supported" if error.errno == 524 else error.strerror or str(error.errno)
