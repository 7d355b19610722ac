"""Scenarios that a study makes: written where its results are, so that a user can run them by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.output_files import write_json, write_text
from anabranch.papers.study import Lab
from anabranch.scenario import Scenario

FOLDER = "scenarios"


def scenario(lab: Lab, name: str, text: str, settings: Mapping[str, str]) -> Scenario:
    """The scenario with these settings, and the number of seeds that the user asks for."""
    seeds = {} if lab.seeds is None else {"run.seeds": str(lab.seeds)}
    folder = lab.directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    write_text(path, text)
    loaded = Scenario.load(path, {**settings, **seeds})
    write_text(path, loaded.to_toml())
    return loaded


def splits(lab: Lab, topology: str, chosen: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Write the splits of routings, each to a file beside the scenarios; the names of the files."""
    folder = lab.directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, records in chosen.items():
        names.append(f"{topology}-{name}.json")
        write_json(folder / names[-1], {"topology": topology, "splits": records})
    return names


def listed(values: Sequence[str]) -> str:
    """A list as a setting has it."""
    return json.dumps(list(values))
