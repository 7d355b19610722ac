"""Kikolo (Kiryowa, Granelli and Kliazovich): figures 2 and 4 to 9 of the paper, and the effects of other readings."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.results.result import Result
from anabranch.scenario import Scenario
from anabranch.studies.papers.kikolo import friendliness, pictures, readings, rtt_fairness, states, throughput, window
from anabranch.studies.papers.kikolo.cells import Cells
from anabranch.studies.papers.study import Experiment, Findings, Lab, Table, drawn

LOSS, RATE, LENGTH, WARM_UP, SEEDS = (
    "impairments[0].loss",
    "topology.generate.bottleneck",
    "run.duration",
    "run.warm_up",
    "run.seeds",
)
SLOW = {RATE: "100Mbps", LENGTH: "200s"}
OTHERS = '["newreno", "vegas", "westwood", "bic", "compound", "highspeed", "scalable", "cubic"]'
DECADES = "[1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]"
QUICK = {LENGTH: "10s", WARM_UP: "4s", SEEDS: "3"}
QUICK_SLOW = {RATE: "100Mbps", LENGTH: "40s", WARM_UP: "10s", SEEDS: "3"}
QUEUES = ("33 packets", "200 packets")


def experiments(lab: Lab) -> list[Experiment]:
    """The figures' scenarios; the full version also has other paths, other queues and runs of 1000 s."""
    made = {
        "figure-2": lab.scenario("window.toml", quick={LENGTH: "80s", SEEDS: "3"}),
        "figure-5": lab.scenario("throughput.toml", quick=QUICK | {LOSS: "[1e-6, 1e-3, 1e-2, 1e-1]"}),
        "figure-6": lab.scenario(
            "throughput.toml", full=SLOW | {LOSS: DECADES}, quick=QUICK_SLOW | {LOSS: "[1e-6, 1e-3, 1e-2, 1e-1]"}
        ),
        "figure-9": lab.scenario(
            "rtt-fairness.toml", quick={LOSS: "[1e-6, 1e-3, 1e-2]", LENGTH: "150s", WARM_UP: "30s", SEEDS: "3"}
        ),
        "readings-figure-5": lab.scenario("readings.toml", quick=QUICK | {LOSS: "[1e-6, 1e-3, 1e-2, 1e-1]"}),
        "readings-figure-6": lab.scenario(
            "readings.toml", full=SLOW | {LENGTH: "100s"}, quick=QUICK_SLOW | {LOSS: "[1e-2, 1e-1]"}
        ),
    }
    few = {LOSS: "[1e-6, 1e-3, 1e-1]"}
    for figure, full, quick in (("figure-7", {}, QUICK), ("figure-8", SLOW, QUICK_SLOW)):
        own = {"traffic[0].stack": OTHERS}
        made[figure] = lab.scenario("friendliness.toml", full=full, quick=quick | few)
        made[f"{figure}-own"] = lab.scenario("friendliness.toml", full=full | own, quick=quick | few | own)
    three = {"traffic[1].stack": '["newreno", "bic", "scalable"]'}
    some = {LOSS: "[1e-6, 1e-5, 1e-3, 1e-2]"}
    wide = {"traffic[0].stack": "wide"}
    made["figure-7-wide"] = lab.scenario("friendliness.toml", full=wide | some, quick=QUICK | few | wide | three)
    for reading in readings.THRESHOLDS:
        read = {"traffic[0].stack": reading}
        made[f"figure-7-{reading}"] = lab.scenario(
            "friendliness.toml", full=read | some | three, quick=QUICK | few | read | three
        )
    if not lab.quick:
        made |= _full(lab)
    return [Experiment(name, scenario) for name, scenario in made.items()]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """Claims, numbers and figures."""
    shares = {figure: throughput.shares(results[figure], figure) for figure in throughput.CAPACITY}
    other = {figure: readings.shares(results[f"readings-{figure}"], figure) for figure in shares}
    occupied = {throughput.RATE[figure]: states.occupancy(results[figure]) for figure in shares}
    even = {figure: friendliness.shares(results[figure]) for figure in friendliness.PLACE}
    left = {figure: friendliness.left(results[figure], results[f"{figure}-own"]) for figure in even}
    ratios = rtt_fairness.ratios(results["figure-9"])
    read = {key: friendliness.shares(results[f"figure-7-{key}"]) for key in ("wide", *readings.THRESHOLDS)}
    reasons = {figure: readings.reason(other[figure], shares[figure], read, figure) for figure in shares}
    claims = [
        throughput.first(shares["figure-5"], "figure-5", reasons["figure-5"]),
        throughput.groups(shares["figure-5"], readings.on_compound(other["figure-5"])),
        throughput.first(shares["figure-6"], "figure-6", reasons["figure-6"]),
        throughput.full(shares["figure-6"]),
        throughput.order(shares["figure-6"]),
        window.claim(results["figure-2"]),
        *states.claims(occupied),
        *rtt_fairness.claims(ratios),
        *friendliness.claims(even, left),
        throughput.conclusion(shares),
    ]
    numbers = [
        *(number for figure, found in shares.items() for number in throughput.numbers(found, figure)),
        *states.numbers(occupied),
        *window.numbers(results["figure-2"]),
        *rtt_fairness.numbers(ratios),
        *(number for figure, found in even.items() for number in friendliness.numbers(found, figure)),
    ]
    drawings = drawn(pictures.FIGURES, pictures.Found(results["figure-2"], occupied, shares, even, ratios))
    tables = [
        *(readings.kikolo_table(other[figure], found, figure) for figure, found in shares.items()),
        *(readings.competitor_table(other[figure], found, figure) for figure, found in shares.items()),
        *(friendliness.table(found, figure) for figure, found in left.items()),
        friendliness.reading_table(
            {
                "as read": even["figure-7"],
                readings.WIDE: read["wide"],
                **{text: read[key] for key, text in readings.THRESHOLDS.items()},
            }
        ),
    ]
    if not lab.quick:
        by_queue = {"20 packets": ratios} | {
            queue: rtt_fairness.ratios(results[f"figure-9-{queue.split()[0]}"]) for queue in QUEUES
        }
        tables += [rtt_fairness.queues(by_queue), readings.paths(results["paths"]), _lengths(results, shares, ratios)]
    return Findings(claims, numbers, drawings, tables)


