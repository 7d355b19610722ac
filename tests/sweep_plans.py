"""A small scenario and plans of it that several tests share."""

from collections.abc import Sequence
from pathlib import Path

from anabranch.studies.sweep import Sweep

SCENARIO = """\
title = "Two stacks over a link that loses"
topology.links = [{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }]
impairments = [{ link = ["A", "B"], one_way = true, loss = 0.01 }]
traffic = [{ from = "A", to = "B", bulk = true, stack = "newreno" }]
run.duration = "300ms"
"""
PLAN = """\
scenario = "scenario.toml"
seeds = {seeds}
engines = {engines}
links = {links}

[treatments]
"traffic[0].stack" = {stacks}

[conditions]
"impairments[0].loss" = {losses}
{more}
"""


def plan(
    folder: Path,
    *,
    seeds: int = 2,
    engines: Sequence[str] = ("packet",),
    links: bool = False,
    stacks: Sequence[str] = ("newreno", "cubic"),
    losses: object = (0.01, 0.02, 0.03),
    more: str = "",
    name: str = "plan",
) -> Path:
    """Write the scenario and a plan; the plan's path."""
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    losses = list(losses) if isinstance(losses, tuple) else losses
    text = PLAN.format(
        seeds=seeds,
        engines=list(engines),
        links=str(links).lower(),
        stacks=list(stacks),
        losses=losses,
        more=more,
    )
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def sweep(folder: Path, **values: object) -> Sweep:
    """The sweep of such a plan."""
    return Sweep.load(plan(folder, **values))  # type: ignore[arg-type]
