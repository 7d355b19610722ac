"""Build and run the ns-3 program."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .child import PeerError, run_child
from .results import PeerRun

SOURCE = Path(__file__).resolve().parent / "dumbbell.cc"
BUILD_FOLDER = SOURCE.parent.parent / ".build"
COMPILE_FLAGS = ("-std=c++17", "-O3", "-DNDEBUG")
# Named one by one: the pkg-config files of some packages give flags the compiler cannot use.
LIBRARIES = ("core", "network", "internet", "point-to-point", "applications")


def build() -> Path:
    """Compile the program if it is not already there for this source and compiler; return its path."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise PeerError("there is no C++ compiler; on Debian or Ubuntu: apt-get install g++ libns3-dev")
    libraries = [f"-lns3-{name}" for name in LIBRARIES]
    program = BUILD_FOLDER / f"ns3-dumbbell-{_fingerprint(compiler, libraries)}"
    if program.exists():
        return program
    if not _have_ns3(compiler):
        raise PeerError("ns-3 is not installed; on Debian or Ubuntu: apt-get install libns3-dev")
    BUILD_FOLDER.mkdir(parents=True, exist_ok=True)
    # Compiled beside its place and moved there, so that a build broken off leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(dir=BUILD_FOLDER) as folder:
        fresh = Path(folder) / program.name
        command = [compiler, *COMPILE_FLAGS, str(SOURCE), "-o", str(fresh), *libraries]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise PeerError(f"compiling {SOURCE.name} failed: {result.stderr[:2000]}")
        os.replace(fresh, program)
    return program


def run_dumbbell(flows: int = 16, seconds: float = 20, *, cpu: int | None = None) -> PeerRun:
    """Run the reference dumbbell with `flows` NewReno flows for `seconds` of simulated time."""
    run = run_child([str(build()), f"--flows={flows}", f"--seconds={seconds}"], cpu)
    return PeerRun.of(run)


def _fingerprint(compiler: str, libraries: list[str]) -> str:
    """Return a short hash of everything the program is made from, the installed ns-3 left out."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(SOURCE.read_bytes() + version)
    digest.update(" ".join([*COMPILE_FLAGS, *libraries]).encode())
    return digest.hexdigest()[:16]


def _have_ns3(compiler: str) -> bool:
    """Tell whether the compiler finds the headers of ns-3."""
    command = [compiler, "-E", "-x", "c++", "-"]
    program = "#include <ns3/core-module.h>\n"
    return subprocess.run(command, input=program, capture_output=True, text=True, check=False).returncode == 0
