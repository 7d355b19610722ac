"""Warnings about valid values that may be mistakes: a rule for each trap, with the place and the remedy.

:mod:`anabranch.compile.warnings` has the rules that need routes.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.scenario import groups
from anabranch.scenario.collectives import ALL_REDUCE
from anabranch.scenario.problems import Problem
from anabranch.scenario.warnings.of_network import (
    great_losses,
    idle_events,
    replaced_impairments,
    unreached_thresholds,
    unused_defaults,
)
from anabranch.scenario.warnings.of_stacks import stacks
from anabranch.scenario.warnings.of_traffic import late_flows, small_demands

if TYPE_CHECKING:
    from anabranch.scenario import Case


def of(case: "Case") -> Iterator[Problem]:
    """All warnings about one variant."""
    for rule in RULES:
        yield from rule(case)


def _topology(case: "Case") -> Iterator[Problem]:
    """The changes that the loader made."""
    for warning in case.topology.warnings:
        yield Problem(("topology",), warning)


def _no_samples(case: "Case") -> Iterator[Problem]:
    """Time series without a row, and routes that wait for a measurement until the end."""
    run = case.variant.run
    if run.sample is not None and units.duration(run.sample) > units.duration(run.duration):
        message = f'has no effect: the run ends before the first sample (duration "{run.duration}"); give a shorter one'
        yield Problem(("run", "sample"), message, run.sample)
    for name, routing in case.variant.routing.items():
        for key in ("sample", "recompute") if routing.link_state is not None else ():
            value = getattr(routing.link_state, key)
            if units.duration(value) > units.duration(run.duration) and (key == "sample" or routing.reconverge is None):
                message = (
                    f'is longer than the run ("{run.duration}"), so routes follow no measurement; give a shorter one'
                )
                yield Problem(("routing", name, "link_state", key), message, value)


def _forwarding_nodes(case: "Case") -> Iterator[Problem]:
    """Traffic between all nodes of a network in which most nodes only forward."""
    if case.topology.name not in _WITH_HOSTS:
        return
    names = case.names
    hosts = set(names.hosts)
    others = [node for node in names.nodes if node not in hosts]
    for index, entry in enumerate(case.variant.traffic):
        if entry.trace is not None or entry.matrix is not None:  # these name the nodes themselves
            continue
        for key, end in (("from", entry.from_), ("to", entry.to)):
            if end == groups.ALL and not (key == "to" and entry.pattern in ALL_REDUCE):  # which has no "to"
                message = f'includes {len(others)} nodes that only forward, such as {others[0]}; "hosts" are the other {len(hosts)}'
                yield Problem(("traffic", index, key), message, end)


_WITH_HOSTS = ("dumbbell", "parallel", "fat-tree", "leaf-spine", "dragonfly")
"""The topologies whose nodes are either hosts or switches."""

RULES: tuple[Callable[["Case"], Iterator[Problem]], ...] = (
    _topology,
    unused_defaults,
    unreached_thresholds,
    replaced_impairments,
    idle_events,
    great_losses,
    _no_samples,
    _forwarding_nodes,
    late_flows,
    small_demands,
    stacks,
)
