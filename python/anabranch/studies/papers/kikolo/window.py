"""Figure 2: the congestion window of one flow, with Kikolo and with NewReno."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from anabranch.pages.report.chart import PALETTE
from anabranch.results.result import Result
from anabranch.studies.papers import measures, statements
from anabranch.studies.papers.kikolo.cells import Cell
from anabranch.studies.papers.study import Claim, Number
from anabranch.studies.papers.verdicts import above, graded

_CLAIMS = statements.beside(__file__)

SHOWN_S = 60.0
NAMES = {
    "kikolo": "Kikolo",
    "newreno": "NewReno",
    "wide": "Kikolo, gamma 0.995",
    "wide-half": "Kikolo, gamma 0.995, ssthresh half",
}
GAMMA = {"kikolo": 0.005, "wide": 0.995, "wide-half": 0.995}
WARM_UP_S = 20.0


def series(result: Result) -> pl.DataFrame:
    """The samples, with the stack and the seed."""
    runs = result.flows.select("run", "seed", "stack")
    return result.series_flows.join(runs, on="run", maintain_order="left")


def ramp_up_share(samples: pl.DataFrame, stack: str) -> Cell:
    """Percentage of the samples after the warm-up in which the window is in the ramp-up region of Table I."""
    steady = samples.filter((pl.col("stack") == stack) & (pl.col("time_s") > WARM_UP_S))
    inside = pl.col("cwnd_segments").is_between(
        pl.col("ssthresh_segments"), (1 + GAMMA[stack]) * pl.col("ssthresh_segments"), closed="left"
    )
    shares = steady.group_by("seed", maintain_order=True).agg(share=inside.mean())["share"]
    return Cell(*measures.over_seeds([100 * share for share in shares]))


def mean_window(samples: pl.DataFrame, stack: str) -> Cell:
    """Mean window after the warm-up, segments."""
    steady = samples.filter((pl.col("stack") == stack) & (pl.col("time_s") > WARM_UP_S))
    means = steady.group_by("seed", maintain_order=True).agg(pl.col("cwnd_segments").mean())["cwnd_segments"]
    return Cell(*measures.over_seeds(means.to_list()))


def share(result: Result, stack: str) -> Cell:
    """Payload in percent of what the link can carry."""
    goodput = result.flows.filter(pl.col("stack") == stack)["goodput_bps"].to_list()
    return Cell(*measures.over_seeds([100 * value / (10e6 * 1460 / 1500) for value in goodput]))


def claim(result: Result) -> Claim:
    """The claim that the window has the phases that the figure highlights."""
    samples = series(result)
    ramp, wide = ramp_up_share(samples, "kikolo"), ramp_up_share(samples, "wide")
    kikolo, newreno = mean_window(samples, "kikolo"), mean_window(samples, "newreno")
    return _CLAIMS.claim(
        "figure-2",
        graded(above(ramp.estimate, 5.0), True),
        kikolo=kikolo.text(),
        newreno=newreno.text(),
        kikolo_share=share(result, "kikolo").text(),
        newreno_share=share(result, "newreno").text(),
        ramp=ramp.text(),
        wide=wide.text(),
    )


def numbers(result: Result) -> list[Number]:
    """Mean windows and shares of the link."""
    samples = series(result)
    made = []
    for stack in ("kikolo", "newreno"):
        window, part = mean_window(samples, stack), share(result, stack)
        made += [
            Number(
                f"figure-2-window-{stack}", window.mean, window.half_width,
                what=f"{NAMES[stack]}: mean window", unit="segments", where="Figure 2",
            ),
            Number(
                f"figure-2-share-{stack}", part.mean, part.half_width,
                what=f"{NAMES[stack]}: payload of the link", unit="%", where="Figure 2",
            ),
        ]  # fmt: skip
    return made


def chart(result: Result) -> Any:
    """The figure for the first seed: Kikolo and NewReno above, then Kikolo by phase, then Kikolo with a wide ramp-up."""
    samples = series(result)
    one = samples.filter((pl.col("seed") == samples["seed"].min()) & (pl.col("time_s") <= SHOWN_S))
    panels: list[Any] = []
    for shown in (("kikolo", "newreno"), ("kikolo", "wide", "wide-half")):
        rows = one.filter(pl.col("stack").is_in(shown)).with_columns(variant=pl.col("stack").replace(NAMES))
        data = alt.InlineData(values=rows.select("time_s", "variant", "cwnd_segments").to_dicts())
        names = [NAMES[stack] for stack in shown]
        colours = [PALETTE[list(NAMES).index(stack)] for stack in shown]
        scale = alt.Scale(domain=names, range=colours)
        axes = alt.X("time_s:Q", title="Time, s"), alt.Y("cwnd_segments:Q", title="Window, segments")
        colour = alt.Color("variant:N", scale=scale, sort=names, legend=alt.Legend(title=None))
        panels.append(alt.Chart(data, width=760, height=200).mark_line(strokeWidth=1.3).encode(*axes, colour))
    panels.insert(1, _phases(one))
    return alt.vconcat(*panels).resolve_scale(color="independent", y="shared")


PHASES = ("slow start", "ramp-up", "coarse", "refined")
AFTER_A_LOSS = 0.75
"""The share of its window that Kikolo keeps at a loss."""


def phase() -> pl.Expr:
    """Kikolo's phase in a sample (Table I): by its window, the threshold, and the window of the last loss, which the threshold follows."""
    window, threshold = pl.col("cwnd_segments"), pl.col("ssthresh_segments")
    return (
        pl.when(threshold.is_null() | (window < threshold))
        .then(pl.lit(PHASES[0]))
        .when(window < (1 + GAMMA["kikolo"]) * threshold)
        .then(pl.lit(PHASES[1]))
        .when(window < threshold / AFTER_A_LOSS)
        .then(pl.lit(PHASES[2]))
        .otherwise(pl.lit(PHASES[3]))
    )


def _phases(samples: pl.DataFrame) -> Any:
    """Kikolo's window, each sample in the colour of its phase."""
    rows = samples.filter(pl.col("stack") == "kikolo").with_columns(phase=phase())
    data = alt.InlineData(values=rows.select("time_s", "phase", "cwnd_segments").to_dicts())
    scale = alt.Scale(domain=PHASES, range=[PALETTE[place] for place in (3, 1, 0, 2)])
    return (
        alt.Chart(data, width=760, height=200)
        .mark_circle(size=12, opacity=1)
        .encode(
            alt.X("time_s:Q", title="Time, s"),
            alt.Y("cwnd_segments:Q", title="Window, segments"),
            alt.Color("phase:N", scale=scale, sort=PHASES, legend=alt.Legend(title="Kikolo's phase")),
        )
    )
