"""Routes for real networks: Linux, FRR, OpenFlow, segment routing; and back into this one.

>>> from tempfile import TemporaryDirectory
>>> from anabranch import topologies
>>> from anabranch.engineering.routes.export import export
>>> from anabranch.engineering.routes.search import Search
>>> routes = Search(topologies.load("tcpbp10")).routes("tcpbp", ["1"], ["10"], "explicit")
>>> with TemporaryDirectory() as folder:
...     [path.name for path in export(routes, "json", folder)]
['export.json', 'plan.json', 'routes.json']

Files speak of addresses by the plan in :mod:`anabranch.engineering.routes.export.plan`, which stands beside them as ``plan.json``.
"""

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.files import Files
from anabranch.engineering.routes.export.formats import FORMATS, ExportFormat, described
from anabranch.engineering.routes.export.json_file import read_json
from anabranch.engineering.routes.export.plan import AddressPlan, make_plan
from anabranch.engineering.routes.export.reading import ReadBack, read_back
from anabranch.engineering.routes.export.write import export, make, manifest, require_target

__all__ = [
    "FORMATS",
    "AddressPlan",
    "ExportError",
    "ExportFormat",
    "Files",
    "ReadBack",
    "described",
    "export",
    "make",
    "make_plan",
    "manifest",
    "read_back",
    "read_json",
    "require_target",
]
