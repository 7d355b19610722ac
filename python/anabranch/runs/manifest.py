"""The manifest of a new run directory: its runs, their scenario, and the files with their results."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch import _core, version
from anabranch.compile.run import compile_run
from anabranch.foundation import checksums, input_files
from anabranch.foundation.folders import Folder
from anabranch.foundation.output_files import write_new
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.results.files import MANIFEST, REPORT
from anabranch.results.manifest import FORMAT
from anabranch.runs.plan import RunPlan
from anabranch.runs.run import Finished
from anabranch.scenario import Case, Scenario


def write(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of a result that is whole otherwise: into it, ``files`` and the ``checksums`` of its tables.

    Raises:
        FileError: it cannot be written.
    """
    files = Folder(folder).files()
    manifest["files"] = [*files, *([] if REPORT in files else [REPORT])]
    tables = [name for name in files if name.endswith(".parquet")]
    manifest["checksums"] = {name: checksums.of_file(Folder(folder), name) for name in tables}
    write_new(folder / MANIFEST, checksums.sealed_json(manifest))


def of_plan(plan: RunPlan, finished: Sequence[Finished], command: Sequence[str]) -> dict[str, Any]:
    """The manifest's entries for the scenario, its topology and the command; runs and files are added later."""
    scenario = plan.scenario
    case = scenario.cases[0]
    spec = finished[0].spec if finished and not plan.jitter else compile_run(case, scenario.seeds[0])
    return {
        "format": FORMAT,
        "anabranch": version(),
        "title": scenario.title,
        "engine": plan.engine,
        **({"jitter": plan.jitter} if plan.jitter else {}),
        "scenario": scenario.document,
        "directory": input_files.shown(scenario.directory),
        "scenario_hash": scenario.hash(),
        "command": list(command),
        "keys": scenario.keys,
        "treatments": scenario.treatments,
        "warnings": scenario.warnings.as_records(),
        "programs": _programs(scenario),
        "topology": topology_record(case, spec),
    }


def topology_record(case: Case, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest's entry for the topology of a variant, with its compiled form."""
    names = spec["nodes"]
    return {
        "nodes": [
            {"name": n.name, "latitude": n.latitude, "longitude": n.longitude, "x": n.x, "y": n.y}
            for n in case.topology.nodes
        ],
        "links": [
            {
                "src": names[link["src"]],
                "dst": names[link["dst"]],
                "capacity_bps": link["rate"],
                "delay_s": link["delay"] / PICOSECONDS_PER_SECOND,
                "loss": _core.stationary_loss(json.dumps(link["loss"])) if link["loss"] else 0.0,
            }
            for link in spec["links"]
        ],
    }


def _programs(scenario: Scenario) -> list[dict[str, Any]]:
    """The congestion controls that came with the scenario: stack, hash and contents of the file (an object in base 64, Python as text)."""
    found = {}
    for case in scenario.cases:
        for stack, settings in case.variant.all_stacks().items():
            compiled = settings.congestion.compiled()
            for kind in compiled.keys() & {"program", "python"}:
                content: str = compiled[kind]
                raw = base64.b64decode(content) if kind == "program" else content.encode()
                sha256 = hashlib.sha256(raw).hexdigest()
                name = compiled["name" if kind == "program" else "class"]
                found[stack, name, sha256] = {"stack": stack, "name": name, "sha256": sha256, kind: content}
    return list(found.values())
