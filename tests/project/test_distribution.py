"""The distribution has one version and licences that are known and named. A wheel has files that the base lacks."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from anabranch import Scenario, version
from anabranch.foundation import examples
from anabranch.network.topologies import load, topohub_names
from anabranch.pages.report import libraries
from anabranch.studies.papers.registry import PAPERS
from distribution import bundle, crates, licences, python_packages

ROOT = crates.ROOT
PAGE = licences.PAGE.read_text(encoding="utf-8")
PYTHON = PAGE.partition("## Rust crates")[0]


def test_there_is_one_version() -> None:
    """It stands in Cargo.toml; the package, the docs and the command line take it from there."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    number = workspace["package"]["version"]
    assert version() == number
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert tomllib.loads(manifest.read_text(encoding="utf-8"))["package"]["version"] == {"workspace": True}
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dynamic"]
    assert f"\nversion: {number}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "distribution" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'\n  version: "{number}"\n' in recipe
    assert f"\n## {number}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_conda_recipe_requires_what_the_package_requires() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "distribution" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("\n  run:\n")[2].partition("\n\n")[0]
    listed = [line.strip("- ").replace(" ", "") for line in run.splitlines()]
    assert listed == [f"python{project['requires-python']}", *project["dependencies"]]


def test_the_citation_names_all_papers() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert citation.count("\n  - type: ") == len(PAPERS)


def test_users_see_types() -> None:
    """PEP 561."""
    assert (ROOT / "python" / "anabranch" / "py.typed").is_file()


def test_the_page_of_licences_has_every_crate_in_the_core() -> None:
    assert licences.crate_rows() in PAGE, "run: python -m distribution.licences"


def test_the_page_of_licences_has_every_package_with_the_licence_of_the_installed_one() -> None:
    rows = {
        name: (licence, by) for name, licence, by in re.findall(r"^\| ([\w-]+) \| (.+?) \| (.+?) \|$", PYTHON, re.M)
    }
    missing = []
    for package in python_packages.named():
        licence, used_by = rows[package.name]
        assert used_by == ", ".join(package.used_by), "run: python -m distribution.licences"
        try:
            assert python_packages.licence(package.name) == licence, "run: python -m distribution.licences"
        except metadata.PackageNotFoundError:
            missing.append(package.name)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; pip install -r requirements/dev.txt")


def test_every_package_that_the_base_requires_in_turn_has_a_known_licence() -> None:
    names = [package.name for package in python_packages.named() if python_packages.BASE in package.used_by]
    found = python_packages.closure(names)
    assert {"markupsafe", "pydantic-core", "pygments"} <= set(found)
    for name in found:
        assert python_packages.licence(name)


def test_a_wheel_has_the_javascript_the_examples_the_topology_and_the_text_of_each_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel has the data of optional packages that the base leaves out."""
    expected = load(topohub_names.BUNDLED)
    script = libraries.vega()
    monkeypatch.setattr("anabranch.foundation.bundled.FOLDER", tmp_path / "bundle")
    with bundle.filled(tmp_path / "bundle") as folder:
        texts = (folder / bundle.LICENCES).read_text(encoding="utf-8")
        for crate in crates.linked():
            assert f"{crate.name} {crate.version}" in texts
        assert "University of Washington Interactive Data Lab" in texts
        assert "Piotr Jurkiewicz" in texts
        monkeypatch.setattr(topohub_names, "_data", lambda: None)
        monkeypatch.setattr("anabranch.pages.report.cache.read", lambda name: None)
        topohub_names.names.cache_clear()
        try:
            assert topohub_names.names() == (topohub_names.BUNDLED,)
            assert load(topohub_names.BUNDLED) == expected
            abilene = Scenario.load("example:abilene")
            assert abilene.source == str(folder / "scenarios" / "abilene.toml")
            assert abilene.to_toml() == (crates.ROOT / "scenarios" / "abilene.toml").read_text(encoding="utf-8")
        finally:
            topohub_names.names.cache_clear()
        assert libraries.vega() == script
        assert (folder / "scenarios" / "traces" / "satellite.csv").is_file()
        assert examples.notebooks()["reordering.ipynb"].is_relative_to(folder)
    assert not folder.exists()
