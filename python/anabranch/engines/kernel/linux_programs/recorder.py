"""Writes the calls that a loaded congestion control records itself: it was compiled with ``bpf/trace.bpf.h``."""

import ctypes
import gzip
import hashlib
import json
import platform
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np

from anabranch import programs
from anabranch.engines.kernel.linux_network.system_calls import ticks_per_second
from anabranch.engines.kernel.linux_programs.layouts import Btf
from anabranch.engines.kernel.linux_programs.libbpf import TAKE, LinuxError, libbpf
from anabranch.engines.kernel.linux_programs.loaded import LoadedObject
from anabranch.engines.kernel.linux_programs.trace_file import CONTENT, FORMAT, RECORD
from anabranch.foundation.output_files import unwritable

HEADER = Path(programs.__file__).with_name("trace.bpf.h")
_MAP = "traced_calls"
_CALL = np.dtype([("program", "S32"), ("sock", "<u8"), *CONTENT])
"""struct call of bpf/trace.bpf.h."""
_BATCH = 1000
"""The least number of calls that are written together."""
_LONGEST_NAME = 31


class CallRecorder:
    """Writes the calls of a control to a file, until it is closed."""

    def __init__(self, control: LoadedObject, name: str, path: Path) -> None:
        """Begin the file; ``name`` is the control's.

        Raises:
            LinuxError: the object does not record its calls, or has another layout.
            FileError: the file cannot be written.
        """
        ring = control.map_descriptor(_MAP)
        if ring is None:
            raise LinuxError(f"{control.path}: does not record its calls: compile it with clang -include {HEADER}")
        members = Btf().members("tcp_congestion_ops")
        found = [(members[program.member], program.name) for program in control.programs()]
        self._functions = [function for function, _ in found]
        self._index = {program[:_LONGEST_NAME].encode(): index for index, (_, program) in enumerate(found)}
        self._path = path
        self._calls: list[bytes] = []
        self._flows: dict[int, int] = {}
        self._flow_count = 0
        self.calls = 0
        self._library = libbpf()
        self._callback = TAKE(self._take)
        self._ring = self._library.call("ring_buffer__new", ring, self._callback, None, None)
        header = {
            "format": FORMAT,
            "control": name,
            "linux": platform.release(),
            "hz": ticks_per_second(),
            "layout_sha256": hashlib.sha256(programs.LAYOUT.read_bytes()).hexdigest(),
            "functions": self._functions,
            "programs": [program for _, program in found],
            "record": RECORD,
            "record_bytes": np.dtype(RECORD).itemsize,
        }
        try:
            self._file = gzip.GzipFile(path, "wb", compresslevel=1)
        except OSError as error:
            raise unwritable(path, error) from None
        self._file.write(json.dumps(header).encode() + b"\n")

    def _take(self, _: int, address: int, size: int) -> int:
        self._calls.append(ctypes.string_at(address, size))
        return 0

    def poll(self, milliseconds: int = 100) -> None:
        """Write what was recorded, and wait for at most this time if there is nothing.

        Raises:
            FileError: the file cannot be written.
        """
        with suppress(InterruptedError):
            self._library.call("ring_buffer__poll", self._ring, milliseconds)
        # Not in the callback: ctypes drops its exceptions.
        if len(self._calls) >= _BATCH:
            self._write()

    def _flow(self, sock: int, function: str) -> int:
        """The number of a flow; a new one may have the address of a former one."""
        if function == "init" or sock not in self._flows:
            self._flows[sock] = self._flow_count
            self._flow_count += 1
        return self._flows[sock]

    def _write(self) -> None:
        calls = np.frombuffer(b"".join(self._calls), _CALL)
        records = np.zeros(len(calls), RECORD)
        records["function"] = [self._index[program] for program in calls["program"].tolist()]
        named = (self._functions[index] for index in records["function"])
        records["flow"] = [self._flow(*pair) for pair in zip(calls["sock"].tolist(), named, strict=True)]
        for name, *_ in CONTENT:
            records[name] = calls[name]
        try:
            self._file.write(records.tobytes())
        except OSError as error:
            raise unwritable(self._path, error) from None
        self.calls += len(records)
        self._calls.clear()

    def close(self) -> None:
        """Complete the file.

        Raises:
            FileError: it cannot be written.
        """
        try:
            self.poll(0)
            self._write()
            self._file.close()
        except OSError as error:
            raise unwritable(self._path, error) from None
        finally:
            self._library.call("ring_buffer__free", self._ring)

    def __enter__(self) -> "CallRecorder":
        """The recorder; it is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
