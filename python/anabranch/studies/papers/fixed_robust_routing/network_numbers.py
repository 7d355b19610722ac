"""Section 6's numbers and tables, with those of other readings."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers.fixed_robust_routing import choices
from anabranch.studies.papers.fixed_robust_routing.choices import (
    HEURISTICS,
    LOAD_TOPOLOGIES,
    NSFNET_V2,
    OPTIMA,
    OTHER_TIES,
    TITLES,
    TOPOLOGIES,
    X,
)
from anabranch.studies.papers.fixed_robust_routing.network import HOST_ACCESSES, NSFNET, OTHER_STACKS, Found, compared
from anabranch.studies.papers.study import Lab, Number, Table

EARLIER = {"plan-0.7": 168, "plan-0.6": 123, "plan-0.52": 74}
"""Number of single-path pairs by an earlier local search of ours, which maximised only this number."""


def numbers(found: Found) -> list[Number]:
    """Section 6's numbers on nsfnet, with ranges over ties and the other sets of links as remarks."""
    listed = [Number(f"delay-{pair}", delay) for pair, delay in choices.longest_delays(NSFNET).items()]
    other = TOPOLOGIES[1]
    for name in choices.paper_names():
        remark, on_v2 = "", f"{found.load(name, NSFNET_V2):.3f}"
        if name != "all":
            low, high = found.load_range(name)
            remark = f"over ties {low:.2f} to {high:.2f}; "
            low, high = found.load_range(name, NSFNET_V2)
            on_v2 += f", over ties {low:.2f} to {high:.2f}"
        others = f"nsfnet-1050: {found.load(name, other):.3f}; {NSFNET_V2}: {on_v2}"
        listed.append(Number(f"load-{name}", found.load(name), remark=remark + others))
    base = found.rate("all")[0]
    for name in choices.paper_names():
        remarks = []
        drawn = [found.rate(one)[0] for one in found.with_other_ties(name)]
        if drawn:
            remarks.append(f"other ties {min(drawn):.2f} to {max(drawn):.2f}")
        if found.measured(name, other):
            remarks.append(f"nsfnet-1050: {with_interval(*found.rate(name, other))}")
        listed.append(Number(f"throughput-{name}", *found.rate(name), remark="; ".join(remarks)))
        if name != "all":
            mean, half = found.rate(name)
            listed.append(Number(f"improvement-{name}", 100 * mean / base, None if half is None else 100 * half / base))
    for heuristic in HEURISTICS:
        what = f"for how many of the six X the worst-case load is below 1, {TITLES[heuristic]}"
        listed.append(Number(f"below-one-{heuristic}", len(found.below_one(heuristic)), what=what, where="Section 6"))
    for name in found.plans:
        title = f"plan for a load of {found.load(name):.3f}"
        earlier = (
            f"an earlier local search of ours for single paths alone: at least {EARLIER[name]}"
            if name in EARLIER
            else ""
        )
        listed.append(
            Number(f"load-{name}", found.load(name), what=f"worst-case load, {name.replace('-', ' ')}", where="Beyond")
        )
        listed.append(
            Number(
                f"single-{name}",
                found.single(name),
                what=f"pairs on single paths, {title}",
                where="Beyond",
                remark=earlier,
            )
        )
        predicted = f"predicted {found.choices[NSFNET][name]['predicted_bps'] / 1e6:.2f}"
        listed.append(
            Number(
                f"throughput-{name}",
                *found.rate(name),
                what=f"mean TCP throughput, {title}",
                unit="Mbit/s",
                where="Beyond",
                remark=predicted,
            )
        )
    return listed


def tables(lab: Lab, found: Found) -> list[Table]:
    """Loads by links and ties, and throughput by other readings."""
    return [_load_table(lab, found), _reading_table(lab, found), _optima_table(found)]


