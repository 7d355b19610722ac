"""The JavaScript of Vega, Vega-Lite and vega-embed as one text, which takes a second to bundle and never changes."""

import os
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from anabranch.output_files import FileError, write_text

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def vega() -> str:
    """The libraries, from the user's cache if they are there; bundled and put there if not."""
    cached = _cache_directory() / f"vega-{metadata.version('vl-convert-python')}.js"
    try:
        return cached.read_text(encoding="utf-8")
    except OSError:
        pass
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(_SNIPPET)
    _keep(cached, bundle)
    return bundle


def _keep(path: Path, text: str) -> None:
    """A cache that cannot be written is no cache, and no error."""
    with suppress(OSError, FileError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


def _cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anabranch"
