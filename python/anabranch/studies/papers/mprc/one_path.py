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
    least_second,
    over_time,
    payload,
    reached,
    short,
)
from anabranch.studies.papers.mprc.places import ABILENE, ATT, GRID, Place
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, drawn
from anabranch.studies.papers.verdicts import Truth, above, below, by_parts, difference, every

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
        seconds = _of_one_path(over_time(results[place.key], 1.0))
        claims.append(_claim(place, rates, fast, least_second(seconds, ["stack"], WITHIN_S)))
        numbers += [Number(f"{place.key}-ospf-{short(stack)}", *rates[stack], where=place.one_path, unit="Mbit/s",
                           what=f"{name} on {place.name}, one path") for stack, name in STACKS.items()]  # fmt: skip
        slowest = max(fast.values())
        value = slowest.value if isfinite(slowest.value) else None
        numbers.append(Number(f"{place.key}-ospf-reached", value, slowest.half_width, where=place.one_path, unit="s",
                              what=f"until the last stack has the link of {place.name}"))  # fmt: skip
        times[place.key] = fast
    return Findings([*claims, _first(times)], numbers, drawn(FIGURES, results))


def _figure(place: Place, id: str) -> Figure:
    caption = f"{place.name[0].upper()}{place.name[1:]}, one path: means over seeds, second by second; thin lines are one seed."
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


def _claim(place: Place, rates: Mapping[str, Mean], fast: Mapping[str, Mean], least: Mapping[str, Mean]) -> Claim:
    full = [
        every(
            above(rates[stack], FULL * payload(1)),
            below(fast[stack], WITHIN_S),
            above(least[stack], STEADY * payload(1)),
        )
        for stack in STACKS
    ]
    return _CLAIMS.claim(
        f"{place.key}-one-path",
        by_parts(*full),
        rates="; ".join(
            f"{name} {rates[stack]} Mbit/s after {_seconds(fast[stack])}" for stack, name in STACKS.items()
        ),
        least=", ".join(f"{name} {least[stack]}" for stack, name in STACKS.items()),
        payload=payload(1),
    )


def _seconds(time: Mean) -> str:
    return f"{time} s" if isfinite(time.value) else "more than the run"


def _sooner(one: Mean, other: Mean) -> Truth:
    """Whether one time is less than the other: undecided if they are less than a step of the series apart."""
    lead = difference(other.values, one.values)
    return above(lead, 0.0) if abs(lead.value) >= STEP_S else None


def _first(times: Mapping[str, Mapping[str, Mean]]) -> Claim:
    places = (ABILENE, ATT)
    ahead = [
        _sooner(times[place.key]["cubic"], times[place.key][stack])
        for place in places
        for stack in STACKS
        if stack != "cubic"
    ]
    found = by_parts(*ahead)
    return _CLAIMS.claim(
        "cubic-first",
        found,
        times=" ".join(
            f"{place.name}: {', '.join(f'{name} {_seconds(times[place.key][stack])}' for stack, name in STACKS.items())}."
            for place in places
        ),
    )
