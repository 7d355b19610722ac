"""Checks licences, sources and known vulnerabilities of all dependencies. ``python -m distribution.audit``, which `make audit` calls.

The exit status is 1 if a check finds something, and also if a check could not be made.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata

from distribution import lock, python_packages
from distribution.crates import ROOT

_INSTALL_DENY = "cargo install --locked cargo-deny"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check found, and what it could not check. Without either it has passed."""

    found: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def crate_licences() -> Answer:
    """Licences, sources and requirements of all crates, by deny.toml."""
    return _deny("licenses", "sources", "bans")


def crate_vulnerabilities() -> Answer:
    """Advisories of RustSec for the crates of Cargo.lock, and withdrawn versions."""
    if _has_deny():
        fetched = _perform("cargo", "deny", "--locked", "fetch", "db")
        if fetched.returncode:
            return Answer(unchecked=[f"the database of advisories cannot be fetched: {_last_line(fetched.stderr)}"])
    return _deny("advisories")


def python_licences() -> Answer:
    """The installed packages of requirements/dev.txt: the base, all extras, and what development needs."""
    found, unchecked = [], []
    for name, versions in lock.locked(lock.BASIS).items():
        if not any(each.marker is None or each.marker.evaluate() for each in versions):
            continue  # it is for another Python or system
        try:
            python_packages.licence(name, python_packages.FAMILIES | python_packages.BEYOND_BASE)
        except metadata.PackageNotFoundError:
            unchecked.append(name)
        except ValueError as problem:
            found.append(str(problem))
    return Answer(found, [f"not installed: {', '.join(unchecked)}"] if unchecked else [])


def python_vulnerabilities() -> Answer:
    """Advisories of PyPI for the packages of requirements/ that this Python would install."""
    program = shutil.which("pip-audit", path=f"{sys.prefix}/tools/bin{os.pathsep}{os.environ['PATH']}")
    if program is None:
        return Answer(unchecked=["pip-audit is missing; make audit installs it"])
    files = [part for group in lock.GROUPS for part in ("--requirement", str(lock.file(group)))]
    done = _perform(program, "--disable-pip", "--progress-spinner", "off", "--format", "json", *files)
    return advisories(done.stdout) if done.stdout else Answer(unchecked=[_last_line(done.stderr)])


def advisories(document: str) -> Answer:
    """What pip-audit's JSON says. Its exit status is 0 also for a package that it has skipped."""
    packages = json.loads(document)["dependencies"]
    found = [f"{one['name']} {one['version']}: {each['id']}" for one in packages for each in one.get("vulns", [])]
    skipped = [one["skip_reason"] for one in packages if "skip_reason" in one]
    return Answer(found, [f"{len(skipped)} of {len(packages)} packages, such as: {skipped[0]}"] if skipped else [])


def _deny(*checks: str) -> Answer:
    if not _has_deny():
        return Answer(unchecked=[f"cargo-deny is missing: {_INSTALL_DENY}"])
    done = _perform("cargo", "deny", "--locked", "--format", "json", "check", *checks)
    return Answer(denied(done.stderr) or [_last_line(done.stderr)] if done.returncode else [])


def denied(lines: str) -> list[str]:
    """The errors that cargo-deny writes as lines of JSON: crate, problem, and the number of the advisory or what is wrong in a file."""
    found = []
    for fields in (json.loads(line)["fields"] for line in lines.splitlines() if line.startswith("{")):
        if fields.get("severity") == "error":
            crates = [f"{each['Krate']['name']} {each['Krate']['version']}" for each in fields.get("graphs", [])]
            details = (
                [fields["advisory"]["id"]] if "advisory" in fields else [each["span"] for each in fields["labels"][:1]]
            )
            found.append(f"{', '.join(crates) or 'deny.toml'}: {fields['message']} ({', '.join(details)})")
    return found


def _has_deny() -> bool:
    return shutil.which("cargo-deny") is not None


def _perform(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "without a message"


CHECKS = {
    "crates: licences and sources": crate_licences,
    "crates: known vulnerabilities": crate_vulnerabilities,
    "Python: licences": python_licences,
    "Python: known vulnerabilities": python_vulnerabilities,
}


def lines(name: str, answer: Answer) -> Iterator[str]:
    """The answer, as it is printed."""
    if answer == Answer():
        yield f"passed       {name}"
    for problem in answer.found:
        yield f"FOUND        {name}: {problem}"
    for reason in answer.unchecked:
        yield f"NOT CHECKED  {name}: {reason}"


def main() -> int:
    """Make every check, and say what each found."""
    answers = {name: check() for name, check in CHECKS.items()}
    for name, answer in answers.items():
        print(*lines(name, answer), sep="\n")
    return int(any(answer != Answer() for answer in answers.values()))


if __name__ == "__main__":
    sys.exit(main())