def _full(lab: Lab) -> dict[str, Scenario]:
    long = {LENGTH: "1000s", WARM_UP: "100s", SEEDS: "[1]"}
    two = long | {"traffic[0].stack": '["kikolo", "scalable"]'}
    one_side = two | {"traffic[1].stack": '["kikolo", "scalable"]'}
    made = {
        "paths": lab.scenario("path.toml"),
        "figure-5-long": lab.scenario("throughput.toml", full=two | {LOSS: "[1e-5, 1e-3]"}),
        "figure-6-long": lab.scenario("throughput.toml", full=two | {RATE: "100Mbps", LOSS: "[1e-5, 1e-2]"}),
        "figure-9-long": lab.scenario("rtt-fairness.toml", full=one_side | {LOSS: "[1e-5, 1e-3]"}),
    }
    for queue in QUEUES:
        other = {"topology.override[0].queue.limit": queue, LOSS: "[1e-6, 1e-3]", SEEDS: "3"}
        made[f"figure-9-{queue.split()[0]}"] = lab.scenario("rtt-fairness.toml", full=other)
    return made


def _lengths(results: Mapping[str, Result], shares: Mapping[str, Cells], ratios: Cells) -> Table:
    pairs = [
        (f"Share of {throughput.RATE[figure]}", found, throughput.shares(results[f"{figure}-long"], figure), " %")
        for figure, found in shares.items()
    ]
    long = rtt_fairness.ratios(results["figure-9-long"])
    return readings.lengths([*pairs, ("Short over long round trip", ratios, long, "")])
