"""``anabranch``, and ``python -m anabranch``: the command line."""

import gc
import signal

COLLECT_AFTER = 200_000
"""New objects from which on Python looks for garbage: the modules of a command have up to 140,000, and none of them is garbage."""


def main() -> None:
    """Run the command line. Until it has been imported, Ctrl-C ends the process at once: nothing has begun."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(COLLECT_AFTER)
    from anabranch.cli import main

    main()


if __name__ == "__main__":
    main()
