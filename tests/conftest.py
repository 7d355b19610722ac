"""Fixtures and settings of all tests."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import Browser, started

settings.register_profile("anabranch", deadline=None)  # no test depends on how fast the machine is
settings.load_profile("anabranch")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for routers, for real time, or for a process."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A slow test says why it is. The papers begin, because they take the longest: last, they would leave other workers idle."""
    items.sort(key=lambda item: item.path.name != "test_papers.py")
    for item in items:
        for mark in item.iter_markers("slow"):
            if not mark.args:
                raise pytest.UsageError(f'{item.nodeid}: give the reason, as in @pytest.mark.slow("compiles the core")')


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium for all tests, one page at a time; skips where none is installed."""
    with started(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def namespaces() -> Iterator[None]:
    """Skips where no network namespaces can be made. One test at a time has it: others would see its processes, or delay its packets."""
    from anabranch.engines.kernel.linux_network import support

    with open(Path(tempfile.gettempdir()) / "anabranch-tests-namespaces.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (reason := support.missing()) is not None:
            pytest.skip(f"needs network namespaces: {reason}")
        yield


@pytest.fixture
def iperf3() -> None:
    """Skips where there is no iperf3."""
    if shutil.which("iperf3") is None:
        pytest.skip("needs iperf3")


@pytest.fixture
def switches(namespaces: None, iperf3: None) -> None:
    """Skips where a live network cannot be built."""
    from anabranch.engines.openflow.switches import SCHEMA

    if os.geteuid() != 0:
        pytest.skip("needs root: cables and switches have SCHED_FIFO")
    if shutil.which("ovs-vswitchd") is None or not SCHEMA.is_file():
        pytest.skip("needs ovs-vswitchd: apt-get install openvswitch-switch")
    if find_spec("os_ken") is None:
        pytest.skip("needs os-ken: pip install 'anabranch[openflow]'")


@pytest.fixture
def routers(namespaces: None, iperf3: None) -> None:
    """Skips where a live network of Linux routers cannot be built."""
    if os.geteuid() != 0:
        pytest.skip("needs root: cables have SCHED_FIFO")


@pytest.fixture
def frr_routers(routers: None) -> None:
    """Skips where there are no routers of FRR."""
    if shutil.which("vtysh") is None or not Path("/usr/lib/frr/staticd").is_file():
        pytest.skip("needs FRR's daemons: apt-get install frr")


@pytest.fixture
def linux() -> Iterator[None]:
    """Skips where eBPF cannot be loaded. One test at a time has it: names of congestion controls are Linux's."""
    from anabranch import programs
    from anabranch.engines.kernel.linux_programs import libbpf, loaded

    with open(Path(tempfile.gettempdir()) / "anabranch-tests-linux.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with loaded.LoadedObject(programs.find("anabranch_reno") or Path()):
                pass
        except libbpf.LinuxError as error:
            pytest.skip(f"needs eBPF in Linux: {error}")
        before = set(loaded.available())
        yield
        ends = time.monotonic() + 30
        while set(loaded.available()) - before and time.monotonic() < ends:
            time.sleep(0.02)  # Linux frees a link in the background
