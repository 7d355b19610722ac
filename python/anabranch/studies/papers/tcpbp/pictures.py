"""Figure 2, the tables as pictures, and pictures of topics that the paper leaves for later."""

from math import cos, pi, sin
from typing import Any

import altair as alt
import polars as pl

from anabranch.pages.report.chart import PALETTE
from anabranch.studies.papers import charts
from anabranch.studies.papers.measures import over_seeds
from anabranch.studies.papers.study import Figure
from anabranch.studies.papers.tcpbp import asymmetry, law, networks, running_times
from anabranch.studies.papers.tcpbp.evidence import METRICS, OTHERS, Evidence
from anabranch.studies.papers.tcpbp.networks import TCPBP
from anabranch.studies.papers.tcpbp.throughput import FLOWS

_LOG = alt.Scale(type="log", nice=False)


def _powers(least: int, greatest: int) -> alt.Axis:
    return alt.Axis(values=[10.0**power for power in range(least, greatest + 1)], format="~g")


def _bounded(name: str, value: float, half_width: float | None) -> dict[str, float]:
    """A value and its interval. The lower end is at least half of the value, because an axis of powers of ten has no 0."""
    low = value - (half_width or 0.0)
    return {name: value, "low": max(low, 0.5 * value), "high": value + (half_width or 0.0)}


def _data(rows: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _topology(evidence: Evidence) -> Any:
    names = [node.name for node in evidence.bed.topology.nodes]
    places = {
        name: (sin(2 * pi * place / len(names)), cos(2 * pi * place / len(names))) for place, name in enumerate(names)
    }
    links = {(link.source, link.target): link for link in evidence.bed.topology.links}
    lines = [
        {
            "x": places[one][0], "y": places[one][1], "x2": places[other][0], "y2": places[other][1],
            "delay": 1e3 * (links[one, other].delay_s or 0), "loss": 100 * (links[one, other].loss or 0),
        }
        for one, other in networks.cables(evidence.bed.topology)
    ]  # fmt: skip
    nodes = [{"x": x, "y": y, "name": name} for name, (x, y) in places.items()]
    x, y = (alt.X("x:Q", axis=None, scale=alt.Scale(padding=20)), alt.Y("y:Q", axis=None, scale=alt.Scale(padding=20)))
    colour = alt.Color("loss:Q", title="loss, %", scale=alt.Scale(scheme="goldred"))
    width = alt.Size("delay:Q", legend=None, scale=alt.Scale(range=[1, 6]))
    base = alt.Chart(_data(nodes)).encode(x=x, y=y)
    chart = alt.layer(
        alt.Chart(_data(lines)).mark_rule().encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=colour, size=width),
        base.mark_circle(size=420, color="#334155", opacity=1),
        base.mark_text(color="white", fontWeight="bold").encode(text="name:N"),
    ).properties(width=360, height=340)
    return chart


def _gains(evidence: Evidence) -> Any:
    rows, published = [], []
    for label in OTHERS:
        for flows in FLOWS:
            mean, half = evidence.gains[label, flows].on_differing
            rows.append({"flows": str(flows), "other": f"over {label}", "mean": mean, "half_width": half})
            paper = evidence.published(f"dr-{label}-{flows}")
            published.append({"flows": str(flows), "other": f"over {label}", "mean": paper})
    chart = charts.bars(
        _frame(rows),
        x="flows",
        colour="other",
        x_title="parallel flows",
        y_title="mean throughput ratio",
        x_order=[str(flows) for flows in FLOWS],
        published=pl.DataFrame(published),
    )
    return chart


