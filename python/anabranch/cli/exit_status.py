"""Exit status: 0 done, 1 refused or failed with a message, 2 wrong usage (and scripts that cannot run), 130 interrupted.

A command line is wrong usage if no file, network or machine could make it right.
"""

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(ValueError):
    """A command line that cannot be meant; exit status 2."""
