"""Builds the wheel and the sdist into dist/. ``python -m distribution.build`` needs what ``pip install -r requirements/wheel.txt`` installs."""

import os
import subprocess
import sys
from pathlib import Path

from distribution import bundle
from distribution.crates import ROOT

PLATFORM = "manylinux_2_28"
"""Linux with glibc 2.28 or newer (2018). Zig links against it on any machine, and maturin checks the symbols."""


def main(out: Path = ROOT / "dist") -> None:
    """Build both."""
    maturin = [sys.executable, "-m", "maturin"]
    wheel = ["build", "--release", "--zig", "--compatibility", PLATFORM, "--interpreter", sys.executable]
    # maturin looks for pip's Zig on the path
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with bundle.filled():
        for command in (["sdist"], wheel):
            subprocess.run([*maturin, *command, "--out", str(out)], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    main()
