"""Results in the formats of other tools: iperf3's JSON, and htsim's connection matrices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.foundation.folders import Folder
from anabranch.foundation.output_files import unwritable, unwritable_below
from anabranch.results.result import Result, ResultError

FORMATS = ("iperf3", "htsim")
_MICROSECONDS = 1e6


def write(run_directory: Path, output: Path, form: str, *, of: Path | None = None) -> list[Path]:
    """Write a file for each run, in one of :data:`FORMATS`; ``of`` is as in :func:`anabranch.results.csv.write`.

    Raises:
        ResultError: the runs have no flows that the format can say.
        anabranch.results.manifest.ManifestError: it is no run directory, or damaged.
        anabranch.foundation.output_files.FileError: a file cannot be written.
    """
    result = Result.load(run_directory)
    _require(result, form)  # before there is a folder
    folder = Folder.at(output, of or output)
    files = []
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder.root, error) from None
    try:
        folder.make()
        for name, text in _iperf3(result) if form == "iperf3" else _htsim(result):
            folder.write(name, text.encode())
            files.append(output / name)
    except OSError as error:
        raise unwritable_below(folder, error) from None
    return files


def _require(result: Result, form: str) -> None:
    """Refuse a result without TCP flows, and for htsim one with a flow that has no size: htsim's flows end."""
    flows = result.flows.drop_nulls("stack")
    if flows.is_empty():
        raise ResultError(f"{result.directory}: has no TCP flow; there is nothing to write as {form}")
    endless = flows.filter(pl.col("size_bytes").is_null()) if form == "htsim" else flows.clear()
    if endless.height:
        raise ResultError(
            f"{result.directory}: run {endless['run'][0]} has flows without a size, which htsim does not know; give their [[traffic]] a size"
        )


def _iperf3(result: Result) -> Iterator[tuple[str, str]]:
    """The JSON of ``iperf3 --json`` for each run: a stream for each TCP flow, intervals from the samples, times from the warm-up on."""
    series = result.series_flows
    for run in result.manifest["runs"]:
        flows = result.flows.filter(run=run["run"]).drop_nulls("stack").to_dicts()
        if not flows:
            continue
        warm_up_s, end_s = run["warm_up_s"], run["simulated_s"]
        known = {flow["flow"] for flow in flows}
        ticks: dict[float, list[dict[str, Any]]] = {}
        for sample in series.filter(run=run["run"]).sort("time_s", "flow").to_dicts() if series.height else ():
            if sample["flow"] in known and sample["time_s"] > warm_up_s:
                ticks.setdefault(sample["time_s"], []).append(sample)
        title = {"title": result.manifest["title"], "extra_data": {"variant": run["variant"], "seed": run["seed"]}}
        document = {
            "start": {
                "connected": [
                    {"socket": flow["flow"], "local_host": flow["src"], "remote_host": flow["dst"]} for flow in flows
                ],
                "version": f"anabranch {result.manifest['anabranch']}",
                "test_start": {"protocol": "TCP", "num_streams": len(flows), "duration": end_s - warm_up_s},
            },
            "intervals": list(_intervals(ticks, warm_up_s)),
            "end": _ends(flows, warm_up_s, end_s),
        }
        yield f"iperf3-{run['run']}.json", json.dumps(title | document, indent=1) + "\n"


def _intervals(ticks: Mapping[float, Sequence[Mapping[str, Any]]], begin_s: float) -> Iterator[dict[str, Any]]:
    before: dict[int, int] = {}
    for time_s, samples in ticks.items():
        span = {"start": begin_s, "end": time_s, "seconds": time_s - begin_s, "omitted": False, "sender": True}
        streams = []
        for sample in samples:
            sent_again = sample["retransmits"] or 0
            rtt_s = sample["srtt_s"]
            streams.append(
                {
                    "socket": sample["flow"],
                    **span,
                    "bytes": round((sample["goodput_bps"] or 0.0) * span["seconds"] / 8),
                    "bits_per_second": sample["goodput_bps"] or 0.0,
                    "retransmits": sent_again - before.get(sample["flow"], 0),
                    "rtt": 0 if rtt_s is None else round(rtt_s * _MICROSECONDS),
                }
            )
            before[sample["flow"]] = sent_again
        yield {"streams": streams, "sum": {**span, **_sums(streams)}}
        begin_s = time_s


def _ends(flows: Sequence[Mapping[str, Any]], warm_up_s: float, end_s: float) -> dict[str, Any]:
    streams = []
    for flow in flows:
        start = max(flow["start_s"], warm_up_s)
        end = end_s if flow["end_s"] is None else flow["end_s"]
        span = {"socket": flow["flow"], "start": start, "end": end, "seconds": max(end - start, 0.0)}
        received = {"bytes": flow["delivered_bytes"], "bits_per_second": flow["goodput_bps"] or 0.0}
        streams.append(
            {
                "sender": {**span, **received, "retransmits": flow["retransmits"] or 0, "sender": True},
                "receiver": {**span, **received, "sender": True},
            }
        )
    span = {"start": warm_up_s, "end": end_s, "seconds": end_s - warm_up_s}
    sums = _sums([stream["sender"] for stream in streams])
    received = {name: sums[name] for name in ("bytes", "bits_per_second")}
    return {"streams": streams, "sum_sent": {**span, **sums}, "sum_received": {**span, **received}}


def _sums(streams: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: sum(stream[name] for stream in streams) for name in ("bytes", "bits_per_second", "retransmits")}


def _htsim(result: Result) -> Iterator[tuple[str, str]]:
    """The flows of each run as a connection matrix: hosts have the numbers of a comment, starts count microseconds."""
    for run in result.manifest["runs"]:
        flows = result.flows.filter(run=run["run"]).drop_nulls("stack").sort("start_s", "flow").to_dicts()
        if not flows:
            continue
        hosts = {
            name: number for number, name in enumerate(sorted({flow[end] for flow in flows for end in ("src", "dst")}))
        }
        lines = [f"# {number} is {json.dumps(name)}" for name, number in hosts.items()]
        lines += [f"Nodes {len(hosts)}", f"Connections {len(flows)}"]
        lines += [
            f"{hosts[flow['src']]}->{hosts[flow['dst']]} id {number} start {_decimal(flow['start_s'] * _MICROSECONDS)} size {flow['size_bytes']}"
            for number, flow in enumerate(flows, 1)
        ]
        yield f"flows-{run['run']}.cm", "\n".join(lines) + "\n"


def _decimal(number: float) -> str:
    """Microseconds to the picosecond, without an exponent."""
    return f"{number:.6f}".rstrip("0").rstrip(".")
