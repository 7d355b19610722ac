"""Runs the command line and turns what comes of it into an exit status."""

import os
import sys
from collections.abc import Sequence

from anabranch.cli.app import app
from anabranch.cli.exit_status import DONE, FAILED, INTERRUPTED, USAGE, UsageError
from anabranch.cli.output import say


def main() -> None:
    """Run the command line and leave with its exit status; a request to terminate is taken as Ctrl-C.

    An interrupted process leaves without waiting for the threads of a solver.
    """
    import signal

    interrupted = False

    def interrupt(number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        code = status()
    except Exception:
        if not interrupted:
            raise
        code = INTERRUPTED  # a library fails in its own way if it is interrupted while it is imported
    if not interrupted:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def status(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    from cyclopts import CycloptsError

    try:
        result = app(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else DONE
    except (CycloptsError, UsageError) as error:
        say(f"{error}\nanabranch --help shows the commands, anabranch COMMAND --help their options.")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nothing is left to say to it
        return DONE
    except (ValueError, OSError) as error:
        say(str(error))
        return FAILED