def _pairs(evidence: Evidence) -> Any:
    value, chosen, rates = networks.law(evidence.bed.topology), evidence.bed.chosen, evidence.rates
    rows: list[dict[str, Any]] = []
    for label, metric in OTHERS.items():
        for pair in evidence.bed.pairs:
            ours, other = chosen[TCPBP][pair], chosen[metric][pair]
            if ours != other:
                ratios = [rates.bps(ours, FLOWS[0], seed) / rates.bps(other, FLOWS[0], seed) for seed in rates.seeds]
                row = {"pair": "-".join(pair), "over": label, "law": value(ours) / value(other)}
                rows.append(row | _bounded("measured", *over_seeds(ratios)))
    laws = [float(row["law"]) for row in rows]
    ends = [min(laws), max(laws)]
    scale = alt.Scale(type="log", nice=False)
    x = alt.X("law:Q", title="ratio by 1 / (RTT sqrt(p))", scale=scale)
    y = alt.Y("measured:Q", title="ratio measured", scale=scale)
    base = alt.Chart(_data(rows)).encode(x=x, y=y)
    chart = alt.layer(
        alt.Chart(_data([{"law": end, "measured": end} for end in ends]))
        .mark_line(strokeDash=[4, 4], color="#999")
        .encode(x=x, y=y),
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=45).encode(
            color=alt.Color("over:N", title="TCPBP over", scale=alt.Scale(domain=list(OTHERS), range=PALETTE[:2]))
        ),
        base.mark_text(dx=4, dy=-7, fontSize=9).encode(text="pair:N"),
    ).properties(width=charts.WIDTH, height=charts.WIDTH - 40)
    return chart


def _fairness(evidence: Evidence) -> Any:
    rows, published = [], []
    for label in METRICS:
        for flows in FLOWS:
            mean, half = evidence.jain[label, flows]
            rows.append({"flows": str(flows), "metric": label, "mean": mean, "half_width": half})
            published.append(
                {"flows": str(flows), "metric": label, "mean": evidence.published(f"jain-{label}-{flows}")}
            )
    chart = charts.bars(
        _frame(rows),
        x="flows",
        colour="metric",
        x_title="parallel flows",
        y_title="Jain's index",
        x_order=[str(flows) for flows in FLOWS],
        published=pl.DataFrame(published),
    )
    return chart


def _times(evidence: Evidence) -> Any:
    rows = [
        {"nodes": int(size), "way": way, "seconds": seconds, "kind": "ours"}
        for way in running_times.WAYS
        for size, seconds in evidence.timings[way].items()
    ]
    paper = {"standard": running_times.ARRAY_STANDARD, "modified": running_times.ARRAY_MODIFIED}
    crosses = [
        {"nodes": size, "way": way, "seconds": evidence.published(f"time-{kind}-{size}")}
        for kind, way in paper.items()
        for size in (10, 25, 50, 100)
    ]
    x = alt.X("nodes:Q", title="nodes", scale=_LOG, axis=alt.Axis(values=list(running_times.SIZES), format="~s"))
    y = alt.Y("seconds:Q", title="CPU s for all routes", scale=_LOG, axis=_powers(-5, 4))
    colour = alt.Color("way:N", title=None, scale=alt.Scale(domain=list(running_times.WAYS), range=PALETTE[:5]))
    base = alt.Chart(_data(rows)).encode(x=x, y=y, color=colour)
    chart = alt.layer(
        base.mark_line(),
        base.mark_point(filled=True),
        alt.Chart(_data(crosses)).mark_point(shape="cross", size=70, strokeWidth=2).encode(x=x, y=y, color=colour),
    ).properties(width=charts.WIDTH, height=charts.HEIGHT)
    return chart


def _law(evidence: Evidence) -> Any:
    table = evidence.sweep.filter(pl.col("stack") == law.CUBIC).with_columns(
        rtt=pl.col("delay").str.strip_suffix("ms").cast(pl.Float64) * 2
    )
    rows = [
        {"loss": row["loss"], "rtt": f"{row['rtt']:g} ms", "kind": label}
        | _bounded("mbps", row[kind], row["half_width"] if kind == "mean" else None)
        for row in table.to_dicts()
        for kind, label in (("mean", "measured"), ("mathis", "1 / (RTT sqrt(p))"), ("cubic", "RFC 9438"))
    ]
    order = [f"{value:g} ms" for value in table["rtt"].unique(maintain_order=True)]
    x = alt.X("loss:Q", title="ratio of packets lost", scale=_LOG, axis=_powers(-5, -1))
    y = alt.Y("mbps:Q", title="Mbit/s", scale=_LOG, axis=_powers(-1, 3))
    base = alt.Chart(_data(rows)).encode(
        x=x,
        y=y,
        color=alt.Color("rtt:N", title="RTT", sort=order, scale=alt.Scale(domain=order, range=PALETTE[: len(order)])),
    )
    measured = base.transform_filter("datum.kind === 'measured'")
    dashes = alt.StrokeDash(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["measured", "1 / (RTT sqrt(p))", "RFC 9438"], range=[[1, 0], [6, 4], [2, 3]]),
    )
    chart = alt.layer(
        base.mark_line().encode(strokeDash=dashes),
        measured.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title="Mbit/s", scale=_LOG), y2="high:Q"),
        measured.mark_point(filled=True),
    ).properties(width=charts.WIDTH, height=charts.HEIGHT)
    return chart


