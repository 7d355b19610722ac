"""Facts about the runs: the head and the foot of the page."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from anabranch.engines.refusal import described
from anabranch.pages.report.chart import three_digits
from anabranch.pages.report.parts import MOST_ROWS
from anabranch.results.matrix_columns import text
from anabranch.results.run_directory import Runs, Source


def of(source: Source, index: int, runs: Runs, destination: Path | None = None) -> dict[str, Any]:
    """Facts about the runs, for the head and the foot of the page; commands name the directory, or the ``destination`` that it will have."""
    manifest = source.manifest
    seeds = sorted({run["seed"] for run in manifest["runs"]})
    longest = max(run["simulated_s"] for run in manifest["runs"])
    hops = sum(run.get("packet_hops") or 0 for run in manifest["runs"])
    facts = [
        ("Engine", manifest["engine"]),
        ("Anabranch", manifest["anabranch"]),
        ("Duration", f"{longest:g} s"),
        ("Warm-up", f"{source.warm_up_s:g} s" if source.warm_up_s else "none"),
        ("Seeds" if len(seeds) > 1 else "Seed", _ranges(seeds)),
        ("Variants", sum(variant.source == index for variant in runs.variants)),
        ("Runs", len(manifest["runs"])),
        ("Packet-hops", _magnitude(hops)),
    ]
    expired = sum(run.get("packets_expired") or 0 for run in manifest["runs"])
    if expired:
        facts.append(("Packets gone in circles", _magnitude(expired)))
    if jitter := manifest.get("jitter"):
        facts.append(("Jitter", f"each seed varies delays by up to {100 * jitter:g} %, and starts"))
    facts += _real_time(manifest["runs"])
    keys = manifest["keys"]
    return {
        "name": source.name,
        "engine": manifest["engine"],
        "directory": shlex.quote(str(destination or source.directory)),
        "middle_s": longest / 2,
        "facts": facts,
        "interrupted": source.interrupted,
        "planned": source.planned,
        "stopped": _stopped(source),
        "left_out": [described(one["variant"], one["why"]) for one in manifest.get("refused", [])],
        "warnings": [_warning(warning) for warning in manifest.get("warnings", [])],
        "command": shlex.join(str(word) for word in manifest["command"]),
        "scenario": _scenario_text(manifest["scenario"]),
        "scenario_hash": manifest["scenario_hash"],
        "matrix_keys": keys,
        "runs": [
            {
                **run,
                "values": [text(run["variant"].get(key)) for key in keys],
                "result_hash": run.get("result_hash") or "–",
            }
            for run in manifest["runs"][:MOST_ROWS]
        ],
        "omitted": max(len(manifest["runs"]) - MOST_ROWS, 0),
    }


def _warning(warning: Mapping[str, Any]) -> str:
    place = warning["file"] if warning["line"] is None else f"{warning['file']}:{warning['line']}"
    return f"{place}: {warning['field']}: {warning['message']}"


def _stopped(source: Source) -> list[str]:
    """The runs that were stopped before their end: matrix values, seed, and how far they got."""
    keys = source.manifest["keys"]
    lines = []
    for run in source.manifest["runs"]:
        if run["status"] != "complete":
            values = [text(run["variant"].get(key)) for key in keys] + [f"seed {run['seed']}"]
            lines.append(f"{' · '.join(values)}: {run['simulated_s']:g} s")
    return lines


def _scenario_text(scenario: Mapping[str, Any]) -> str:
    """The scenario as TOML, which `anabranch run` takes; as JSON if it holds what TOML cannot say."""
    try:
        return tomli_w.dumps(scenario)
    except (ValueError, TypeError):
        return json.dumps(scenario, indent=2, ensure_ascii=False)


def _magnitude(count: int) -> str:
    """``12.8 million`` for 12838158."""
    for size, name in ((10**12, " trillion"), (10**9, " billion"), (10**6, " million")):
        if count >= size:
            return three_digits(count / size) + name
    return f"{count:,}"


def _real_time(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    """For runs of the kernel engine: the Linux that ran, and how late its packets were in the worst run."""
    late = [run["lateness"] for run in runs if "lateness" in run]
    if not late:
        return []
    mean, most = max(one["mean_s"] for one in late), max(one["p99_s"] for one in late)
    return [
        ("Linux", ", ".join(sorted({run["linux"] for run in runs if "linux" in run}))),
        ("Packets late", f"{1e6 * mean:.0f} us in the mean, 99 % within {1e6 * most:.0f} us"),
    ]


def _ranges(numbers: Sequence[int]) -> str:
    """``1–3, 7`` for 1, 2, 3, 7."""
    parts = []
    for _, group in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        parts.append(f"{members[0]}" if len(members) == 1 else f"{members[0]}–{members[-1]}")
    return ", ".join(parts)
