"""Pages of headings, tables and pictures without scripts."""

from typing import Any

import jinja2
import markupsafe


def environment(package: str) -> jinja2.Environment:
    """The templates of a package's folder ``templates``: they escape what they insert, and refuse names that are not given."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def page(title: str, package: str, template: str, **values: Any) -> str:
    """The HTML of a page whose body is a template of a package."""
    body = markupsafe.Markup(environment(package).get_template(template).render(**values))
    return environment("anabranch.pages").get_template("plain.html.j2").render(title=title, body=body)