def _asymmetry(evidence: Evidence) -> Any:
    rows = []
    for (shape, kind), found in evidence.asymmetry.items():
        short = shape.rpartition("/")[2]
        rows.append(
            {
                "shape": short,
                "kind": f"{kind}, by the law",
                "mean": found["differing"][0],
                "half_width": found["differing"][1],
            }
        )
        if (shape, kind) in evidence.asymmetry_measured:
            mean, half = evidence.asymmetry_measured[shape, kind]
            rows.append({"shape": short, "kind": f"{kind}, measured", "mean": mean, "half_width": half})
    chart = charts.bars(
        _frame(rows),
        x="shape",
        colour="kind",
        x_title="network",
        y_title="TCPBP over delay, differing pairs",
        x_order=[shape.rpartition("/")[2] for shape in asymmetry.shapes(evidence.lab)],
        order=[f"{kind}, {how}" for kind in asymmetry.KINDS for how in ("by the law", "measured")],
    )
    return chart


def _hysteresis(evidence: Evidence) -> Any:
    rows = [
        {
            "threshold": f"{float(row['hysteresis']):.0%}",
            "what": "changes a minute",
            "mean": row["steady"],
            "half_width": row["steady_half"],
        }
        for row in evidence.hysteresis.to_dicts()
    ]
    chart = charts.bars(
        _frame(rows),
        x="threshold",
        colour="what",
        x_title="threshold",
        y_title="changes of 90 routes a minute",
        x_order=[row["threshold"] for row in rows],
    )
    return chart


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema_overrides={"mean": pl.Float64, "half_width": pl.Float64})


FIGURES = (
    Figure(
        "figure-2",
        "Figure 2",
        "The testbed: ten nodes, 21 links of 1 Gbit/s; the thicker a line, the longer its delay (Figure 3), the redder, the more it loses (Figure 4).",
        _topology,
    ),
    Figure(
        "table-3",
        "Table 3",
        "Throughput of TCPBP's routes over that of other metrics' routes, where they differ; crosses are the paper's ratios.",
        _gains,
    ),
    Figure(
        "differing-pairs",
        "Table 3, pair by pair",
        "Ten flows: TCPBP's throughput over another metric's for each pair whose routes differ, by the law and measured. Below 1 TCPBP is worse.",
        _pairs,
    ),
    Figure(
        "table-5",
        "Table 5",
        "Fairness among the flows of a pair, averaged over all pairs; crosses are the paper's.",
        _fairness,
    ),
    Figure(
        "table-6",
        "Table 6, and on",
        "Time to find all routes by the number of nodes; crosses are the paper's MATLAB.",
        _times,
    ),
    Figure(
        "law",
        "Section 3",
        "One CUBIC flow over a lossy link of 1 Gbit/s. Its goodput falls more steeply than the law at long RTTs with few losses, and at any RTT with many losses.",
        _law,
    ),
    Figure(
        "asymmetry",
        "Section 5.2, asymmetric networks",
        "TCPBP's gain over delay for pairs whose round trips differ, on links that are the same in both directions and on links that are not.",
        _asymmetry,
    ),
    Figure(
        "hysteresis",
        "Section 7, hysteresis",
        "Changes of measured routes in a network that does not change. The threshold says how much better another path must be.",
        _hysteresis,
    ),
)
"""In the order of the paper."""
