"""The doctor says for each optional part whether it is there, and how to get it if not."""

import sys
from pathlib import Path

import pytest

from anabranch.cli import installation as doctor
from anabranch.foundation.extras import EXTRAS


def found(name: str, directory: Path | None = None) -> doctor.Check:
    return next(check for check in doctor.checks(directory) if check.name.startswith(name))


def test_what_is_missing_has_a_remedy_and_what_is_there_has_none() -> None:
    for check in doctor.checks():
        assert check.detail
        assert (check.remedy is None) == check.ok


def test_python_and_topohub_are_there() -> None:
    assert found("Python").detail == ".".join(map(str, sys.version_info[:3]))
    assert found("Extra topologies").ok
    assert "707" in found("Extra topologies").detail


def test_programs_that_are_not_on_the_path_are_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for name in ("tshark", "ns-2"):
        check = found(name)
        assert (check.ok, check.detail, check.needed) == (False, "not found", False)


def test_another_program_called_ns_is_not_ns_2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    impostor = tmp_path / "ns"
    impostor.write_text("#!/bin/sh\nexit 3\n")
    impostor.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert not found("ns-2").ok


def test_clang_needs_its_headers_and_linux_says_why_it_loads_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise ValueError(f"{path.name}: use sudo")

    monkeypatch.setattr("anabranch.engines.kernel.linux_programs.loaded.LoadedObject", refuse)
    check = found("eBPF")
    assert (check.ok, check.detail, check.needed) == (False, "anabranch_reno.bpf.o: use sudo", False)
    monkeypatch.setenv("PATH", "")
    assert found("clang").detail == "not found"


def test_a_module_that_fails_to_import_is_a_finding_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "highspy.py").write_text("raise RuntimeError('no libhighs.so')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "highspy", raising=False)
    check = found("Extra te")
    assert (check.ok, check.detail, check.needed) == (False, "no libhighs.so", False)
    assert check.remedy == "`pip install 'anabranch[te]'`"


def test_an_extra_without_its_packages_says_which_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in EXTRAS.values():
        for module in extra.modules:
            monkeypatch.setitem(sys.modules, module, None)
    checks = {check.name.split()[1]: check for check in doctor.checks() if check.name.startswith("Extra")}
    assert list(checks) == list(EXTRAS)
    for name, check in checks.items():
        assert (check.ok, check.needed) == (False, False)
        assert check.detail == f"without {', '.join(EXTRAS[name].modules)}"
        assert check.remedy == f"`pip install 'anabranch[{name}]'`"


def test_disk(tmp_path: Path) -> None:
    assert "GiB free" in found("Free disk", tmp_path).detail
    assert not found("Free disk", tmp_path / "missing").ok


def test_without_privileges_the_doctor_says_how_to_get_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.engines.kernel.linux_network.support.missing", lambda: "not permitted")
    monkeypatch.setenv("PATH", "")
    check = found("network namespaces")
    assert (check.ok, check.detail, check.needed) == (False, "not permitted", False)
    assert "sudo" in str(check.remedy)
