"""Example scenarios and plans of sweeps by name, such as ``example:abilene``, and notebooks. A wheel has them beside the code, a checkout in its folders."""

import re
from pathlib import Path

from anabranch.foundation import bundled
from anabranch.foundation.input_files import InputError
from anabranch.foundation.suggest import suggest

PREFIX = "example:"
SCENARIOS, SWEEPS = "scenarios", "sweeps"
FOLDERS = (SCENARIOS, SWEEPS)
NOTEBOOKS = "docs/guide"
"""The folder of the notebooks, in a wheel too."""
_CHECKOUT = Path(__file__).parents[3]
_TITLE = re.compile(r'^title = "(.*)"$|^ *"# (.*?)(?:\\n)?",?$', re.MULTILINE)
_TEXT = re.compile(r'"([^"\n]+)"')


def files(folder: str) -> dict[str, Path]:
    """The examples of one of :data:`FOLDERS` by name; none if the package was installed from a checkout without a wheel's data."""
    home = bundled.FOLDER / folder
    found = (home if home.is_dir() else _CHECKOUT / folder).rglob("*.toml")
    return {path.stem: path for path in sorted(found)}


def is_plan(path: Path) -> bool:
    """Whether an example is the plan of a sweep."""
    return path in files(SWEEPS).values()


def resolved(path: Path, folder: str = SCENARIOS) -> Path:
    """The file that ``example:NAME`` means; any other path as it is.

    Raises:
        InputError: there is no example of this name.
    """
    name = str(path)
    if not name.startswith(PREFIX):
        return path
    known = files(folder)
    wanted = name.removeprefix(PREFIX)
    if wanted in known:
        return known[wanted]
    if not known:
        raise InputError(name, "this installation has no examples; name a file, or install a wheel of `make wheel`")
    raise InputError(name, f"is no example; {suggest(wanted, known)}")


def notebooks() -> dict[str, Path]:
    """The notebooks by the names of their files; none if the package was installed from a checkout without a wheel's data."""
    home = bundled.FOLDER / NOTEBOOKS
    found = (home if home.is_dir() else _CHECKOUT / NOTEBOOKS).glob("*.ipynb")
    return {path.name: path for path in sorted(found)}


def copied(path: Path, target: Path) -> dict[Path, str]:
    """The text of an example that is copied to ``target``, and the texts of the files that it names by a relative path, such as a trace."""
    text = path.read_text(encoding="utf-8")
    named = {name: path.parent / name for name in _TEXT.findall(text) if (path.parent / name).is_file()}
    return {target: text} | {target.parent / name: file.read_text(encoding="utf-8") for name, file in named.items()}


def title(path: Path) -> str:
    """The title that an example or a notebook states, or its name."""
    found = _TITLE.search(path.read_text(encoding="utf-8"))
    return found[1] or found[2] if found else path.stem
