"""The papers that are reproduced."""

from importlib import import_module
from pathlib import Path
from typing import cast

from anabranch.studies.papers.study import Study

PAPERS = ("tcpbp", "kikolo", "multipath-forwarding", "fixed-robust-routing", "mprc")


def study(name: str) -> Study:
    """The study of a paper."""
    return cast(Study, import_module(f"anabranch.studies.papers.{folder(name).name}"))


def folder(name: str) -> Path:
    """The paper's folder: a package with the study, its scenarios and the published numbers."""
    return Path(__file__).parent / name.replace("-", "_")
