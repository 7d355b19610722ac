"""Compile the programs that use a peer's C++ libraries."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .child import PeerError, PeerMissing

BUILD_FOLDER = Path(__file__).resolve().parents[1] / ".build"
FLAGS = ("-std=c++17", "-O3")


def compile_program(name: str, source: Path, flags: Sequence[str], libraries: Sequence[str]) -> Path:
    """Compile a program if it is not already there for this source, compiler and libraries; return its path.

    Libraries are paths or -l options. A library that an option names is assumed not to change.
    """
    compiler = _compiler()
    command = [compiler, *FLAGS, *flags]
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(source.read_bytes() + version + " ".join([*command, *libraries]).encode())
    for library in libraries:
        digest.update(b"" if library.startswith("-l") else Path(library).read_bytes())
    program = BUILD_FOLDER / f"{name}-{digest.hexdigest()[:16]}"
    if program.exists():
        return program
    BUILD_FOLDER.mkdir(parents=True, exist_ok=True)
    # Compiled beside its place and moved there, so that a build broken off leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(dir=BUILD_FOLDER) as folder:
        fresh = Path(folder) / program.name
        result = subprocess.run(
            [*command, str(source), "-o", str(fresh), *libraries], capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise PeerError(f"compiling {source.name} failed: {result.stderr[:2000]}")
        os.replace(fresh, program)
    return program


def has_header(header: str) -> bool:
    """Tell whether the compiler finds a header."""
    command = [_compiler(), "-E", "-x", "c++", "-"]
    program = f"#include <{header}>\n"
    return subprocess.run(command, input=program, capture_output=True, text=True, check=False).returncode == 0


def _compiler() -> str:
    compiler = shutil.which("g++")
    if compiler is None:
        raise PeerMissing("there is no C++ compiler; on Debian or Ubuntu: apt-get install g++")
    return compiler
