"""The command line. Data on standard output, progress and messages on standard error.

A module for each command, of the same name, holds its options and prints its answer; ``app.py`` lists them. They import what
computes only when they run, so that help and completion are quick.

May use all others.
"""

from anabranch.cli.entry import main, status
from anabranch.cli.exit_status import DONE, FAILED, INTERRUPTED, USAGE, UsageError

__all__ = ["DONE", "FAILED", "INTERRUPTED", "USAGE", "UsageError", "main", "status"]
