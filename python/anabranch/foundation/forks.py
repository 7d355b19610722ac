"""Refuses work in a process that was forked from one that had already used polars: its threads do not survive a fork."""

import os

_first_user: int | None = None


class ForkError(ValueError):
    """Work in a process in which it would hang."""


def refuse_after_fork() -> None:
    """To be called before polars works on tables.

    Raises:
        ForkError: a parent of this process called it before.
    """
    global _first_user
    if _first_user is None:
        _first_user = os.getpid()
    elif _first_user != os.getpid():
        raise ForkError(
            f"process {os.getpid()} was forked after its parent had used polars, whose threads do not survive that; "
            'use the start method "spawn" or "forkserver" of multiprocessing'
        )
