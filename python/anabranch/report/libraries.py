"""The JavaScript of Vega, Vega-Lite and vega-embed as one text, which takes a second to bundle and never changes."""

from importlib import metadata

from anabranch.report import cache

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def vega() -> str:
    """The libraries, from the user's cache if they are there; bundled and put there if not."""
    name = f"vega-{metadata.version('vl-convert-python')}.js"
    kept = cache.read(name)
    if kept is not None:
        return kept.decode()
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(_SNIPPET)
    cache.keep(name, bundle.encode())
    return bundle