def _load_table(lab: Lab, found: Found) -> Table:
    published = {
        heuristic: [f"{lab.published[f'load-{heuristic}-{percent}'].value:.2f}" for percent in X]
        for heuristic in HEURISTICS
    }
    rows = [
        ["published", "HYBRID-HOP", "", *published["hop"]],
        [
            "an earlier program of ours, links as nsfnet",
            "HYBRID-HOP",
            "first-found",
            *("0.69", "0.82", "0.88", "0.92", "0.92", "0.92"),
        ],
        [
            "an earlier program of ours, links as nsfnet",
            "HYBRID-HOP",
            "delay",
            *("0.694", "0.82", "0.88", "0.98", "1.08", "1.08"),
        ],
    ]
    for topology in LOAD_TOPOLOGIES:
        rows.append([topology, "HYBRID-HOP", "first-found", *_load_cells(found, topology, "hop-{}")])
        if topology != TOPOLOGIES[1]:
            rows += [
                [topology, "HYBRID-HOP", ties, *_load_cells(found, topology, f"hop-{{}}-ties-{ties}")]
                for ties in OTHER_TIES
            ]
        rows.append([topology, "HYBRID-HOP", "range", *_range_cells(found, topology, "hop")])
    rows += [
        [NSFNET_V2, "HYBRID-HOP", "a fitting order", *(f"{load:.3f}" for load in loads)]
        for loads in found.fits.loads[:1]
    ]
    rows += [
        ["published", "HYBRID-DELAY", "", *published["delay"]],
        [
            "an earlier program of ours, links as nsfnet",
            "HYBRID-DELAY",
            "",
            *("1.04", "1.04", "1.14", "1.14", "1.24", "1.24"),
        ],
    ]
    for topology in LOAD_TOPOLOGIES:
        rows.append([topology, "HYBRID-DELAY", "hops, then links", *_load_cells(found, topology, "delay-{}")])
        rows.append([topology, "HYBRID-DELAY", "range", *_range_cells(found, topology, "delay")])
    return Table(
        "loads",
        "Figures 12 and 13, other readings",
        "Worst-case loads by links and by the order of equally short paths. Ranges are over random ties. At X = 100 their upper end is exact.",
        ["links", "heuristic", "ties", *(f"X = {percent}" for percent in X)],
        rows,
    )


def _load_cells(found: Found, topology: str, pattern: str) -> Sequence[str]:
    return [f"{found.load(pattern.format(percent), topology):.3f}" for percent in X]


def _range_cells(found: Found, topology: str, heuristic: str) -> Sequence[str]:
    return ["{:.2f} to {:.2f}".format(*found.load_range(f"{heuristic}-{percent}", topology)) for percent in X]


def _optima_table(found: Found) -> Table:
    """Throughput of three optima of the same program at X = 0."""
    rows = []
    for heuristic in HEURISTICS:
        for optimum in OPTIMA:
            name = f"{heuristic}-0-{optimum}"
            rows.append(
                [
                    TITLES[heuristic],
                    optimum,
                    f"{found.load(name):.3f}",
                    str(found.single(name)),
                    with_interval(*found.rate(name)),
                ]
            )
    return Table(
        "optima",
        "A finding of ours: which optimum",
        "The least worst-case load leaves the fractions of most pairs free. Three optima at X = 0 have the same load, and throughputs that differ more than "
        "anything that the paper varies: interior point, simplex, and the fewest split pairs.",
        ["heuristic", "optimum", "load", "of 182 pairs on single paths", "Mbit/s"],
        rows,
    )


def _reading_table(lab: Lab, found: Found) -> Table:
    names = compared(lab)
    readings = {
        "as in the figures": "",
        **{f"sender: {stack}": stack for stack in OTHER_STACKS},
        "queues of 100 packets": "queue",
        **{f"hosts of their own, access {access}": f"hosts {access}" for access in HOST_ACCESSES},
    }
    rows = [
        [title, *(with_interval(*found.rate(name, reading=reading)) for name in names)]
        for title, reading in readings.items()
    ]
    rows.append(["links: nsfnet-1050", *(with_interval(*found.rate(name, TOPOLOGIES[1])) for name in names)])
    for optimum in OPTIMA:
        cells = [
            with_interval(*found.rate(f"{name}-{optimum}")) if found.measured(f"{name}-{optimum}") else ""
            for name in names
        ]
        rows.append([f"splits: {optimum}", *cells])
    return Table(
        "throughputs",
        "Figures 14 and 15, other readings",
        "Mean TCP throughput in Mbit/s. Splits: other optima of the same least load.",
        ["reading", *names],
        rows,
    )
