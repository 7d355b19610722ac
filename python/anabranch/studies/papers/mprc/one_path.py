"""Figures 2.3, 5.3 and 5.4: on a single path every stack fills the link at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from anabranch.studies.papers import statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import pictures
from anabranch.studies.papers.mprc.measure import (
    FULL,
    STACKS,
    STEADY,
    goodput,
    over_time,
    payload,
    reached,
    short,
    verdict,
)
from anabranch.studies.papers.mprc.places import ABILENE, ATT, GRID, Place
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, drawn

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

WITHIN_S = 1.0
STEP_S = 0.1
"""Interval of the time series."""


def findings(results: Mapping[str, Result]) -> Findings:
    """The findings on each network, and on the stack that is first to reach the path's bandwidth."""
    claims, numbers, times = [], [], {}
    for place in (GRID, ABILENE, ATT):
        rates, fast = _rates(results[place.key]), _reached(results[place.key])
        claims.append(_claim(place, rates, fast))
        numbers += [Number(f"{place.key}-ospf-{short(stack)}", *rates[stack], where=place.one_path, unit="Mbit/s",
                           what=f"{name} on {place.name}, one path") for stack, name in STACKS.items()]  # fmt: skip
        slowest = max(fast.values())
        value = slowest.value if isfinite(slowest.value) else None
        numbers.append(Number(f"{place.key}-ospf-reached", value, slowest.half_width, where=place.one_path, unit="s",
                              what=f"until the last stack has the link of {place.name}"))  # fmt: skip
        times[place.key] = fast
    return Findings([*claims, _first(times)], numbers, drawn(FIGURES, results))


def _figure(place: Place, id: str) -> Figure:
    caption = f"{place.name[0].upper()}{place.name[1:]}, one path: means over seeds, second by second."
    return Figure(
        id,
        place.one_path,
        caption,
        lambda results: pictures.over_time(_of_one_path(over_time(results[place.key], pictures.BIN_S))),
    )


FIGURES = (_figure(GRID, "figure-2-3"), _figure(ABILENE, "figure-5-3"), _figure(ATT, "figure-5-4"))


def _of_one_path(table: pl.DataFrame) -> pl.DataFrame:
    """The rows with a single path and without errors."""
    one_path = table.filter(pl.col("routing") == "ospf")
    return one_path.filter(pl.col("loss") == 0) if "loss" in table.columns else one_path


def _rates(result: Result) -> dict[str, Mean]:
    by = ["stack", "routing", "loss"] if "loss" in result.keys else ["stack", "routing"]
    return {group[0]: mean for group, mean in goodput(result, by).items() if group[1] == "ospf" and not any(group[2:])}


def _reached(result: Result) -> dict[str, Mean]:
    return reached(_of_one_path(over_time(result, STEP_S)), ["stack"], STEADY * payload(1))


def _claim(place: Place, rates: Mapping[str, Mean], fast: Mapping[str, Mean]) -> Claim:
    full = [rates[stack].value >= FULL * payload(1) and fast[stack].value <= WITHIN_S for stack in STACKS]
    return _CLAIMS.claim(
        f"{place.key}-one-path",
        verdict(*full),
        rates="; ".join(
            f"{name} {rates[stack]} Mbit/s after {_seconds(fast[stack])}" for stack, name in STACKS.items()
        ),
        payload=payload(1),
    )


def _seconds(time: Mean) -> str:
    return f"{time} s" if isfinite(time.value) else "more than the run"


def _first(times: Mapping[str, Mapping[str, Mean]]) -> Claim:
    places = (ABILENE, ATT)
    ahead = [
        all(times[place.key]["cubic"].value < times[place.key][stack].value for stack in STACKS if stack != "cubic")
        for place in places
    ]
    found = verdict(*ahead)
    return _CLAIMS.claim(
        "cubic-first",
        found,
        times=" ".join(
            f"{place.name}: {', '.join(f'{name} {_seconds(times[place.key][stack])}' for stack, name in STACKS.items())}."
            for place in places
        ),
    )
