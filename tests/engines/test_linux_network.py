"""Namespaces, devices and programs of Linux: they are isolated, and all of them end with their process, even if it is killed."""

import os
import random
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch.engines.kernel.linux_network import support
from anabranch.engines.kernel.linux_network.devices import join, open_device
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from tests.linux_leftovers import assert_nothing_left, network_namespaces, processes

pytestmark = pytest.mark.usefixtures("namespaces")

MARKER = "424242.4242"
"""A number of seconds for which no other process sleeps."""

ENDLESS = f"""
from anabranch.engines.kernel.linux_network.devices import join, open_device
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
print("begun", flush=True)
while True:
    with NetworkNamespace() as one, NetworkNamespace() as other:
        join(one, "left", other, "right")
        open_device(one, "path", address="10.0.0.1")
        # A daemon that leaves its parent, its session and its process group.
        other.start(["sh", "-c", "setsid sleep {MARKER} & exec sleep {MARKER}"])
"""


def test_a_packet_goes_from_one_namespaces_device_to_the_others_by_this_process_alone() -> None:
    with NetworkNamespace() as one, NetworkNamespace() as other:
        devices = [
            open_device(host, "path", address=address) for host, address in ((one, "10.0.0.1"), (other, "10.0.0.2"))
        ]
        receiver = other.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind(("10.0.0.2", 7))
        receiver.settimeout(10)
        sender = one.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sender.sendto(b"over the device", ("10.0.0.2", 7))
        packet = b""
        while packet[:1] != b"\x45":  # others are of IPv6
            select.select(devices[:1], [], [], 10)
            packet = os.read(devices[0], 2000)
        os.write(devices[1], packet)
        assert receiver.recvfrom(100) == (b"over the device", ("10.0.0.1", sender.getsockname()[1]))
        for descriptor in devices:
            os.close(descriptor)
        receiver.close()
        sender.close()


def test_settings_and_pairs_of_devices_belong_to_their_namespace() -> None:
    here = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    with NetworkNamespace() as one, NetworkNamespace() as other:
        join(one, "left", other, "right")
        one.set_sysctl("net.ipv4.tcp_reordering", "7")
        assert (one.sysctl("net.ipv4.tcp_reordering"), other.sysctl("net.ipv4.tcp_reordering")) == ("7", "3")
        assert other.run(lambda: sorted(name for _, name in socket.if_nameindex())) == ["lo", "right"]
        assert subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout == here


def test_closing_a_namespace_ends_its_programs_and_what_they_have_started() -> None:
    before = network_namespaces()
    with NetworkNamespace() as host:
        host.start(["sh", "-c", f"setsid sleep {MARKER} & exec sleep {MARKER}"])
        ends = time.monotonic() + 20
        while len(processes(MARKER)) < 2:
            assert time.monotonic() < ends
    assert_nothing_left(MARKER, before)


def test_a_process_that_is_killed_leaves_nothing_behind() -> None:
    before = network_namespaces()
    moments = random.Random(3)
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moments.uniform(0, 0.5))
        process.kill()
        process.wait()
        process.stdout.close()
        assert_nothing_left(MARKER, before)


def test_refusals_name_what_is_refused() -> None:
    with NetworkNamespace() as host:
        with pytest.raises(NetworkError, match=r"sysctl net\.ipv4\.tcp_nothing"):
            host.set_sysctl("net.ipv4.tcp_nothing", "1")
        with pytest.raises(NetworkError, match="no-such-program is not installed"):
            host.start(["no-such-program"])
        with pytest.raises(NetworkError, match="link set nothing up"):
            host.configure("link set nothing up")


def test_a_linux_that_allows_no_user_namespace_is_named_with_what_else_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unshare").write_text("#!/bin/sh\necho unshare failed: Operation not permitted >&2\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(support, "missing", lambda: "a network namespace cannot be made: use sudo")
    with pytest.raises(
        NetworkError, match=r"use sudo; and .*user namespace.*\(unshare failed: Operation not permitted\)"
    ):
        support.enter_user_namespace([sys.executable, "-c", "raise SystemExit(3)"])


def test_an_unprivileged_user_gets_namespaces_and_devices_as_root_of_a_user_namespace() -> None:
    unprivileged = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    script = "ip tuntap add dev path mode tun && ip link set path up && cat /proc/sys/net/ipv4/tcp_sack"
    command = [*unprivileged, "unshare", "--user", "--map-root-user", "--net", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no user namespaces here: {done.stderr.strip()}")
    assert done.stdout == "1\n"
