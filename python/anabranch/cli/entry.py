"""Runs the command line and turns its result into an exit status."""

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from anabranch.cli.exit_status import DONE, FAILED, INTERRUPTED, USAGE, UsageError
from anabranch.cli.output import say
from anabranch.cli.overview import overview

if TYPE_CHECKING:
    from cyclopts import MissingArgumentError

HELP = ("--help", "-h")


def main() -> None:
    """Run the command line and leave with its exit status; a request to terminate is taken as Ctrl-C.

    The process ends after its exit handlers, without the interpreter's teardown of modules and objects: that takes as long as the
    imports of a small run. An interrupted process does not wait for exit handlers either, nor for the threads of a solver. A second request ends it at once
    (:mod:`anabranch.foundation.interrupts`).
    """
    import signal

    from anabranch.foundation.interrupts import REQUESTS, is_repeated, is_without_terminal, take

    interrupted = False

    def interrupt(number: int, frame: object) -> None:
        nonlocal interrupted
        if is_repeated():
            return
        if interrupted:
            os._exit(INTERRUPTED)
        interrupted = True
        take(number)
        raise KeyboardInterrupt

    _prepare_streams()
    for number in REQUESTS:
        if not is_without_terminal(number):
            signal.signal(number, interrupt)
    try:
        code = status()
    except Exception:
        if not interrupted:
            raise
        code = INTERRUPTED  # a library fails in its own way if it is interrupted while it is imported
    if not interrupted:
        atexit._run_exitfuncs()
    with suppress(
        OSError, ValueError
    ):  # the reader of our output has gone; or its disk is full, and the status says so
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _prepare_streams() -> None:
    """Prepare the streams so that no message fails.

    A closed stream discards messages, and so does a terminal once it has closed. An error of another one names it. Characters that a stream's
    encoding lacks become escapes.
    """
    from io import BufferedWriter, TextIOWrapper

    from anabranch.foundation.interrupts import GuardedStream

    for name, title in (("stdout", "standard output"), ("stderr", "standard error")):
        stream = getattr(sys, name)
        if stream is None:
            null = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(null, "w", errors="backslashreplace"))
            continue
        # In the locale C, Python writes only bytes that it could not decode, and no other characters than those of ASCII.
        errors = "backslashreplace" if stream.errors in ("strict", "surrogateescape") else stream.errors
        output = BufferedWriter(GuardedStream(stream.fileno(), title))
        setattr(sys, name, TextIOWrapper(output, stream.encoding, errors, line_buffering=stream.line_buffering))


def status(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if tokens and tokens[0] not in HELP:
            code = _run(tokens)
        else:
            print(overview())
            code = DONE
        sys.stdout.flush()
        return code
    except UsageError as error:
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


def _run(tokens: list[str]) -> int:
    from cyclopts import CoercionError, CycloptsError, MissingArgumentError

    from anabranch.cli.app import app

    try:
        result = app(tokens)(
            _with_standard_input(_with_negative_values(tokens)), exit_on_error=False, print_error=False
        )
    except CycloptsError as error:
        if isinstance(error, CoercionError) and error.token is not None and error.token.keyword is not None:
            expectation = "must be a number" if error.target_type is float and error.msg is None else error.msg
            if expectation is not None:
                raise UsageError(f"{error.token.keyword} {error.token.value}: {expectation}") from None
        if isinstance(error, MissingArgumentError):
            raise UsageError(_missing(error)) from None
        raise UsageError(str(error)) from None
    return result if isinstance(result, int) else DONE


def _missing(error: "MissingArgumentError") -> str:
    """Name the missing argument with its help, and the words that the command does not take."""
    if error.argument is None:
        return str(error)
    if error.keyword:
        wanted = f"{error.keyword} has no value"
    else:
        wanted = f"{error.argument.name} is missing"
        if error.unused_tokens:
            wanted += f", and {' '.join(error.unused_tokens)} is not taken"
    return f"{' '.join(error.command_chain or ())}: {wanted}. {error.argument.parameter.help or ''}".rstrip()


def _with_standard_input(tokens: Sequence[str]) -> list[str]:
    """``run -`` as ``run /dev/stdin``: the parser takes the hyphen for an option without a name. Output has no such name."""
    before = ["", *tokens]
    pairs = zip(before, tokens, strict=False)
    return ["/dev/stdin" if token == "-" and former not in ("-o", "--out") else token for former, token in pairs]


def _with_negative_values(tokens: Sequence[str]) -> list[str]:
    """``--hose -1Mbps`` as ``--hose=-1Mbps``: the parser takes a negative number with a unit for an option, and no option begins with a digit."""
    joined: list[str] = []
    for token in tokens:
        option = joined[-1] if joined else ""
        if token[:1] == "-" and token[1:2].isdigit() and len(option) > 2 and option[:2] == "--" and "=" not in option:
            joined[-1] = f"{option}={token}"
        else:
            joined.append(token)
    return joined
