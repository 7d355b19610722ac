"""The sockets in the network namespace of the calling thread."""

from pathlib import Path

_SOCKETS = Path("/proc/thread-self/net/tcp")
_LISTENING = "0A"


def listening_ports() -> set[int]:
    """The TCP ports that somebody listens on, by IPv4."""
    sockets = [line.split() for line in _SOCKETS.read_text(encoding="ascii").splitlines()[1:]]
    return {int(fields[1].rsplit(":", 1)[1], 16) for fields in sockets if fields[3] == _LISTENING}
