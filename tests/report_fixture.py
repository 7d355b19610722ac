"""Fabricates small, plausible run directories, in the form that `anabranch run` writes, without an engine.

The numbers are drawn, not simulated: they have the right columns, units and orders of magnitude, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anabranch.runs import manifest as manifests

ABILENE = {
    "Seattle": (47.61, -122.33),
    "Sunnyvale": (37.37, -122.04),
    "Los Angeles": (34.05, -118.24),
    "Denver": (39.74, -104.98),
    "Kansas City": (39.11, -94.63),
    "Houston": (29.76, -95.36),
    "Indianapolis": (39.77, -86.16),
    "Chicago": (41.88, -87.63),
    "Atlanta": (33.75, -84.39),
    "Washington DC": (38.91, -77.04),
    "New York": (40.71, -74.01),
}
ABILENE_EDGES = [
    ("New York", "Chicago"),
    ("New York", "Washington DC"),
    ("Chicago", "Indianapolis"),
    ("Washington DC", "Atlanta"),
    ("Seattle", "Sunnyvale"),
    ("Seattle", "Denver"),
    ("Sunnyvale", "Los Angeles"),
    ("Sunnyvale", "Denver"),
    ("Los Angeles", "Houston"),
    ("Denver", "Kansas City"),
    ("Kansas City", "Houston"),
    ("Kansas City", "Indianapolis"),
    ("Houston", "Atlanta"),
    ("Indianapolis", "Atlanta"),
]
NORTH = ["Seattle", "Denver", "Kansas City", "Indianapolis", "Atlanta"]
SOUTH = ["Seattle", "Sunnyvale", "Los Angeles", "Houston", "Atlanta"]

STACKS = ("newreno", "cubic", "bbr", "mprc")
ROUTINGS = ("ospf", "spray at random", "spray round robin")

# Mean goodput in Mbit/s of a stack when its path is single, sprayed at random, and sprayed round robin.
_LEVELS = {"newreno": (9.5, 8.9, 10.1), "cubic": (9.55, 7.4, 8.2), "bbr": (9.5, 1.9, 2.2), "mprc": (9.5, 18.8, 19.05)}


def write_run_directory(
    directory: Path,
    *,
    stacks: Sequence[str] = STACKS,
    routings: Sequence[str] = ROUTINGS,
    seeds: int = 5,
    flows: int = 1,
    sized: bool = False,
    sample_s: float | None = 0.1,
    duration_s: float = 30.0,
    title: str = "What packet spraying does to TCP",
    nodes: dict[str, tuple[float, float] | None] | None = None,
    edges: Sequence[tuple[str, str]] | None = None,
    source: str = "Seattle",
    destination: str = "Atlanta",
    traffic: str = "bulk",
    interrupted: bool = False,
) -> Path:
    """Write a run directory of ``stacks`` x ``routings`` x ``seeds`` and return its path."""
    nodes = dict(ABILENE) if nodes is None else nodes
    edges = ABILENE_EDGES if edges is None else edges
    directed = [pair for edge in edges for pair in (edge, edge[::-1])]
    (directory / "series").mkdir(parents=True)
    runs: list[dict[str, Any]] = []
    flow_frames, link_frames = [], []
    for (stack, routing), seed in product(product(stacks, routings), range(1, seeds + 1)):
        run = len(runs)
        draw = np.random.default_rng([run, seed])
        level = _LEVELS.get(stack, (5.0, 6.0, 7.0))[min(list(routings).index(routing), 2)]
        goodput = np.maximum(level * (1 + 0.03 * draw.standard_normal(flows)), 0.1) * 1e6 / flows
        flow_frames.append(
            _flows(draw, run, seed, stack, routing, goodput, sized, duration_s, source, destination, traffic)
        )
        link_frames.append(_links(draw, run, seed, directed, list(routings).index(routing), level))
        if sample_s is not None:
            _series(directory / "series", draw, run, flow_frames[-1], link_frames[-1], sample_s, duration_s)
        runs.append(
            {
                "run": run,
                "variant": {"stack": stack, "routing": routing},
                "seed": seed,
                "status": "complete",
                "warm_up_s": 5.0,
                "simulated_s": duration_s,
                "packet_hops": int(goodput.sum() * duration_s / 8000 * 6),
                "result_hash": hashlib.sha256(f"{run}".encode()).hexdigest(),
            }
        )
    if interrupted:
        runs[-1] |= {"status": "interrupted", "simulated_s": duration_s / 2}
    scenario = {
        "title": title,
        "topology": {"from": "topozoo/Abilene", "capacity": "10Mbps"},
        "routing": {"ospf": {"metric": "hop-count"}},
        "stacks": {stack: {"preset": "newreno"} for stack in stacks},
        "traffic": [
            {"from": source, "to": destination, "bulk": True, "stack": list(stacks), "routing": list(routings)}
        ],
        "run": {"duration": f"{duration_s:g}s", "warm_up": "5s", "seeds": seeds},
    }
    manifest = {
        "format": manifests.FORMAT,
        "anabranch": "0.1.0",
        "title": title,
        "engine": "packet",
        "scenario": scenario,
        "scenario_hash": hashlib.sha256(json.dumps(scenario).encode()).hexdigest(),
        "command": ["anabranch", "run", "scenarios/abilene.toml", "--seeds", f"1..{seeds}"],
        "keys": ["stack", "routing"],
        "topology": {
            "nodes": [
                {
                    "name": name,
                    "latitude": None if place is None else place[0],
                    "longitude": None if place is None else place[1],
                    "x": None,
                    "y": None,
                }
                for name, place in nodes.items()
            ],
            "links": [{"src": src, "dst": dst, "capacity_bps": 1e7, "delay_s": 0.006} for src, dst in directed],
        },
        "runs": runs,
    }
    pl.concat(flow_frames).write_parquet(directory / "flows.parquet")
    pl.concat(link_frames).write_parquet(directory / "links.parquet")
    manifests.write(directory, manifest)
    return directory


def change_manifest(directory: Path, **changes: object) -> None:
    """Give entries of the manifest other values, and write it anew with the checksums that the tables have now."""
    path = directory / "manifest.json"
    document = json.loads(path.read_text())
    path.unlink()
    del document["checksum"]
    manifests.write(directory, document | changes)


def _flows(
    draw: np.random.Generator,
    run: int,
    seed: int,
    stack: str,
    routing: str,
    goodput: np.ndarray,
    sized: bool,
    duration_s: float,
    source: str,
    destination: str,
    traffic: str,
) -> pl.DataFrame:
    count = len(goodput)
    start = draw.uniform(0, duration_s * 0.8, count) if sized else np.arange(count) * 0.01
    completion = draw.lognormal(-1.0, 0.8, count) if sized else np.full(count, np.nan)
    sent = np.maximum(goodput * duration_s / 8000, 10).astype(np.uint64)
    sprayed = routing != "ospf"
    retransmits = (sent * (0.02 if sprayed else 0.002) * draw.uniform(0.8, 1.2, count)).astype(np.uint64)
    return pl.DataFrame(
        {
            "run": pl.Series([run] * count, dtype=pl.UInt32),
            "seed": pl.Series([seed] * count, dtype=pl.UInt64),
            "flow": pl.Series(range(count), dtype=pl.UInt32),
            "traffic": [traffic] * count,
            "src": [source] * count,
            "dst": [destination] * count,
            "stack": [stack] * count,
            "routing": [routing] * count,
            "start_s": start,
            "end_s": start + completion,
            "fct_s": completion,
            "idle_fct_s": completion / 3,
            "size_bytes": pl.Series([20_000] * count if sized else [None] * count, dtype=pl.UInt64),
            "delivered_bytes": (goodput * duration_s / 8).astype(np.uint64),
            "goodput_bps": goodput,
            "segments_sent": sent,
            "retransmits": retransmits,
            "spurious_retransmits": (retransmits * (0.9 if sprayed else 0.0)).astype(np.uint64),
            "retransmit_ratio": retransmits / sent,
            "timeouts": draw.integers(0, 3, count).astype(np.uint64),
            "recoveries": draw.integers(3, 30, count).astype(np.uint64),
            "undone": draw.integers(0, 3, count).astype(np.uint64),
            "srtt_s": draw.uniform(0.06, 0.09, count),
            "min_rtt_s": np.full(count, 0.055),
            "cwnd_segments": draw.uniform(20, 90, count),
            "reordered_segments": (sent * (0.3 if sprayed else 0.0)).astype(np.uint64),
            "reordering_extent_max": pl.Series([12 if sprayed else 0] * count, dtype=pl.UInt32),
            "reordering_extent_mean": pl.Series([3.4 if sprayed else None] * count, dtype=pl.Float64),
            "longest_stall_s": np.full(count, 0.2 if sprayed else 0.0),
            "reassembly_peak_bytes": pl.Series([40_000 if sprayed else 0] * count, dtype=pl.UInt64),
        }
    ).with_columns(pl.col("end_s", "fct_s", "idle_fct_s").fill_nan(None))


def _links(
    draw: np.random.Generator, run: int, seed: int, directed: list[tuple[str, str]], routing: int, level: float
) -> pl.DataFrame:
    used = {*pairwise(NORTH)} | ({*pairwise(SOUTH)} if routing else set())
    load = min(level * 1.04 / (20 if routing else 10), 1.0)
    utilisation = [
        load * draw.uniform(0.97, 1.0) if pair in used else load / 30 if pair[::-1] in used else 0.0
        for pair in directed
    ]
    first = [pair[0] == NORTH[0] and pair in used for pair in directed]
    count = len(directed)
    return pl.DataFrame(
        {
            "run": pl.Series([run] * count, dtype=pl.UInt32),
            "seed": pl.Series([seed] * count, dtype=pl.UInt64),
            "link": pl.Series(range(count), dtype=pl.UInt32),
            "src": [src for src, _ in directed],
            "dst": [dst for _, dst in directed],
            "capacity_bps": [1e7] * count,
            "delay_s": [0.006] * count,
            "packets": pl.Series([int(share * 1e7 * 30 / 8 / 1000) for share in utilisation], dtype=pl.UInt64),
            "bytes": pl.Series([int(share * 1e7 * 30 / 8) for share in utilisation], dtype=pl.UInt64),
            "utilisation": utilisation,
            "queue_drops": pl.Series([40 if bottleneck else 0 for bottleneck in first], dtype=pl.UInt64),
            "queue_drop_ratio": [0.0013 if bottleneck else 0.0 for bottleneck in first],
            "losses": pl.Series([0] * count, dtype=pl.UInt64),
            "loss_ratio": [0.0] * count,
            "marks": pl.Series([0] * count, dtype=pl.UInt64),
            "queue_delay_mean_s": [0.021 if bottleneck else 0.0002 for bottleneck in first],
            "queue_delay_max_s": [0.12 if bottleneck else 0.002 for bottleneck in first],
        }
    )


def _series(
    directory: Path,
    draw: np.random.Generator,
    run: int,
    flows: pl.DataFrame,
    links: pl.DataFrame,
    sample_s: float,
    duration_s: float,
) -> None:
    time = np.arange(1, round(duration_s / sample_s) + 1) * sample_s
    count, steps = flows.height, len(time)
    period = draw.uniform(3, 6, (count, 1))
    phase = draw.uniform(0, 1, (count, 1))
    tooth = 0.5 + 0.5 * ((time[None, :] / period + phase) % 1)
    goodput = flows["goodput_bps"].to_numpy()[:, None] * np.minimum(1, time / 2) * (0.7 + 0.4 * tooth)
    cwnd = goodput * 0.075 / 8000 * (0.8 + 0.4 * tooth) + 1
    frame = pl.DataFrame(
        {
            "run": pl.Series([run] * (count * steps), dtype=pl.UInt32),
            "time_s": np.tile(time, count),
            "flow": np.repeat(np.arange(count, dtype=np.uint32), steps),
            "cwnd_segments": cwnd.ravel(),
            "ssthresh_segments": np.where(np.tile(time, count) < 1, np.nan, 40.0),
            "in_flight_segments": (cwnd * 0.95).ravel().astype(np.uint32),
            "srtt_s": (0.055 + 0.03 * tooth).ravel(),
            "goodput_bps": goodput.ravel(),
            "retransmits": draw.integers(0, 2, count * steps).astype(np.uint64),
        }
    ).with_columns(pl.col("ssthresh_segments").fill_nan(None))
    half = duration_s / 2
    frame.filter(pl.col("time_s") <= half).write_parquet(directory / f"flows-{run}-0.parquet")
    frame.filter(pl.col("time_s") > half).write_parquet(directory / f"flows-{run}-1.parquet")
    share = links["utilisation"].to_numpy()
    limit = (links["queue_delay_max_s"].to_numpy() / 0.0012).round().astype(int)
    noise = draw.uniform(0.2, 1.0, (len(share), steps))
    pl.DataFrame(
        {
            "run": pl.Series([run] * (len(share) * steps), dtype=pl.UInt32),
            "time_s": np.tile(time, len(share)),
            "link": np.repeat(np.arange(len(share), dtype=np.uint32), steps),
            "queue_packets": (limit[:, None] * noise * tooth[:1]).ravel().astype(np.uint32),
            "utilisation": np.minimum(share[:, None] * (0.9 + 0.1 * noise), 1).ravel(),
            "drops": np.zeros(len(share) * steps, dtype=np.uint64),
        }
    ).write_parquet(directory / f"links-{run}-0.parquet")


def replace_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table of a run directory anew, and its checksum into the manifest."""
    table.write_parquet(path)
    change_manifest(path.parent.parent if path.parent.name == "series" else path.parent)
