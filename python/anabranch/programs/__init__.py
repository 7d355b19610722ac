"""Congestion controls compiled from ``bpf/`` by ``make programs``, and the layout of the sockets that they read."""

from pathlib import Path

#: BTF of the simulator's sockets and samples, compiled from ``bpf/anabranch.bpf.h``.
LAYOUT = Path(__file__).with_name("layout.btf")


def find(name: str) -> Path | None:
    """Path of the object that this package has under a name such as ``anabranch_reno``; None if it has none."""
    path = Path(__file__).with_name(f"{name}.bpf.o")
    return path if path.exists() else None
