"""Without the packages of an extra, a command runs without them, or says in one sentence how to get them."""

import os
import subprocess
import sys
import tomllib
from html import unescape
from pathlib import Path

import pytest

from anabranch.foundation.extras import EXTRAS, MissingExtraError, needed
from anabranch.results.result import Result

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WITHOUT = """\
import sys
for name in {blocked!r}:
    sys.modules[name] = None  # as if it were not installed: importing it fails, and find_spec() finds nothing
import pathlib
import anabranch.foundation.bundled
anabranch.foundation.bundled.FOLDER = pathlib.Path("no wheel")
from anabranch.__main__ import main
main()
"""
HOSE = ["--hose", "10Mbps", "--capacity", "100Mbps"]
SCENARIO = """\
topology.from = "dumbbell"
traffic = [{ from = "s1", to = "d1", bulk = true }]
run.duration = "100ms"
"""


def without(blocked: tuple[str, ...], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process that cannot import these modules, and has no cache of a process that could."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(blocked=blocked), *words],
        cwd=folder,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("blocked", "words", "says"),
    [
        (("highspy",), ["robust", "nsfnet", *HOSE], "linear programs: highspy is not installed"),
        (("highspy",), ["plan", "nsfnet", *HOSE], "linear programs: highspy is not installed"),
        (
            ("altair", "vl_convert"),
            ["robust", "nsfnet", *HOSE, "--sweep", "--picture", "x.svg"],
            "--picture: altair and vl_convert are not installed",
        ),
        (("vl_convert",), ["paper", "mprc", "--quick"], "paper mprc: vl_convert is not installed"),
        (("topohub", "highspy"), ["paper", "tcpbp", "--quick"], "paper tcpbp: highspy and topohub are not installed"),
        (("topohub",), ["topology", "show", "sndlib/polska"], "sndlib/polska: topology: is no file and no built-in"),
        (("topohub",), ["routes", "topozoo/AttMpls"], "topozoo/AttMpls: topology: is no file and no built-in"),
        (
            ("os_ken",),
            ["testbed", "tcpbp10", "--pairs", "1-10", "--minutes", "9"],
            "an OpenFlow controller: os_ken is not installed",
        ),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_a_command_without_its_packages_fails_with_the_sentence(
    blocked: tuple[str, ...], words: list[str], says: str, tmp_path: Path
) -> None:
    done = without(blocked, *words, folder=tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert "Traceback" not in done.stderr
    extras = [name for name, extra in EXTRAS.items() if set(extra.modules) & set(blocked) and name != "notebook"]
    assert lines[-1].startswith(says)
    assert lines[-1].endswith(f"run: pip install 'anabranch[{','.join(extras)}]'")


def test_the_base_runs_a_scenario_and_draws_a_map_without_any_extra(tmp_path: Path) -> None:
    """The report's JavaScript is in a wheel; here it is missing, so the report has no charts, and says so."""
    blocked = tuple({module for extra in EXTRAS.values() for module in extra.modules})
    (tmp_path / "tiny.toml").write_text(SCENARIO, encoding="utf-8")
    bare = without(blocked, "run", "tiny.toml", "--out", "bare", folder=tmp_path)
    assert bare.returncode == 0, bare.stderr
    lacks = "The report has tables and no charts. To have charts, run: pip install 'anabranch[figures]'"
    assert bare.stderr.splitlines()[-1] == lacks
    page = unescape((tmp_path / "bare" / "report.html").read_text(encoding="utf-8"))
    assert lacks in page
    assert "goodput" in page
    assert "<figure" not in page
    ran = without(blocked, "run", "tiny.toml", "--no-report", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert Result.load(tmp_path / "runs" / "tiny").flows["delivered_bytes"][0] > 0
    (tmp_path / "demands.csv").write_text("source,target,rate\ns1,d1,5Mbps\n", encoding="utf-8")
    (tmp_path / "matrix.toml").write_text(
        SCENARIO.replace('from = "s1", to = "d1", bulk = true', 'matrix = "demands.csv"'), encoding="utf-8"
    )
    loaded = without(blocked, "run", "matrix.toml", "--no-report", folder=tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    drawn = without(blocked, "topology", "plot", "nsfnet", "-o", "map.svg", folder=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    listed = without(blocked, "topology", "list", folder=tmp_path)
    assert "nsfnet" in listed.stdout.split()
    assert listed.stderr == "Without TopoHub's topologies; to have them run: pip install 'anabranch[topologies]'\n"


def test_a_comparison_without_the_packages_for_pictures_has_its_tables(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(SCENARIO, encoding="utf-8")
    command = ["compare", "tiny.toml", "--engines", "packet,predict", "--out", "both"]
    done = without(("altair", "vl_convert"), *command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Without altair and vl_convert there is no picture of the comparison" in done.stderr
    assert {file.suffix for file in (tmp_path / "both").glob("*-predict*.*")} == {".csv"}


def test_the_extras_are_those_of_the_project_and_the_tests_install_all() -> None:
    """The modules that the code expects of an extra are those of its packages."""
    declared = PROJECT["project"]["optional-dependencies"]
    assert list(declared) == list(EXTRAS)
    assert f"anabranch[{','.join(EXTRAS)}]" in PROJECT["dependency-groups"]["dev"]
    brings = {"vl-convert-python": "vl_convert", "dask-jobqueue": "dask_jobqueue", "os-ken": "os_ken"}
    for name, packages in declared.items():
        plain = [package.partition(">")[0] for package in packages]
        assert {brings.get(package, package) for package in plain} == set(EXTRAS[name].modules)


def test_only_a_missing_package_of_the_extra_becomes_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), needed("x", "te"):
        import no_such_module  # noqa: F401
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"^x: highspy is not installed"), needed("x", "te"):
        import highspy  # noqa: F401
