"""Example scenarios and plans of sweeps by name, such as ``example:abilene``. A wheel has them beside the code, a checkout in its folders."""

import re
from pathlib import Path

from anabranch.foundation import bundled
from anabranch.foundation.input_files import InputError
from anabranch.foundation.suggest import suggest

PREFIX = "example:"
SCENARIOS, SWEEPS = "scenarios", "sweeps"
FOLDERS = (SCENARIOS, SWEEPS)
_CHECKOUT = Path(__file__).parents[3]
_TITLE = re.compile(r'^title = "(.*)"$', re.MULTILINE)


def files(folder: str) -> dict[str, Path]:
    """The examples of one of :data:`FOLDERS` by name; none if the package was installed from a checkout without a wheel's data."""
    home = bundled.FOLDER / folder
    found = (home if home.is_dir() else _CHECKOUT / folder).rglob("*.toml")
    return {path.stem: path for path in sorted(found)}


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


def title(path: Path) -> str:
    """The title that an example states, or its name."""
    found = _TITLE.search(path.read_text(encoding="utf-8"))
    return found[1] if found else path.stem
