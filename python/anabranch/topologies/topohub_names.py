"""The topologies of the ``topohub`` package, by name (``topozoo/Abilene``); nothing is fetched.

TopoHub gives nodes names and positions and links lengths, and nothing else that a link has. Nodes without a name
carry their id.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from anabranch.topologies.errors import TopologyError
from anabranch.topologies.model import Topology

_PLANE = "gabriel/"
"""The group of synthetic graphs: their positions are on a plane, whatever they look like."""


@cache
def names() -> tuple[str, ...]:
    """All names, sorted; none if the package is not installed."""
    data = _data()
    if data is None:
        return ()
    return tuple(sorted(path.relative_to(data).with_suffix("").as_posix() for path in data.rglob("*.json")))


def load(name: str) -> Topology:
    """The topology of that name, as long as :func:`names` has it.

    Raises:
        TopologyError: the data cannot be used.
    """
    import topohub

    from anabranch.topologies.formats.node_link import from_document

    try:
        document = topohub.get(name)
    except (KeyError, ValueError) as error:
        raise TopologyError(name, "TopoHub", None, f"cannot be read ({error}); install topohub again") from None
    document["graph"] = {**document["graph"], "name": name}
    return from_document(document, name, name, geographical=False if name.startswith(_PLANE) else None).topology()


def _data() -> Path | None:
    found = find_spec("topohub")
    return None if found is None or found.origin is None else Path(found.origin).parent / "data"
