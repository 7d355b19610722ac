"""Words that the shell completes: topologies, formats of routes, figures of a report.

The script of ``anabranch --install-completion`` asks for them by ``anabranch __complete WORDS``, and ignores errors.
"""

from pathlib import Path
from typing import Any

REQUEST = "__complete"


def topologies(context: Any) -> list[str]:
    """Names that need no file, and files that begin as the word does; directories end with a slash."""
    from anabranch.network.topologies import names

    word = Path(context.incomplete)
    folder, beginning = (word, "") if context.incomplete.endswith("/") else (word.parent, word.name)
    files = (path for path in sorted(folder.glob("*")) if path.name.startswith(beginning))
    return [*names(), *(f"{path}/" if path.is_dir() else str(path) for path in files)]


def figures(context: Any) -> dict[str, str]:
    """The names of the figures of the run directories on the command line, with their titles."""
    from anabranch.cli.run_directories import run_directories
    from anabranch.pages.report.figure_files import figures

    with run_directories([Path(run) for run in context["runs"].raw_tokens]) as directories:
        return {name: figure.title or "Map" for name, figure in figures(directories).items()}
