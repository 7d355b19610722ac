"""The compiled congestion controls of the package come from the sources in bpf/."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from anabranch import programs

SOURCES = Path(__file__).parents[2] / "bpf"
BUILT = Path(programs.__file__).parent


def test_the_packaged_objects_were_compiled_from_the_sources_of_today() -> None:
    paths = sorted([*SOURCES.glob("*.bpf.c"), *SOURCES.glob("*.h")])
    now = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    lines = (BUILT / "sources.sha256").read_text().splitlines()
    built = {name: digest for digest, name in (line.split() for line in lines)}
    assert built == now, "run: make programs"


def test_the_core_has_the_layout_of_the_package() -> None:
    core = SOURCES.parent / "crates" / "core" / "src" / "tcp" / "congestion" / "linux" / "program" / "layout.btf"
    assert core.read_bytes() == programs.LAYOUT.read_bytes(), "run: make programs"


def test_every_source_has_its_object() -> None:
    sources = {path.name.removesuffix(".bpf.c") for path in SOURCES.glob("anabranch_*.bpf.c")}
    assert {path.name.removesuffix(".bpf.o") for path in BUILT.glob("*.bpf.o")} == sources
    assert all(programs.find(name) for name in sources)
    assert programs.find("unknown") is None


@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")
def test_the_sources_compile(tmp_path: Path) -> None:
    if not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("needs libbpf-dev")
    subprocess.run(
        ["make", "--directory", SOURCES, f"OUT={tmp_path}", f"CORE={tmp_path}"], check=True, capture_output=True
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        path.name for path in BUILT.iterdir() if path.suffix not in (".py", ".h") and path.is_file()
    }
