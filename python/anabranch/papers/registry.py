"""The papers that are reproduced."""

from importlib import import_module
from pathlib import Path
from typing import cast

from anabranch.papers.study import Study

PAPERS = ("tcpbp", "kikolo", "multipath-forwarding", "fixed-robust-routing", "mprc")


def study(name: str) -> Study:
    """The study of a paper."""
    return cast(Study, import_module(f"anabranch.papers.{folder(name).name}"))


def folder(name: str) -> Path:
    """The paper's folder: its study, a package, with the scenarios and published numbers that it uses."""
    return Path(__file__).parent / name.replace("-", "_")
