"""What is run. The scenarios say how many seeds the full version draws; the quick one draws three of most."""

from collections.abc import Sequence

from anabranch.papers.study import Experiment, Lab

SELECTORS = (
    "ecmp",
    "ecmp-in-turn",
    "disjoint",
    "disjoint-acks-in-turn",
    "disjoint-acks-on-one-path",
    "disjoint-in-turn-acks-at-random",
    "disjoint-in-turn",
)
"""How next hops or paths are chosen for data, and for ACKs where that differs: the routings of the backbones' scenarios."""
ERROR_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
QUICK_ERROR_RATES = (1e-4, 1e-3, 1e-2)
ONE_AND_DISJOINT = ("ospf", "disjoint")
QUEUES = (
    '[{ discipline = "drop-tail", limit = "20 packets" }, { discipline = "drop-tail", limit = "50 packets" }, "codel"]'
)
QUICK_SEEDS = {"two-applications": "10", "three-applications": "10"}
"""Shares in a few seconds differ from seed to seed."""


def experiments(lab: Lab) -> list[Experiment]:
    """All of them. Without settings of its own an experiment is the scenario file of its name as it stands."""
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


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
