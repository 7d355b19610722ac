"""A scenario's ``[routing.NAME]`` table with every path, so that the packet engine runs the routes."""

import json
import re

from anabranch.engineering.routes.export.files import Files
from anabranch.engineering.routes.export.forwarding import paths
from anabranch.engineering.routes.export.plan import AddressPlan
from anabranch.engineering.routes.model import Routes

NAME = "routing.toml"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def files(routes: Routes, plan: AddressPlan, name: str | None = None) -> Files:
    """One table, named after the metric unless ``name`` is given; several paths of a pair are chosen for each flow."""
    wanted = name or routes.metric
    key = wanted if _BARE_KEY.fullmatch(wanted) else _string(wanted)
    ways = [way for several in paths(routes).values() for way in several]
    text = f"[routing.{key}]\npaths = [\n"
    text += "".join(f"  [{', '.join(_string(node) for node in nodes)}],\n" for nodes, _ in ways) + "]\n"
    if any(share < 1 for _, share in ways):
        text += 'select = "weighted"\nper = "flow"\nweights = [\n'
        text += "".join(f"  {share!r},\n" for _, share in ways) + "]\n"
    return Files({NAME: text})


def _string(text: str) -> str:
    # JSON's escapes, of which printable text needs those of quotes and backslashes only, are TOML's as well
    return json.dumps(text, ensure_ascii=False)
