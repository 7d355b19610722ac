"""Congestion controls compiled from ``bpf/`` by ``make programs``, and the layout of the sockets that they read.

May use ``foundation``.
"""

from pathlib import Path

_HERE = Path(__file__).parent

LAYOUT = _HERE / "layout.btf"
"""BTF of the simulator's sockets and samples, compiled from ``anabranch.bpf.h``."""

NAMES = sorted(path.name.removesuffix(".bpf.o") for path in _HERE.glob("*.bpf.o"))
"""Names of the objects that a stack may choose without a path."""


def find(name: str) -> Path | None:
    """Path of the object that this package has under a name such as ``anabranch_reno``; None if it has none."""
    return _HERE / f"{name}.bpf.o" if name in NAMES else None
