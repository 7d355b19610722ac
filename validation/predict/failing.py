"""Judge the predict engine on random scenarios in which a link fails, with and without new routes, and is repaired or not.

The truth is that of :mod:`validation.predict`. Writes its section of ``docs/validation/predict.md``.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from anabranch import Scenario, _core
from anabranch.compile.jitter import jittered
from anabranch.compile.run import compile_run
from anabranch.engines import predict
from anabranch.engines.packet import CompiledRun
from anabranch.foundation.array_types import Floats
from anabranch.network.topologies import load
from validation.predict.__main__ import FIRST_OF_VERDICT, PAGE, _all, _quantile, _sums
from validation.predict.scenarios import Spec, log_uniform, topology

DURATION_S, WARM_UP_S, RUNS = 50, 5, 3
TOUCHED = 0.001
"""A failure touches a flow whose prediction it changes by more than this share."""
BEGIN, END = "<!-- failing -->", "<!-- end of failing -->"
STACKS = ("newreno", "cubic", "linux-reno", "linux-cubic", "kikolo", "linux-westwood", "bbr", "linux-bbr")
NETWORKS = ("Abilene", "Geant2001", "Nsfnet")


def document(seed: int) -> Spec:
    """A random scenario with one failure; the families take turns."""
    draw = random.Random(f"failing {seed}")
    family = FAMILIES[seed % len(FAMILIES)]
    run = {"duration": f"{DURATION_S}s", "warm_up": f"{WARM_UP_S}s", "seeds": [seed]}
    return {"title": f"{family.__name__.strip('_')} {seed}", "run": run, **family(draw)}


def _failure(draw: random.Random, link: list[str]) -> tuple[list[Spec], Spec]:
    """The failure of a link, with its repair or not, and how its routing follows."""
    fails_s = draw.uniform(8, 35)
    follows = draw.choice((None, "0s", "0.2s", "1s", "4s"))
    events: list[Spec] = [{"at": f"{fails_s:.3f}s", "fail": link}]
    if follows is None or draw.random() < 0.5:
        events.append({"at": f"{fails_s + log_uniform(draw, 0.5, 20):.3f}s", "repair": link})
    return events, {} if follows is None else {"reconverge": follows}


def _dumbbell(draw: random.Random) -> dict[str, Any]:
    """Flows over one of two lines, and the other one after the first has failed."""
    flows, mixed = draw.randint(1, 8), draw.random() < 0.3
    rate_mbps, other_mbps = log_uniform(draw, 3, 25), log_uniform(draw, 3, 25)
    rtts_ms = [log_uniform(draw, 15, 120)] * flows
    if draw.random() < 0.4:
        rtts_ms = [log_uniform(draw, 15, 120) for _ in range(flows)]
    bdp = max(2.0, rate_mbps * 1e6 * (sum(rtts_ms) / flows) / 1e3 / 12000)
    queue = max(8, min(2000, round(bdp * log_uniform(draw, 0.3, 3))))
    links: list[Spec] = [
        {"source": "left", "target": "right", "capacity": f"{rate_mbps:.2f}Mbps", "delay": "1ms"},
        {
            "source": "left",
            "target": "other",
            "capacity": f"{other_mbps:.2f}Mbps",
            "delay": f"{draw.uniform(1, 20):.2f}ms",
        },
        {"source": "other", "target": "right", "capacity": "1Gbps", "delay": "0.5ms"},
    ]
    stack = draw.choice(STACKS)
    traffic: list[Spec] = []
    for index, rtt_ms in enumerate(rtts_ms):
        delay = f"{(rtt_ms / 2 - 1) / 2:.3f}ms"
        links.append({"source": f"s{index}", "target": "left", "delay": delay, "capacity": "1Gbps"})
        links.append({"source": "right", "target": f"d{index}", "delay": delay, "capacity": "1Gbps"})
        used = draw.choice(STACKS[:5]) if mixed else stack
        traffic.append({"from": f"s{index}", "to": f"d{index}", "stack": used, "routing": "hops"})
    events, follows = _failure(draw, ["left", "right"])
    return {
        "topology": topology(links, queue),
        "routing": {"hops": {"metric": "hop-count"} | follows},
        "traffic": traffic,
        "events": events,
    }


def _network(draw: random.Random) -> dict[str, Any]:
    """Flows between random pairs of a backbone, of which one link fails."""
    name = draw.choice(NETWORKS)
    links = load(f"topozoo/{name}").links
    link = draw.choice(links)
    events, follows = _failure(draw, [link.source, link.target])
    return {
        "topology": {
            "from": f"topozoo/{name}",
            "capacity": f"{log_uniform(draw, 3, 15):.1f}Mbps",
            "delay": {"speed": "2e8 m/s", "plus": "1ms"},
            "queue": {"limit": f"{draw.randint(20, 200)} packets"},
        },
        "routing": {"ospf": {"metric": "delay"} | follows},
        "traffic": [
            {
                "from": "*",
                "to": "*",
                "pattern": "random-pairs",
                "count": draw.randint(5, 16),
                "stack": draw.choice(STACKS),
                "routing": "ospf",
            }
        ],
        "events": events,
    }


FAMILIES: tuple[Callable[[random.Random], dict[str, Any]], ...] = (_dumbbell, _network)


def simulated(spec: CompiledRun, seed: int) -> Floats:
    """The goodputs of all flows in jittered runs of the packet engine, bit/s: one column for each run."""
    goodputs = []
    for run in range(RUNS):
        simulation = _core.Simulation(json.dumps(jittered(dict(spec), RUNS * seed + run)))
        while simulation.advance(1_000_000):
            pass
        goodputs.append(simulation.flows()["goodput_bps"])
    return np.array(goodputs).T


def judge(seed: int, truth: Callable[[CompiledRun, int], Floats] = simulated) -> pl.DataFrame | None:
    """Predict a scenario and run it: a row for each flow, and one for the sum; ``None`` if the engine refuses it."""
    scenario = document(seed)
    spec = compile_run(Scenario(scenario).cases[0], seed)
    try:
        prediction, without = predict.predicted(spec), predict.predicted({**spec, "events": []})
    except ValueError:
        return None
    runs, flows = truth(spec, seed), prediction.flows()
    former = without.flows()["goodput_bps"]
    touched = np.abs(flows["goodput_bps"] / former - 1) > TOUCHED
    follows = any("reconverge" in routing for routing in scenario["routing"].values())
    of_flows = pl.DataFrame(
        {
            "name": [("touched, " + ("new routes" if follows else "no new routes")) if one else "not touched" for one in touched],
            "predicted": flows["goodput_bps"],
            "low": flows["low_bps"],
            "high": flows["high_bps"],
            "runs": runs.tolist(),
        }
    )  # fmt: skip
    found = [of_flows]
    if len(runs) > 1:
        of_all = _sums(seed, prediction, runs).filter(part="all flows").select(of_flows.columns)
        found.append(of_all.with_columns(name=pl.lit("sum of all flows")))
    return pl.concat(found).with_columns(scenario=pl.lit(seed))


def verdict(judged: Sequence[pl.DataFrame], count: int) -> str:
    """The table of the page."""
    rows = pl.concat(judged).with_columns(truth=pl.col("runs").list.mean())
    rows = rows.filter(pl.col("truth") > 0).with_columns(
        error=(pl.col("predicted") / pl.col("truth") - 1).abs(), weight=1 / pl.len().over("scenario", "name")
    )
    lines = [
        f"{len(judged)} of {count} scenarios with {', '.join(STACKS)}; {RUNS} runs of {DURATION_S} s each. Half are dumbbells with two lines, half are {', '.join(NETWORKS)}.",
        "",
        "| goodput | scenarios | values | predicted over mean of the runs: median | error: median | 90 % | in the interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name,), of_name in sorted(rows.group_by("name"), key=lambda item: str(item[0])):
        runs = of_name.explode("runs")
        inside = runs["runs"].is_between(runs["low"], runs["high"]).cast(pl.Float64)
        covered = float(np.average(inside.to_numpy(), weights=runs["weight"].to_numpy()))
        ratio = _quantile(of_name["predicted"] / of_name["truth"], of_name["weight"], 0.5)
        errors = [f"{100 * _quantile(of_name['error'], of_name['weight'], share):.1f} %" for share in (0.5, 0.9)]
        lines.append(
            f"| {name} | {of_name['scenario'].n_unique()} | {of_name.height} | {ratio:.2f} | {' | '.join(errors)} | {100 * covered:.0f} % |"
        )
    return "\n".join([*lines, ""])


def write(text: str) -> None:
    """Write the section of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge with the intervals that are compiled in."""
    parser = argparse.ArgumentParser(prog="python -m validation.predict.failing", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=60, help="how many (default 60)")
    options = parser.parse_args(arguments)
    judged = _all(judge, range(FIRST_OF_VERDICT, FIRST_OF_VERDICT + options.scenarios))
    text = verdict(judged, options.scenarios)
    write(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
