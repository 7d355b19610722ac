"""``anabranch doctor``."""

from anabranch.cli.exit_status import DONE, FAILED
from anabranch.cli.options import Json
from anabranch.cli.output import json_text, tell


def doctor(*, json: Json = False) -> int:
    """List which features work on this machine, and how to install the others."""
    from dataclasses import asdict

    from anabranch.cli.installation import checks

    found = []
    for one in checks():
        found.append(one)
        if not json:
            mark = "ok     " if one.ok else "MISSING" if one.needed else "absent "
            tell(f"{mark}  {one.name}: {one.detail}" + (f"; get it: {one.remedy}" if one.remedy else ""), flush=True)
    if json:
        print(json_text({"checks": [asdict(one) for one in found]}))
    return FAILED if any(one.needed and not one.ok for one in found) else DONE
