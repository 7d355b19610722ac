"""The JavaScript of Vega, Vega-Lite and vega-embed as one text, which takes a second to bundle and never changes."""

from importlib import metadata

from anabranch.foundation import bundled
from anabranch.foundation.extras import command, missing, require
from anabranch.pages.report import cache

FILE = "vega.js"
"""The name in a wheel."""
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def vega() -> str:
    """The libraries: from the wheel, or from the user's cache, or made by vl-convert and then kept there.

    Raises:
        anabranch.foundation.extras.MissingExtraError: this is no wheel, and vl-convert is not installed.
    """
    if file := bundled.path(FILE):
        return file.read_text(encoding="utf-8")
    require("the charts of a report", "figures")
    name = f"vega-{metadata.version('vl-convert-python')}.js"
    kept = cache.read(name)
    if kept is not None:
        return kept.decode()
    bundle = make()
    cache.keep(name, bundle.encode())
    return bundle


def lacking() -> str | None:
    """Why a report has no charts, and how to have them; ``None`` if it has them."""
    if bundled.path(FILE) is not None or not missing("figures"):
        return None
    return f"The report has tables and no charts. To have charts, run: {command('figures')}"


def make() -> str:
    """Have vl-convert bundle the libraries."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(_SNIPPET)
    return bundle
