"""Writes the scenarios that a study makes beside its results, so that a user can run them by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.foundation.output_files import write_json, write_text
from anabranch.scenario import Scenario
from anabranch.studies.papers.study import Lab

FOLDER = "scenarios"


def scenario(lab: Lab, name: str, text: str, settings: Mapping[str, str]) -> Scenario:
    """Write and return the scenario with these settings, and with the user's number of seeds."""
    seeds = {} if lab.seeds is None else {"run.seeds": str(lab.seeds)}
    folder = lab.directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    write_text(path, text)
    loaded = Scenario.load(path, {**settings, **seeds})
    write_text(path, loaded.to_toml())
    return loaded


def splits(lab: Lab, topology: str, chosen: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Write the splits of each routing to a file beside the scenarios. Returns the names of the files."""
    folder = lab.directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, records in chosen.items():
        names.append(f"{topology}-{name}.json")
        write_json(folder / names[-1], {"topology": topology, "splits": records})
    return names


def listed(values: Sequence[str]) -> str:
    """The list as the text of a setting."""
    return json.dumps(list(values))
