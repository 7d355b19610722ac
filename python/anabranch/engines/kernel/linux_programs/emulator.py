"""Two network namespaces joined by a path with a rate, a delay, a queue and random loss, emulated in user space."""

import errno
import heapq
import os
import random
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from anabranch.engines.kernel.linux_network.devices import open_device
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.kernel.linux_network.system_calls import die_with_parent
from anabranch.engines.kernel.linux_programs.libbpf import LinuxError

_LARGEST_PACKET = 65536


@dataclass(frozen=True)
class EmulatedPath:
    """The path of the data; ACKs have the delay only."""

    rate_bps: float
    delay_s: float
    """One way."""
    loss: float
    """Probability that a packet of data is lost."""
    seed: int = 1


@dataclass(frozen=True)
class Ends:
    """The two namespaces. Their addresses are :data:`SENDER` and :data:`RECEIVER`."""

    sender: NetworkNamespace
    receiver: NetworkNamespace


SENDER, RECEIVER = "10.99.0.1", "10.99.0.2"


@contextmanager
def emulated(path: EmulatedPath, sysctls: Sequence[str]) -> Iterator[Ends]:
    """Make the namespaces and the path between them, with these settings of the sender's, such as net.ipv4.tcp_sack=0.

    Raises:
        LinuxError: Linux refuses a setting.
        NetworkError: privileges, ``ip`` or TUN are absent.
    """
    with ExitStack() as keep:
        ends = Ends(keep.enter_context(NetworkNamespace()), keep.enter_context(NetworkNamespace()))
        devices = []
        for namespace, address in ((ends.sender, SENDER), (ends.receiver, RECEIVER)):
            namespace.configure("link set lo up")
            devices.append(open_device(namespace, "path", address=address))
            keep.callback(os.close, devices[-1])
        for setting in sysctls:
            ends.sender.run(partial(_set, setting))
        keep.enter_context(child(partial(_forward, (devices[0], devices[1]), path)))
        yield ends


@contextmanager
def child(action: Callable[[], None]) -> Iterator[None]:
    """Call ``action``, which does not return, in a process that ends with the block, and with this process at the latest."""
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        try:
            die_with_parent(signal.SIGKILL)
            if os.getppid() == parent:  # else it had ended before that call
                action()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _set(setting: str) -> None:
    name, _, value = setting.partition("=")
    try:
        with open(f"/proc/sys/{name.replace('.', '/')}", "w") as file:
            file.write(value)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise LinuxError(f"--sysctl {setting}: Linux does not take this value") from None
        raise LinuxError(
            f'--sysctl {setting}: {error.strerror}; it must be NAME=VALUE, such as "net.ipv4.tcp_sack=0"'
        ) from None


def _forward(devices: tuple[int, int], path: EmulatedPath) -> None:
    """Forward packets until the process is killed. The queue holds one bandwidth-delay product, and ten packets at least."""
    draws = random.Random(path.seed)
    sender, receiver = devices
    longest_wait = max(2 * path.delay_s, 10 * 12000 / path.rate_bps)
    free_at = 0.0
    pending: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        now = time.monotonic()
        while pending and pending[0][0] <= now:
            _, _, device, packet = heapq.heappop(pending)
            try:
                os.write(device, packet)
            except BlockingIOError:
                continue  # the device's queue is full: the packet is lost
        wait = max(0.0, pending[0][0] - now) if pending else None
        ready, _, _ = select.select(devices, (), (), wait)
        now = time.monotonic()
        for device in ready:
            while True:
                try:
                    packet = os.read(device, _LARGEST_PACKET)
                except BlockingIOError:
                    break
                count += 1
                if device == receiver:
                    heapq.heappush(pending, (now + path.delay_s, count, sender, packet))
                    continue
                begin = max(now, free_at)
                if begin - now > longest_wait:
                    continue
                free_at = begin + 8 * len(packet) / path.rate_bps
                if draws.random() >= path.loss:
                    heapq.heappush(pending, (free_at + path.delay_s, count, receiver, packet))
