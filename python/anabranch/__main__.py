"""``anabranch``, and ``python -m anabranch``: the command line."""

import signal


def main() -> None:
    """Run the command line. Until it has been imported, Ctrl-C ends the process at once: nothing has begun."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from anabranch.cli import main

    main()


if __name__ == "__main__":
    main()
