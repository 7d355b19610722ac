"""Recorded calls of Linux, executed again by the simulator's machine: does it agree?"""

import base64
import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from anabranch import _core, programs
from anabranch.engines.kernel.linux_programs.trace_file import FORMAT, RECORD, read_header, read_records
from anabranch.foundation import input_files
from anabranch.programs import needs

MOST_SHOWN = 10
"""Differences that are kept in words."""


@dataclass
class ReplayComparison:
    """How many calls were executed, how many differ from Linux, and the first of these in words."""

    calls: int = 0
    differing: int = 0
    first: list[str] = field(default_factory=list)


def replay(program: Path, trace: Path) -> ReplayComparison:
    """Execute the calls of a trace with an object.

    Raises:
        InputError: a file is not what it should be, or the trace was recorded with another layout or another control.
    """
    try:
        header = read_header(trace)
        if header.get("format") != FORMAT or [list(one) for one in RECORD] != [
            [name, kind, *map(tuple, length)] for name, kind, *length in header["record"]
        ]:
            raise input_files.InputError(trace, "has another format than this version of Anabranch; record it again")
    except (OSError, EOFError, zlib.error, ValueError, TypeError) as error:
        if isinstance(error, input_files.InputError):
            raise
        raise input_files.InputError(trace, f"is not what congestion-control trace writes ({error})") from None
    if header["layout_sha256"] != hashlib.sha256(programs.LAYOUT.read_bytes()).hexdigest():
        raise input_files.InputError(trace, "was recorded with another layout of sockets; record it again")
    names = [control["name"] for control in needs.describe(program)["controls"]]
    if header["control"] not in names:
        raise input_files.InputError(program, f"has {', '.join(names)}, but the trace is of {header['control']}")
    encoded = base64.b64encode(program.read_bytes()).decode()
    congestion = json.dumps({"program": encoded, "name": header["control"], "hz": header["hz"]})
    comparison = ReplayComparison()
    try:
        for records in read_records(trace):
            differences = _core.replay_calls(congestion, header["functions"], records.tobytes())
            room = MOST_SHOWN - len(comparison.first)
            comparison.first += [f"call {comparison.calls + index}: {what}" for index, what in differences[:room]]
            comparison.calls += len(records)
            comparison.differing += len(differences)
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
        raise input_files.InputError(trace, f"is damaged after {comparison.calls} calls ({error})") from None
    return comparison
