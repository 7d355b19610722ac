"""Build the Linux kernel of the peer: User Mode Linux with virtual time, and the program that runs in it.

``make kernel`` does it, in a few minutes. The source is Debian's package, which is downloaded
(or taken from /usr/src, where it is installed) and deleted again; bench/.build keeps the two programs.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.peers.child import PeerError, PeerMissing

HERE = Path(__file__).resolve().parent
BUILD_FOLDER = HERE.parents[1] / ".build"
PACKAGE = "linux-source-6.1"
CONFIG = HERE / "kernel.config"
JIFFIES_PER_SECOND = 1000
"""CONFIG_HZ, which User Mode Linux fixes at 100."""

EDITS: Mapping[str, tuple[str, str]] = {
    "arch/um/Kconfig": (r"(config HZ\n\tint\n\tdefault) 100\n", rf"\1 {JIFFIES_PER_SECOND}\n"),
    # The kernel's random numbers (BBR draws its phase) depend on the seed that the guest's program writes, not on the host.
    "arch/um/os-Linux/util.c": (r"return getrandom\(buf, len, flags\);", r"return memset(buf, 0, len) ? len : flags;"),
}
"""For each file: the text to replace once, and its replacement."""

TOOLS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
"""Programs that the build needs, and their packages."""

MAKE = ("make", "ARCH=um")


def built() -> tuple[Path, Path]:
    """The kernel and its program; PeerMissing if they have not been built from these sources."""
    kernels = sorted(BUILD_FOLDER.glob(f"linux-*-{_kernel_fingerprint()}"))
    if not kernels:
        raise PeerMissing("no Linux kernel has been built; make kernel builds it in some minutes")
    return kernels[-1], _program()


def version(kernel: Path) -> str:
    """The version of Linux that a kernel was built from."""
    return kernel.name.split("-")[1]


def build() -> Path:
    """Build the kernel, whether there is one or not; return its path."""
    absent = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if absent:
        raise PeerError(f"the kernel cannot be built; on Debian or Ubuntu: apt-get install {' '.join(absent)}")
    BUILD_FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD_FOLDER) as directory:
        source = _source(Path(directory))
        for name, (pattern, replacement) in EDITS.items():
            _edit(source / name, pattern, replacement)
        _run([*MAKE, f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"], source)
        _check_config((source / ".config").read_text(encoding="ascii"))
        _run([*MAKE, f"-j{os.cpu_count() or 1}", "linux"], source)
        number = subprocess.check_output([*MAKE, "-s", "kernelversion"], cwd=source, text=True).strip()
        kernel = BUILD_FOLDER / f"linux-{number}-{_kernel_fingerprint()}"
        os.replace(source / "linux", kernel)
    return kernel


def _source(folder: Path) -> Path:
    """Unpack the kernel's source below `folder`."""
    archive = Path(f"/usr/src/{PACKAGE}.tar.xz")
    if not archive.exists():
        if shutil.which("apt-get") is None:
            raise PeerError(
                f"there is no source of Linux: neither {archive} nor apt-get, which would download {PACKAGE}"
            )
        _run(["apt-get", "download", "-qq", PACKAGE], folder)
        _run(["dpkg-deb", "--extract", *map(str, folder.glob("*.deb")), "package"], folder)
        archive = folder / "package" / archive.relative_to("/")
    source = folder / "source"
    source.mkdir()
    _run(["tar", "--extract", "--strip-components=1", f"--file={archive}"], source)
    return source


def _edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"))
    if count != 1:
        raise PeerError(f"{path.name} of {PACKAGE} has {count} places like {pattern!r}, where one was expected")
    path.write_text(text, encoding="utf-8")


def _check_config(config: str) -> None:
    """An option that does not exist or lacks what it depends on is dropped without a word."""
    wanted = [line for line in CONFIG.read_text(encoding="ascii").splitlines() if line.startswith("CONFIG_")]
    dropped = set(wanted) - set(config.splitlines())
    if dropped:
        raise PeerError(f"{PACKAGE} does not have {', '.join(sorted(dropped))}")


def _program() -> Path:
    """Compile the guest's program if it is not already there for these sources."""
    sources = sorted(HERE.glob("*.c"))
    program = (
        BUILD_FOLDER
        / f"linux-init-{_fingerprint(*(file.read_bytes() for file in (*sources, *sorted(HERE.glob('*.h')))))}"
    )
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=BUILD_FOLDER) as folder:
            fresh = Path(folder) / program.name
            _run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", str(fresh), *map(str, sources)], HERE)
            os.replace(fresh, program)
    return program


def _kernel_fingerprint() -> str:
    return _fingerprint(CONFIG.read_bytes(), repr((PACKAGE, sorted(EDITS.items()))).encode())


def _fingerprint(*pieces: bytes) -> str:
    return hashlib.sha256(b"".join(pieces)).hexdigest()[:16]


def _run(command: Sequence[str], folder: Path) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise PeerError(f"{' '.join(command[:3])} failed: {result.stderr.strip()[-2000:]}")


if __name__ == "__main__":
    try:
        print(build())
    except PeerError as error:
        sys.exit(str(error))
