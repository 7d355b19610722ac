"""Writes docs/development/licences.md: the licences of what Anabranch installs and contains. ``python -m distribution.licences``."""

from pathlib import Path

from distribution import crates, python_packages

PAGE = crates.ROOT / "docs" / "development" / "licences.md"
_HEAD = """\
# Licences of dependencies

*Written by `python -m distribution.licences`. `tests/project/test_distribution.py` checks that it is current. It also checks that every package which
those of the base installation require has one of these licences.*

Anabranch has the licence [Apache-2.0](../../LICENSE).

## Python packages

`pip` installs them beside Anabranch. The last column says whether the base installation or an [extra](../guide/install.md) needs them.

| package | licence | needed by |
|---|---|---|
"""
_CRATES = """
## Rust crates

Their code is in the compiled core. A wheel has the texts of their licences in `anabranch/bundle/LICENSES.txt`.

| crate | version | licence |
|---|---|---|
"""
_DATA = """
## Data in a wheel

| data | licence |
|---|---|
| Vega, Vega-Lite and vega-embed, which draw the charts of reports | BSD-3-Clause; parts ISC, MIT and 0BSD |
| the topology `topozoo/Abilene` of TopoHub | MIT |
"""


def text() -> str:
    """The page.

    Raises:
        importlib.metadata.PackageNotFoundError: a package is not installed.
    """
    packages = "".join(
        f"| {each.name} | {python_packages.licence(each.name)} | {', '.join(each.used_by)} |\n"
        for each in python_packages.named()
    )
    return f"{_HEAD}{packages}{_CRATES}{crate_rows()}{_DATA}"


def crate_rows() -> str:
    """The rows of the table of crates."""
    return "".join(f"| {each.name} | {each.version} | {each.licence} |\n" for each in crates.linked())


def main(page: Path = PAGE) -> None:
    """Write it."""
    page.write_text(text(), encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
