"""The lock files of requirements/ fit pyproject.toml, and the audit never takes what it could not check for passed."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from distribution import audit, lock
from distribution.crates import ROOT

GROUPS = pytest.mark.parametrize("group", lock.GROUPS)


@GROUPS
def test_a_lock_file_has_every_package_that_pyproject_names_in_a_version_that_it_allows(group: str) -> None:
    locked = lock.locked(group)
    for text in lock.named(group):
        named = Requirement(text)
        versions = locked.get(canonicalize_name(named.name), [])
        assert versions, f"requirements/{group}.txt lacks {text}; run: make lock"
        for version in versions:
            (exact,) = version.specifier
            assert exact.operator == "=="
            assert named.specifier.contains(exact.version, prereleases=True), f"{version} is not {text}; run: make lock"


@GROUPS
def test_every_locked_version_has_hashes(group: str) -> None:
    blocks = re.split(r"^(?=[^\s#])", lock.file(group).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(blocks) == sum(len(versions) for versions in lock.locked(group).values())
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block


def test_the_groups_share_one_version_of_a_package_that_one_environment_gets() -> None:
    basis = lock.locked(lock.BASIS)
    for group in (lock.BUILD, "wheel", "bench"):
        for name, versions in lock.locked(group).items():
            assert set(versions) <= set(basis.get(name, versions)), f"{group}: {name}; run: make lock"


def test_a_package_added_to_pyproject_is_missing_in_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extra that the group names, an included group, the base and the build all count."""
    document = lock.project()
    document["project"]["dependencies"].append("one>=1")
    document["project"]["optional-dependencies"]["te"].append("two")
    document["dependency-groups"]["docs"].append("three<4")
    document["build-system"]["requires"].append("four")
    monkeypatch.setattr(lock, "project", lambda: document)
    assert {"one>=1", "two", "three<4"} <= set(lock.named("dev"))
    assert "four" in lock.named("build")
    assert not {"one>=1", "two", "three<4", "four"} & set(lock.named("bench"))


def test_make_installs_only_locked_packages() -> None:
    """Every call of pip demands hashes, or installs Anabranch itself without what it requires. None fetches packages to build others."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"pip install .*", makefile) == [
        "pip install --quiet --disable-pip-version-check --no-build-isolation"
    ]
    assert re.findall(r"\$\(PIP\) .*", makefile) == [
        "$(PIP) --use-pep517 --require-hashes --requirement",
        "$(PIP) --no-deps --editable .",
    ]


def test_a_package_that_pip_audit_skips_has_not_passed() -> None:
    """pip-audit says "No known vulnerabilities found" for it, with exit status 0. The words are its own, version 2.10."""
    reason = "Dependency not found on PyPI and could not be audited: rich (15.0.0)"
    packages = [{"name": "numpy", "version": "2.4.6", "vulns": []}]
    assert audit.advisories(json.dumps({"dependencies": packages, "fixes": []})) == audit.Answer()
    packages.append(
        {"name": "jinja2", "version": "3.1.2", "vulns": [{"id": "PYSEC-2024-1", "fix_versions": ["3.1.3"]}]}
    )
    packages.append({"name": "rich", "skip_reason": reason})
    answer = audit.advisories(json.dumps({"dependencies": packages, "fixes": []}))
    assert answer == audit.Answer(["jinja2 3.1.2: PYSEC-2024-1"], [f"1 of 3 packages, such as: {reason}"])


def test_an_error_of_cargo_deny_names_the_crate_and_the_advisory_or_licence() -> None:
    """The lines are those of cargo-deny 0.20, without what is not read."""

    def line(name: str, version: str, **fields: object) -> str:
        return json.dumps(
            {"fields": {"graphs": [{"Krate": {"name": name, "version": version}}], **fields}, "type": "diagnostic"}
        )

    message = "failed to satisfy license requirements"
    lines = [
        line("zmij", "1.0.23", severity="error", message=message, labels=[{"span": "GPL-3.0", "message": ""}]),
        line("libm", "0.2.16", severity="help", message="license requirements satisfied", labels=[]),
        line("smallvec", "1.6.0", severity="error", message="Buffer overflow", labels=[{"span": "smallvec 1.6.0 registry"}], advisory={"id": "RUSTSEC-2021-0003"}),
        '{"fields":{"licenses":{"errors":1,"helps":1,"notes":0,"warnings":0}},"type":"summary"}',
    ]  # fmt: skip
    expected = [f"zmij 1.0.23: {message} (GPL-3.0)", "smallvec 1.6.0: Buffer overflow (RUSTSEC-2021-0003)"]
    assert audit.denied("\n".join(lines)) == expected


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ([audit.Answer()], 0, "passed       the first"),
        ([audit.Answer(), audit.Answer(unchecked=["no network"])], 1, "NOT CHECKED  the second: no network"),
        ([audit.Answer(found=["MIT-0"]), audit.Answer()], 1, "FOUND        the first: MIT-0"),
    ],
)
def test_the_audit_fails_for_what_it_finds_and_for_what_it_could_not_check(
    answers: list[audit.Answer],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("the first", "the second")
    monkeypatch.setattr(
        audit, "CHECKS", {name: lambda a=answer: a for name, answer in zip(names, answers, strict=False)}
    )
    assert audit.main() == status
    assert said in capsys.readouterr().out.splitlines()


def test_without_the_tools_the_audit_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("runs a program that is missing"))
    assert audit.crate_licences().unchecked == ["cargo-deny is missing: cargo install --locked cargo-deny"]
    assert audit.crate_vulnerabilities().unchecked == ["cargo-deny is missing: cargo install --locked cargo-deny"]
    assert audit.python_vulnerabilities().unchecked == ["pip-audit is missing; make audit installs it"]


@pytest.mark.skipif(shutil.which("cargo-deny") is None, reason="cargo install --locked cargo-deny")
def test_the_crates_have_allowed_licences() -> None:
    assert audit.crate_licences() == audit.Answer()


def test_the_installed_packages_have_known_licences() -> None:
    assert not audit.python_licences().found
