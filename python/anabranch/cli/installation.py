"""Checks which optional parts work on this machine, and says how to get the others (``anabranch doctor``)."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

from anabranch.foundation.extras import EXTRAS, command, missing

_LEAST_PYTHON = (3, 11)
_LEAST_FREE_BYTES = 2**30
_PATIENCE_S = 20


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. If a part that is not ``needed`` is missing, all works except what ``detail`` names."""

    name: str
    ok: bool
    detail: str
    remedy: str | None
    """How to get it; ``None`` if it is there."""
    needed: bool = True


def checks(directory: Path | None = None) -> Iterator[Check]:
    """Look at one thing after another; ``directory`` (the current one) is where runs are going to be written."""
    yield _python()
    yield _required("Rust module anabranch._core", _core, "`pip install .` (needs a Rust toolchain)")
    yield _optional("Charts of reports", _vega, f"`{command('figures')}`")
    yield from (_extra(name) for name in EXTRAS)
    yield _optional("tshark (reads captures in tests)", _tshark, "`apt install tshark`")
    yield _optional("ns-2 (peer in `make bench` and `make validate`)", _ns2, "`apt install ns2`")
    yield _optional("ns-3 (peer in `make bench`)", _ns3, "`apt install libns3-dev`")
    yield _optional("clang (compiles congestion controls)", _clang, "`apt install clang llvm libbpf-dev`")
    yield _optional(
        "eBPF congestion controls in Linux", _linux_programs, "use `sudo`, `apt install libbpf1`, a Linux with BTF"
    )
    yield _optional(
        "network namespaces (Linux's own TCP)",
        _namespaces,
        "use `sudo`, or `apt install iproute2 util-linux`, `modprobe tun` and `sysctl user.max_user_namespaces=1000`",
    )
    yield _optional("iperf3 (a sender of the kernel engine)", _iperf3, "`apt install iperf3`")
    yield _optional("Open vSwitch (`testbed`, `controller`)", _openvswitch, "`apt install openvswitch-switch`")
    yield _disk(directory or Path.cwd())


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, _LEAST_PYTHON))
    ok = sys.version_info >= _LEAST_PYTHON
    return Check("Python", ok, found, None if ok else f"install Python {wanted} or newer")


def _disk(directory: Path) -> Check:
    name = "Free disk for runs"
    try:
        free = shutil.disk_usage(directory).free
    except OSError as error:
        return Check(name, False, f"{directory}: {error.strerror}", "name a directory that exists, or make it")
    ok = free >= _LEAST_FREE_BYTES
    detail = f"{free / 2**30:.1f} GiB free in {directory}"
    return Check(name, ok, detail, None if ok else f"free {_LEAST_FREE_BYTES // 2**30} GiB, or run elsewhere")


def _required(name: str, look: Callable[[], str], remedy: str) -> Check:
    try:
        return Check(name, True, look(), None)
    except Exception as error:  # a broken package may raise anything on import; that is what this is to find out
        return Check(name, False, _reason(error), remedy)


def _optional(name: str, look: Callable[[], str | None], remedy: str) -> Check:
    try:
        found = look()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Check(name, False, _reason(error), remedy, needed=False)
    return Check(name, found is not None, found or "not found", None if found else remedy, needed=False)


def _extra(name: str) -> Check:
    """An extra whose packages are all there, and which work, as far as that is quickly tried."""
    title = f"Extra {name} ({EXTRAS[name].enables})"
    remedy = f"`{command(name)}`"
    if absent := missing(name):
        return Check(title, False, f"without {', '.join(absent)}", remedy, needed=False)
    try:
        return Check(title, True, _TRIALS.get(name, _versions)(name), None, needed=False)
    except Exception as error:  # a broken package may raise anything on import
        return Check(title, False, _reason(error), remedy, needed=False)


_packages = cache(metadata.packages_distributions)
"""The packages of each module. It reads the lists of files of all that is installed: a fifth of a second."""


def _versions(name: str) -> str:
    packages = _packages()
    found = dict.fromkeys(packages.get(module, [module])[0] for module in EXTRAS[name].modules)
    return ", ".join(f"{package} {metadata.version(package)}" for package in found)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _core() -> str:
    core = import_module("anabranch._core")
    core.algorithms()
    return metadata.version("anabranch")


def _vega() -> str:
    from anabranch.pages.report import libraries

    return f"{len(libraries.vega()) / 1e6:.1f} MB of JavaScript"


def _topologies(name: str) -> str:
    from anabranch.network.topologies import load, topohub_names

    load("topozoo/Abilene")
    return f"{_versions(name)}, {len(topohub_names.names())} topologies"


def _figures(name: str) -> str:
    convert = import_module("vl_convert")
    chart = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}
    if not convert.vegalite_to_svg(chart).startswith("<svg"):
        raise RuntimeError("drew no SVG")
    return _versions(name)


def _te(name: str) -> str:
    highs = import_module("highspy").Highs()
    highs.setOptionValue("output_flag", False)
    highs.run()
    return _versions(name)


_TRIALS = {"figures": _figures, "te": _te, "topologies": _topologies}
"""Checks that do more than import the packages."""


def _tshark() -> str | None:
    return _first_line(["tshark", "--version"])


def _iperf3() -> str | None:
    return _first_line(["iperf3", "--version"])


def _openvswitch() -> str | None:
    return _first_line(["ovs-vswitchd", "--version"])


def _ns2() -> str | None:
    # other programs are called ns as well; this one speaks Tcl
    return _first_line(["ns", "-"], "puts [ns-version]; exit 0\n")


def _ns3() -> str | None:
    headers = (Path("/usr/include/ns3/core-module.h"), Path("/usr/local/include/ns3/core-module.h"))
    found = next((header.parent for header in headers if header.is_file()), None)
    return None if found is None else f"headers in {found}"


def _clang() -> str | None:
    headers = Path("/usr/include/bpf/bpf_helpers.h")
    found = _first_line(["clang", "-target", "bpf", "--version"])
    return found if headers.is_file() and shutil.which("llvm-strip") else None


def _linux_programs() -> str | None:
    from anabranch import programs
    from anabranch.engines.kernel.linux_programs.loaded import LoadedObject

    if (reno := programs.find("anabranch_reno")) is None:
        return None
    LoadedObject(reno).close()
    return f"Linux {platform.release()} loads them"


def _namespaces() -> str:
    from anabranch.engines.kernel.linux_network import support

    return support.privileges()


def _first_line(command: list[str], text: str = "") -> str | None:
    """The first line that a program prints; ``None`` without the program, or if it fails."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None
