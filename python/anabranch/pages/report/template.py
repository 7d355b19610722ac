"""The page's template. It is compiled once for each version of it and of Jinja, which takes as long as all the numbers of a small report."""

from typing import Any

import jinja2
import markupsafe
from jinja2.bccache import Bucket

from anabranch.pages.report import cache


class _Compiled(jinja2.BytecodeCache):
    """Jinja compares the source's hash, its own version and Python's, and compiles again if one of them differs."""

    def load_bytecode(self, bucket: Bucket) -> None:
        kept = cache.read(f"{bucket.key}.jinja")
        if kept is not None:
            bucket.bytecode_from_string(kept)

    def dump_bytecode(self, bucket: Bucket) -> None:
        cache.keep(f"{bucket.key}.jinja", bucket.bytecode_to_string())


def render(**values: Any) -> str:
    """The page's HTML from what its template names."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("anabranch.pages.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        bytecode_cache=_Compiled(),
    )
    style, script = (_source(environment, name) for name in ("report.css", "report.js"))
    return environment.get_template("report.html.j2").render(**values, style=style, script=script)


def _source(environment: jinja2.Environment, name: str) -> markupsafe.Markup:
    """A style sheet or script of ours, which the template inserts unchanged."""
    assert environment.loader is not None
    return markupsafe.Markup(environment.loader.get_source(environment, name)[0])
