"""The topologies of the ``topohub`` package, by name (``topozoo/Abilene``); nothing is fetched.

TopoHub has names and positions of nodes, and lengths of links, but no other attributes of links. Nodes without a name
carry their id. A wheel has the topology of the first example, so that it runs without the package.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from anabranch.foundation import bundled
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.model import Topology

BUNDLED = "topozoo/Abilene"
_PLANE = "gabriel/"
"""The group of synthetic graphs: their positions are on a plane, whatever they look like."""


@cache
def names() -> tuple[str, ...]:
    """All names, sorted; without the package, that of the wheel."""
    data = _data()
    if data is None:
        return (BUNDLED,) if bundled.path(f"{BUNDLED}.json") else ()
    return tuple(sorted(path.relative_to(data).with_suffix("").as_posix() for path in data.rglob("*.json")))


def load(name: str) -> Topology:
    """The topology of that name, which must be in :func:`names`.

    Raises:
        TopologyError: the data cannot be used.
    """
    from anabranch.network.topologies.formats.node_link import from_document

    found = document(name)
    found["graph"] = {**found["graph"], "name": name}
    return from_document(found, name, name, geographical=False if name.startswith(_PLANE) else None).topology()


def document(name: str) -> dict[str, Any]:
    """TopoHub's data of that name, which must be in :func:`names`.

    Raises:
        TopologyError: it cannot be read.
    """
    if _data() is None and (file := bundled.path(f"{name}.json")):
        found: dict[str, Any] = json.loads(file.read_bytes())
        return found
    import topohub

    try:
        found = topohub.get(name)
    except (KeyError, ValueError) as error:
        raise TopologyError(name, "TopoHub", None, f"cannot be read ({error}); install topohub again") from None
    return found


def _data() -> Path | None:
    found = find_spec("topohub")
    return None if found is None or found.origin is None else Path(found.origin).parent / "data"
