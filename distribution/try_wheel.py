"""Installs a wheel into an empty environment outside of the checkout, and runs the README's main job and the doctor there.

``python -m distribution.try_wheel dist/*.whl``. pip may only take wheels, and the commands have no compiler on their path. The results must
be those of this checkout, to the bit. Then an extra is added by the command that error messages name.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from anabranch import Result, Scenario
from distribution.crates import ROOT

LARGEST_MB = 330
"""Megabytes (2**20 bytes) that the base installation may take, without pip."""
_SCENARIO = ROOT / "scenarios" / "abilene.toml"
_EXTRA = "te"
_SHOWN = 8


def main(wheel: Path) -> int:
    """Try it; the exit status is 1 if the installation is too large."""
    with tempfile.TemporaryDirectory(prefix="anabranch-wheel-") as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        scripts = folder / "env" / "bin"
        packages = next((folder / "env" / "lib").glob("python3*/site-packages"))
        tools = set(packages.iterdir())
        _perform(folder, scripts, "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel.resolve()))
        sizes = {each.name: _megabytes(each) for each in packages.iterdir() if each not in tools}
        _perform(folder, scripts, "anabranch", "doctor")
        _perform(folder, scripts, "anabranch", "init", "my-topology")
        _perform(folder, scripts, "anabranch", "run", "my-topology.toml")
        _perform(folder, scripts, "anabranch", "run", "example:abilene", "--out", "runs/abilene")
        report = folder / "runs" / "abilene" / "report.html"
        assert "vegaEmbed" in report.read_text(encoding="utf-8")
        assert Result.load(report.parent).hash == Scenario.load(_SCENARIO).run().hash
        _perform(folder, scripts, "pip", "install", "--quiet", "--only-binary", ":all:", f"anabranch[{_EXTRA}]")
        _perform(folder, scripts, "anabranch", "robust", "nsfnet", "--hose", "10Mbps", "--capacity", "100Mbps")
    total = sum(sizes.values())
    largest = sorted(sizes, key=lambda each: -sizes[each])[:_SHOWN]
    print(
        f"\n{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MB; installed with its packages: {total:.0f} MB, of them"
    )
    print(", ".join(f"{each} {sizes[each]:.0f}" for each in largest))
    if total > LARGEST_MB:
        print(f"The base installation is larger than {LARGEST_MB} MB.", file=sys.stderr)
        return 1
    return 0


def _perform(folder: Path, scripts: Path, program: str, *arguments: str) -> None:
    environment = {"PATH": str(scripts), "HOME": str(folder)}
    environment |= {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy") or "PIP_" in key}
    print("$", program, *arguments, flush=True)
    subprocess.run([scripts / program, *arguments], cwd=folder, env=environment, check=True)


def _megabytes(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(512 * file.lstat().st_blocks for file in files) / 2**20


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
