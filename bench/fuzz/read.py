"""One broken file: read by the command that reads such files, which takes it or refuses it by name, and never fails otherwise."""

import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from anabranch.cli import DONE, FAILED, USAGE, status
from bench.fuzz.broken import broken

LONGEST_LINE = 1000
"""The most characters in a line of a message. A scenario may have many problems, each in a line of its own."""
OF_THE_WHOLE = (
    "no path of the routing leads",
    "the traffic model has no traffic",
    "no demand is left",
    "more than 2^32; shorten the run",
    "bit/s: must be at least 1 kbit/s",  # of a link, by its name
    '= "n1": no such node',
    '= "n3": no such node',
    '= "0": no such node',
    '= "2": no such node',
    "no path leads there over links that are up",  # between the parts of a network
)
"""Messages about the whole that a valid file is a part of."""


def problems(number: int) -> list[str]:
    """The mistakes in the reading of the broken file of this number."""
    original, data = broken(number)
    with tempfile.TemporaryDirectory(prefix="broken-") as folder:
        file, scenario = Path(folder) / original.name, Path(folder) / "on-file.toml"
        file.write_bytes(data)
        scenario.write_text(original.scenario, encoding="utf-8")
        arguments = [word.format(file, scenario=scenario) for word in original.command]
        output, message = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(output), redirect_stderr(message):
                ended = status(arguments)
        except BaseException as error:  # a panic of the core is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return [f"{original.name}: {type(error).__name__}: {str(error)[:200]}"]
    is_script = original.command[0] == "drill"  # whose output names what is refused
    said = message.getvalue() + (output.getvalue() if is_script else "")
    found = []
    if ended not in (DONE, FAILED) and not (is_script and ended == USAGE):
        found.append(f"{original.name}: exit status {ended}: {said[:200]}")
    if ended == FAILED and original.name not in said and not any(reason in said for reason in OF_THE_WHOLE):
        found.append(f"{original.name}: the message does not name the file: {said[:200]}")
    if "Traceback" in said or "internal error" in said:
        found.append(f"{original.name}: {said[:200]}")
    longest = max(said.splitlines(), key=len, default="")
    if len(longest) > LONGEST_LINE:
        found.append(f"{original.name}: a message of {len(longest)} characters: {longest[:200]}")
    return found
