"""MPRC: congestion control that packet spraying does not disturb (Chang, University of Victoria, 2024).

The scenarios say how many seeds the full version draws; the quick one draws three of most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from anabranch.studies.papers.mprc import beside, comparisons, errors, fairness, later, map, one_path, sprayed
from anabranch.studies.papers.study import Claim, Experiment, Findings, Lab, Number, Picture, Table

if TYPE_CHECKING:
    from anabranch.results.result import Result

SELECTORS = (
    "ecmp",
    "ecmp-in-turn",
    "disjoint",
    "disjoint-acks-in-turn",
    "disjoint-acks-on-one-path",
    "disjoint-in-turn-acks-at-random",
    "disjoint-in-turn",
)
"""The backbones' routings. Each selects next hops or paths for data, and some select differently for ACKs."""
ERROR_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
QUICK_ERROR_RATES = (1e-4, 1e-3, 1e-2)
ONE_AND_DISJOINT = ("ospf", "disjoint")
QUEUES = (
    '[{ discipline = "drop-tail", limit = "20 packets" }, { discipline = "drop-tail", limit = "50 packets" }, "codel"]'
)
QUICK_SEEDS = {"two-applications": "10", "three-applications": "10"}
"""The quick version's seeds where it needs more than three: shares in a few seconds differ from seed to seed."""


def experiments(lab: Lab) -> list[Experiment]:
    """All experiments. One without settings here is the unchanged scenario file of its name."""
    rates = QUICK_ERROR_RATES if lab.quick else ERROR_RATES
    settings = {
        "abilene-selectors": {"impairments[0].loss": "0.0", "traffic[0].routing": _list(SELECTORS)},
        "att-selectors": {"traffic[0].routing": _list([*SELECTORS, "disjoint-by-delay"])},
        "error-rates": {
            "impairments[0].loss": "[" + ", ".join(f"{rate:g}" for rate in rates) + "]",
            "traffic[0].routing": _list(ONE_AND_DISJOINT),
        },
        "short-transfers": {"traffic[0].size": "1 MB", "impairments[0].loss": "0.0", "run.warm_up": "0s"},
        "queues": {"topology.queue": QUEUES, "traffic[0].routing": _list(ONE_AND_DISJOINT)},
    }
    files = {
        "abilene-selectors": "abilene",
        "att-selectors": "att",
        "error-rates": "abilene",
        "queues": "abilene",
        "short-transfers": "comparisons",
    }
    names = (
        "grid",
        "abilene",
        "att",
        *settings,
        "readings",
        "two-applications",
        "three-applications",
        "competition",
        "background",
        "failures",
        "comparisons",
    )
    return [
        Experiment(
            name,
            lab.scenario(
                f"{files.get(name, name)}.toml",
                full=settings.get(name),
                quick=settings.get(name, {}) | {"run.seeds": QUICK_SEEDS.get(name, "3")},
            ),
        )
        for name in names
    ]


Found = TypeVar("Found", Claim, Number, Picture, Table)


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings of all parts, in the order of the thesis' figures. Findings that belong to no figure come last."""
    parts = [part.findings(results) for part in (one_path, map, sprayed, errors, fairness, beside, later, comparisons)]
    return Findings(
        in_order(claim for part in parts for claim in part.claims),
        in_order(number for part in parts for number in part.numbers),
        in_order(picture for part in parts for picture in part.pictures),
        [table for part in parts for table in part.tables],
    )


def in_order(found: Iterable[Found]) -> list[Found]:
    """The findings sorted by the last figure that ``where`` names."""

    def place(one: Found) -> tuple[int, int]:
        figures = re.findall(r"(\d+)\.(\d+)", one.where) if one.where.startswith("Figure") else []
        return (int(figures[-1][0]), int(figures[-1][1])) if figures else (9, 9)

    return sorted(found, key=place)


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
