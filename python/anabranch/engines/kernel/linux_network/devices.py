"""Network devices: devices that this process reads and writes, and pairs of devices that join two namespaces."""

import fcntl
import os
import struct
from typing import Literal

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace

_SET_INTERFACE = 0x400454CA
_FLAGS = {"tun": 1, "tap": 2}
_WITHOUT_HEADER = 0x1000
_QUEUE = 100_000
"""Packets that wait for this process. A stalled process should find packets late, but not lose them."""


def open_device(
    namespace: NetworkNamespace,
    name: str,
    *,
    kind: Literal["tun", "tap"] = "tun",
    address: str | None = None,
    mtu: int = 1500,
) -> int:
    """The descriptor of a new device that is up: a read is a packet that the namespace sends, a write one that it receives.

    A read does not block. With an ``address`` (of IPv4), the device has it, and all other addresses are reached over the device. A ``tun`` carries IP
    packets, a ``tap`` Ethernet frames. The device ends when the descriptor is closed.

    Raises:
        NetworkError: /dev/net/tun is absent or closed to this user, or Linux refuses the name, the address or the MTU.
    """

    def open_here() -> int:
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.ioctl(
                device, _SET_INTERFACE, struct.pack("16sH22x", name.encode("ascii"), _FLAGS[kind] | _WITHOUT_HEADER)
            )
        except OSError:
            os.close(device)
            raise
        return device

    try:
        device = namespace.run(open_here)
    except OSError as error:
        raise NetworkError(f"device {name}: /dev/net/tun: {error.strerror}") from None
    commands = [f"link set {name} mtu {mtu} txqueuelen {_QUEUE} up"]
    if address is not None:
        commands = [f"address add {address}/32 dev {name}", *commands, f"route add default dev {name} src {address}"]
    try:
        namespace.configure("\n".join(commands))
    except NetworkError:
        os.close(device)
        raise
    return device


def join(one: NetworkNamespace, name: str, other: NetworkNamespace, other_name: str) -> None:
    """Join two namespaces by a pair of virtual Ethernet devices that are up; they end with either namespace.

    Raises:
        NetworkError: Linux refuses a name.
    """
    path = f"/proc/{os.getpid()}/fd/{other.descriptor}"
    one.configure(f"link add {name} type veth peer name {other_name} netns {path}\nlink set {name} up")
    other.configure(f"link set {other_name} up")
