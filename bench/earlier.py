"""An earlier commit of this repository, installed into a virtual environment of its own below bench/.build."""

import subprocess
import sys
import venv
from pathlib import Path

from bench.bench import ROOT
from bench.peers.child import PeerError


def install(commit: str) -> Path:
    """Build the package of a commit as a user would, some minutes long; return its Python. What has been built stays."""
    full = _run("git", "rev-parse", "--verify", f"{commit}^{{commit}}").strip()
    folder = ROOT / "bench" / ".build" / f"commit-{full[:12]}"
    environment, source, done = folder / "venv", folder / "source", folder / "installed"
    python = environment / "bin" / "python"
    if not done.exists():
        print(f"Installing commit {full[:7]} into {environment}: this takes some minutes.", file=sys.stderr)
        source.mkdir(parents=True, exist_ok=True)
        _run("git", "archive", "--output", str(folder / "source.tar"), full)
        _run("tar", "-xf", str(folder / "source.tar"), "-C", str(source))
        venv.create(environment, with_pip=True)
        _run(str(python), "-m", "pip", "install", "--quiet", str(source))
        done.touch()
    return python


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"{' '.join(command[:3])}: {done.stderr.strip()[-2000:]}")
    return done.stdout
