"""Writing an export: all of it or nothing, into a directory of its own."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anabranch import version
from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.files import Files
from anabranch.engineering.routes.export.formats import FORMATS
from anabranch.engineering.routes.export.forwarding import checked
from anabranch.engineering.routes.export.plan import PREFIX, PREFIX6, make_plan
from anabranch.engineering.routes.model import Routes

MANIFEST = "export.json"
"""The description of the export; it marks a directory as an export."""
PLAN = "plan.json"


def make(
    routes: Routes,
    format: str,
    *,
    prefix: str = PREFIX,
    prefix6: str = PREFIX6,
    interfaces: str | Path | None = None,
    warnings: Sequence[str] = (),
    **options: Any,
) -> Files:
    """The files of an export by name, without writing them; the plan and the manifest are among them.

    ``warnings`` are what the caller knows of, for the manifest.

    Raises:
        ExportError: no such format or option, or something that the format cannot express; it says which formats can.
    """
    if format not in FORMATS:
        raise ExportError(f"format {format!r} is not there; possible: {', '.join(FORMATS)}")
    chosen = FORMATS[format]
    for option in options:
        if option not in chosen.options:
            known = ", ".join(("prefix", "prefix6", "interfaces", *chosen.options))
            raise ExportError(f"format {format} has no option {option!r}; possible: {known}")
    routes = checked(routes)
    if not any(route.reachable for route in routes.routes):
        raise ExportError(f"{routes.topology.name}: there is no route to export")
    plan = make_plan(routes.topology, prefix, prefix6, interfaces)
    made = chosen.make(routes, plan, **options)
    made.warnings[:0] = warnings
    made.texts[PLAN] = _json(plan.document())
    made.texts[MANIFEST] = _json(_manifest(routes, format, made))
    return made


def export(routes: Routes, format: str, directory: str | Path, **options: Any) -> list[Path]:
    """Write the files of an export. Returns their paths.

    The directory is new, empty, or holds an earlier export and nothing else, which is replaced. The options are
    ``prefix``, ``prefix6`` and ``interfaces`` (a CSV file) of the addressing plan, ``warnings``, and those of the format.

    Raises:
        ExportError: as :func:`make`; or the directory holds something else, or cannot be written.
    """
    target = Path(directory).absolute()
    try:
        require_target(target)
        made = make(routes, format, **options)
        _replace(target, made.texts)
    except OSError as error:
        raise ExportError(f"{directory}: cannot be written ({error.strerror})") from None
    return [Path(directory) / name for name in sorted(made.texts)]


def manifest(directory: Path) -> dict[str, Any]:
    """The description of the export in this directory."""
    found: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    return found


def _manifest(routes: Routes, format: str, made: Files) -> dict[str, Any]:
    return {
        "anabranch": version(),
        "format": format,
        **({"routers": made.routers} if made.routers else {}),
        "topology": routes.topology.name,
        "metric": routes.metric,
        "forwarding": routes.forwarding,
        "largest_error": made.largest_error,
        "warnings": made.warnings,
        "unreachable": [[route.source, route.target] for route in routes.routes if not route.reachable],
        "files": sorted([*made.texts, MANIFEST]),
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def require_target(target: Path) -> None:
    """Refuse a directory that holds something else than an earlier export.

    Raises:
        ExportError: names what it holds.
    """
    if target.exists() and not target.is_dir():
        raise ExportError(f"{target}: is no directory; give another one")
    present = {entry.name for entry in target.iterdir()} if target.exists() else set()
    foreign = sorted(present - _earlier(target / MANIFEST)) if present else []
    if foreign:
        raise ExportError(
            f"{target}: holds {foreign[0]!r}, which is of no earlier export; give a new or empty directory"
        )


def _earlier(manifest: Path) -> set[str]:
    """The names of the files of an earlier export, if there is one."""
    try:
        return set(json.loads(manifest.read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _replace(target: Path, texts: dict[str, str]) -> None:
    """Write beside the directory, then put it in its place; an interruption leaves the old or the new."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as temporary:
        fresh, old = Path(temporary) / "new", Path(temporary) / "old"
        fresh.mkdir()
        for name, text in texts.items():
            (fresh / name).write_text(text, encoding="utf-8")
        try:
            if target.exists():
                target.rename(old)
            fresh.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise
