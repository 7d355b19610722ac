"""Files of a plan: who tolerates reordering, and the plan for other programs."""

import csv
import io
import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from anabranch.engineering.plan.documents import document
from anabranch.engineering.plan.model import Plan
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.foundation import input_files
from anabranch.foundation.array_types import Booleans
from anabranch.foundation.locks import Lock
from anabranch.foundation.output_files import unwritable, write_text
from anabranch.network.topologies.export import to_json

DOCUMENT, SCENARIO, TOPOLOGY = "plan.json", "plan.toml", "topology.json"


def tolerant_pairs(given: str, network: Network) -> Booleans:
    """For each pair, whether its hosts tolerate reordering: ``none``, ``all``, or a file with a line FROM TO for each such pair.

    Names with blanks are in quotes.

    Raises:
        RobustError: names file, line and value, and what would be right.
    """
    if given in ("none", "all"):
        return np.full(network.pairs, given == "all")
    try:
        lines = input_files.text(Path(given)).splitlines()
    except input_files.InputError as error:
        raise RobustError(f'--tolerant {given}: must be "none", "all" or a file of pairs; it {error.reason}') from None
    place = {name: index for index, name in enumerate(network.names)}
    tolerant = np.zeros(network.pairs, dtype=bool)
    for number, line in enumerate(lines, start=1):
        where = f"{given}, line {number}"
        try:
            names = shlex.split(line, comments=True)
        except ValueError as error:
            raise RobustError(f"{where}: {line.strip()!r} cannot be read ({error})") from None
        if not names:
            continue
        if len(names) != 2 or names[0] == names[1]:
            raise RobustError(
                f"{where}: {line.strip()!r} must be two different nodes, FROM TO; names with blanks need quotes"
            )
        for name in names:
            if name not in place:
                raise RobustError(f"{where}: {network.topology.name} has no node {name}")
        tolerant[network.pair(place[names[0]], place[names[1]])] = True
    return tolerant


def write(
    plan: Plan, directory: Path, topology: str, directed: bool | None, part: str | None, capacity_bps: float | None
) -> None:
    """The plan as a document, and a scenario that runs it: with the traffic matrices of the model, or else one connection for each pair.

    ``topology``, ``directed`` and ``part`` are as the user gave them, and ``capacity_bps`` is that of links for which the topology says none.
    A scenario cannot say ``directed``, so such a topology is written beside it in a format that can. Paths in the scenario are relative to it.

    Raises:
        FileError: it cannot be written, or another process writes to the directory.
    """
    text = json.dumps(document(plan), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(directory, error) from None
    with Lock(directory / ".lock", wait=True):
        write_text(directory / DOCUMENT, text, named=False)
        if directed is not None:
            write_text(directory / TOPOLOGY, to_json(plan.problem.network.topology), named=False)
            topology = TOPOLOGY
        elif Path(topology).is_file():
            topology = relative(Path(topology), directory)
        matrices = _write_matrices(plan, directory)
        text = scenario(plan, topology, None if directed is not None else part, capacity_bps, matrices)
        write_text(directory / SCENARIO, text, named=False)


def relative(file: Path, directory: Path) -> str:
    """The path of a file as seen from a directory; absolute if they are on two drives."""
    try:
        return Path(os.path.relpath(file.absolute(), directory.absolute())).as_posix()
    except ValueError:
        return str(file.absolute())


def _write_matrices(plan: Plan, directory: Path) -> list[str]:
    """The traffic matrices of the model as CSV files; returns their names."""
    network, names = plan.problem.network, []
    for number, matrix in enumerate(plan.demands, start=1):
        lines = io.StringIO()
        rows = csv.writer(lines, lineterminator="\n")
        rows.writerow(("source", "target", "rate"))
        for source, target in np.argwhere(matrix > 0).tolist():
            rows.writerow((network.names[source], network.names[target], f"{matrix[source, target]:.17g} bit/s"))
        names.append("matrix.csv" if len(plan.demands) == 1 else f"matrix-{number}.csv")
        write_text(directory / names[-1], lines.getvalue(), named=False)
    return names


def scenario(
    plan: Plan, topology: str, part: str | None, capacity_bps: float | None, matrices: Sequence[str] = ()
) -> str:
    """The scenario, beside the document that its routing names, and the files with its traffic matrices."""
    lines = [
        "# Packets of a pair are sprayed over its paths by their fractions (plan.json).",
        f"title = {json.dumps(f'Plan of {plan.problem.network.topology.name} for a load of {plan.allowed_load:g}')}",
        "",
        "[topology]",
        f"from = {json.dumps(topology, ensure_ascii=False)}",
    ]
    if part is not None:
        lines.append(f'part = "{part}"')
    if capacity_bps is not None:
        lines.append(f'capacity = "{capacity_bps:.0f} bit/s"')
    lines += ["", "[routing.plan]", f'from = "{DOCUMENT}"', 'per = "packet"']
    if matrices:
        value = json.dumps(matrices[0] if len(matrices) == 1 else list(matrices))
        lines += ["", "[[traffic]]", f"matrix = {value}", 'routing = "plan"']
        return "\n".join([*lines, "", "[run]", 'duration = "5s"', 'warm_up = "1s"']) + "\n"
    sending = plan.sending
    tolerant, others = plan.tolerant & sending, ~plan.tolerant & sending
    classic, given = ['congestion = "newreno"', 'detection = "dup-ack"'], plan.connection.stack
    patient = [classic[0], 'detection = "rack-tlp"'] if given is None else [f'preset = "{given.name}"']
    for name, stack, chosen in (("any", classic, others), ("tolerant", patient, tolerant)):
        if chosen.any():
            lines += ["", f"[stacks.{name}]", *stack]
            lines += [f'mss = "{plan.connection.payload_bytes} bytes"', *_traffic(plan, name, chosen)]
    return "\n".join([*lines, "", "[run]", 'duration = "20s"', 'warm_up = "5s"']) + "\n"


def _traffic(plan: Plan, stack: str, chosen: Booleans) -> list[str]:
    network = plan.problem.network
    sources, targets = '"all"', '"all"'
    if not chosen.all():
        sources, targets = (
            json.dumps([network.names[node] for node in nodes[chosen]], ensure_ascii=False)
            for nodes in (network.pair_sources, network.pair_targets)
        )
    pattern = [] if chosen.all() else ['pattern = "pairs"']
    rate = f'poisson = "{plan.connection.rate_bps:.0f} bit/s"'
    return [
        "",
        "[[traffic]]",
        f"from = {sources}",
        f"to = {targets}",
        *pattern,
        rate,
        f'stack = "{stack}"',
        'routing = "plan"',
    ]
