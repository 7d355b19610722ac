"""The JavaScript of Vega, Vega-Lite and vega-embed as one text, which takes a second to bundle and never changes."""

import os
from contextlib import suppress
from importlib import metadata
from pathlib import Path

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
    """Write the file whole or not at all; a cache that cannot be written is no cache, and no error."""
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anabranch"
