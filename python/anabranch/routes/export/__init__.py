"""Routes for real networks: Linux, FRR, OpenFlow, segment routing; and back into this one.

>>> from anabranch.routes.export import described, export
>>> export(routes, "ip-route", "exported")  # doctest: +SKIP

Files speak of addresses by the plan in :mod:`anabranch.routes.export.plan`, which stands beside them as ``plan.json``.
"""

from anabranch.routes.export.errors import ExportError
from anabranch.routes.export.files import Files
from anabranch.routes.export.formats import FORMATS, Format, described
from anabranch.routes.export.json_file import read_json
from anabranch.routes.export.plan import Plan, make_plan
from anabranch.routes.export.write import export, make

__all__ = [
    "FORMATS",
    "ExportError",
    "Files",
    "Format",
    "Plan",
    "described",
    "export",
    "make",
    "make_plan",
    "read_json",
]
