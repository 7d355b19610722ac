"""The guide to congestion controls in eBPF: its commands, in order, with the change of the source that it shows."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest

from anabranch import programs
from anabranch.cli import status
from anabranch.results.result import Result

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "congestion-controls-in-linux.md"
needs_clang = pytest.mark.skipif(
    not shutil.which("clang") or not Path("/usr/include/bpf/bpf_helpers.h").exists(),
    reason="needs clang and libbpf-dev",
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def changed(source: str, differences: str) -> str:
    """The source after each group of removed lines became the group of added lines behind it."""
    for removed, added in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", differences, re.MULTILINE):
        before, after = (re.sub(r"^.", "", lines, flags=re.MULTILINE).rstrip("\n") for lines in (removed, added))
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    return source


def accepts_programs() -> str:
    """Why Linux cannot load eBPF here; empty if it can."""
    from anabranch.engines.kernel.linux_programs.libbpf import LinuxError
    from anabranch.engines.kernel.linux_programs.loaded import PINS, LoadedObject

    reno = programs.find("anabranch_reno")
    assert reno
    try:
        LoadedObject(reno).close()
    except LinuxError as error:
        return str(error)
    return "" if PINS.parent.is_mount() else f"{PINS.parent} is no bpf file system"


@needs_clang
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lead to the table of the page. The commands for Linux run only where it loads eBPF."""
    start, simulate, check, keep = blocks("sh")
    (differences,) = blocks("diff")
    (stacks,) = blocks("toml")
    monkeypatch.chdir(tmp_path)
    create, enter = start.splitlines()
    assert status(shlex.split(create)[1:]) == 0
    monkeypatch.chdir(tmp_path / enter.removeprefix("cd "))
    source = Path("my_scalable.bpf.c")
    source.write_text(changed(source.read_text(), differences))
    make, run = simulate.splitlines()
    subprocess.run(make, check=True, capture_output=True)
    scenario = Path("scenario.toml")
    text = scenario.read_text()
    named = next(line for line in stacks.splitlines() if line.startswith("my_scalable"))
    assert named in text
    native = next(line for line in stacks.splitlines() if line.startswith("native"))
    scenario.write_text(text.replace(named, f"{named}\n{native}").replace('"linux-cubic"]', '"native"]'))
    assert status([*shlex.split(run)[1:], "--seeds", "1..5", "--no-report"]) == 0
    found = Result.load("runs/scenario").summary.with_columns(cs.ends_with("_bps") / 1e6)
    rows = re.findall(r"^\| ([\d.]+) % ((?:\| [\d.]+ ± [\d.]+ ){3})\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 3
    for loss, cells in rows:
        for stack, cell in zip(("my_scalable", "native", "linux-reno"), cells.split("|")[1:], strict=True):
            (of,) = found.filter(pl.col("loss") == float(loss) / 100, pl.col("stack") == stack).iter_rows(named=True)
            digits = len(cell.strip().partition(".")[2].partition(" ")[0])
            shown = " ± ".join(f"{of[name]:.{digits}f}" for name in ("goodput_bps", "goodput_interval_bps"))
            assert cell.strip() == shown, (loss, stack)
    if reason := accepts_programs():
        pytest.skip(f"the commands for Linux were not tried: {reason}")
    for command in [*check.splitlines(), *keep.splitlines()]:
        assert status(shlex.split(command)[1:]) == 0, command


def test_the_page_names_every_object_of_the_package() -> None:
    (table,) = re.findall(r"^## Examples\n\n(.*?)\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == programs.NAMES
