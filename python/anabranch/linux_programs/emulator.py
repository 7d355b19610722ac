"""Two network namespaces joined by a path with a rate, a delay, a queue and random loss, emulated in user space."""

import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from anabranch.linux_programs.libbpf import LinuxError
from anabranch.linux_programs.namespaces import inside

_SET_INTERFACE = 0x400454CA
_TUN, _WITHOUT_HEADER = 1, 0x1000
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
    """Names of the two namespaces. Their addresses are :data:`SENDER` and :data:`RECEIVER`."""

    sender: str
    receiver: str


SENDER, RECEIVER = "10.99.0.1", "10.99.0.2"


@contextmanager
def emulated(path: EmulatedPath, sysctls: Sequence[str]) -> Iterator[Ends]:
    """Make the namespaces and the path between them, with these settings of the sender's, such as net.ipv4.tcp_sack=0.

    Raises:
        LinuxError: privileges, ``ip`` or TUN are absent, or Linux refuses a setting.
    """
    ends = Ends(f"anabranch-{os.getpid()}-a", f"anabranch-{os.getpid()}-b")
    made: list[str] = []
    try:
        for name, address, other in ((ends.sender, SENDER, RECEIVER), (ends.receiver, RECEIVER, SENDER)):
            _ip("netns", "add", name)
            made.append(name)
            for words in (
                f"tuntap add dev path mode tun|address add {address} peer {other} dev path|"
                "link set path up txqueuelen 10000|link set lo up"
            ).split("|"):
                _ip("-netns", name, *words.split())
        for setting in sysctls:
            inside(ends.sender, partial(_set, setting))
        devices = inside(ends.sender, _open_tun), inside(ends.receiver, _open_tun)
        emulator = os.fork()
        if emulator == 0:
            try:
                _forward(devices, path)
            finally:
                os._exit(1)
        for device in devices:
            os.close(device)
        try:
            yield ends
        finally:
            os.kill(emulator, signal.SIGKILL)
            os.waitpid(emulator, 0)
    finally:
        for name in made:
            _ip("netns", "delete", name)


def _ip(*words: str) -> None:
    try:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise LinuxError("ip is not on this system: install iproute2") from None
    except subprocess.CalledProcessError as error:
        raise LinuxError(f"ip {' '.join(words)}: {error.stderr.strip()}") from None


def _set(setting: str) -> None:
    name, _, value = setting.partition("=")
    try:
        with open(f"/proc/sys/{name.replace('.', '/')}", "w") as file:
            file.write(value)
    except OSError as error:
        raise LinuxError(
            f'--sysctl {setting}: {error.strerror}; it must be NAME=VALUE, such as "net.ipv4.tcp_sack=0"'
        ) from None


def _open_tun() -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _SET_INTERFACE, struct.pack("16sH22x", b"path", _TUN | _WITHOUT_HEADER))
    return device


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
