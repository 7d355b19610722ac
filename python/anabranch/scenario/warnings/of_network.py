"""Keys of the topology, impairments and events without effect."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.foundation import units
from anabranch.foundation.toml_text import Path
from anabranch.scenario.network import LossModel, Queue
from anabranch.scenario.problems import Problem

if TYPE_CHECKING:
    from anabranch.scenario import Case

GREAT_LOSS = 0.5


def unused_defaults(case: "Case") -> Iterator[Problem]:
    """``capacity`` and ``delay`` are for links without their own."""
    section = case.variant.topology
    for key, attribute in (("capacity", "capacity_bps"), ("delay", "delay_s")):
        if key in section.model_fields_set and all(
            getattr(link, attribute) is not None for link in case.topology.links
        ):
            message = f"has no effect: every link has a {key} of its own; topology.override changes it"
            yield Problem(("topology", key), message, getattr(section, key))


def unreached_thresholds(case: "Case") -> Iterator[Problem]:
    """``mark`` and ``minimum`` that a queue never reaches, because its limit is not greater."""
    section = case.variant.topology
    overrides = enumerate(section.override)
    queues: list[tuple[Path, Queue]] = [(("queue",), section.queue)]
    queues += [(("override", index, "queue"), one.queue) for index, one in overrides if one.queue]
    for path, queue in queues:
        limit = units.queue_limit(queue.limit)
        for key in ("mark", "minimum"):
            threshold = getattr(queue, key, None)
            if threshold is not None and limit.unit == "packets" and threshold >= limit.amount:
                message = f'is never reached by a queue of "{queue.limit}", which acts as drop-tail; give less, or a greater limit'
                yield Problem(("topology", *path, key), message, threshold)


def replaced_impairments(case: "Case") -> Iterator[Problem]:
    """Impairments whose links have all a later one, which holds."""
    names, later = case.names, set[int]()
    for index, one in reversed([*enumerate(case.variant.impairments)]):
        own = set(names.links_between(one.link, one.one_way))
        if own <= later:
            yield Problem(("impairments", index), "has no effect: later ones name all of its links; leave it out")
        later |= own


def great_losses(case: "Case") -> Iterator[Problem]:
    """Losses of half of all packets or more, such as a number that was meant as per cent."""
    events = enumerate(case.variant.events)
    losses: list[tuple[Path, float | LossModel]] = [
        *((("impairments", index), one.loss) for index, one in enumerate(case.variant.impairments)),
        *((("events", index, "impair"), one.impair.loss) for index, one in events if one.impair is not None),
    ]
    for path, loss in losses:
        share = loss if isinstance(loss, float | int) else _core.stationary_loss(json.dumps(loss.compiled()))
        if share >= GREAT_LOSS:
            remedy = f'; if {loss:g} % is meant, give "{loss:g}%"' if isinstance(loss, float | int) else ""
            message = f"is a loss of {100 * share:g} % of all packets, with which TCP hardly sends anything{remedy}"
            yield Problem((*path, "loss"), message, loss if isinstance(loss, float | int) else loss.model_dump())


def idle_events(case: "Case") -> Iterator[Problem]:
    """Failures of links that are down, and repairs of links that are up."""
    names, down = case.names, set[int]()
    for index, event in sorted(enumerate(case.variant.events), key=lambda one: units.duration(one[1].at)):
        if event.fail is not None:
            failed = set(names.links_between(event.fail, event.one_way))
            if failed <= down:
                yield Problem(("events", index, "fail"), "has no effect: this link is down already", event.fail)
            down |= failed
        elif event.repair is not None:
            repaired = set(names.links_between(event.repair, event.one_way))
            if not repaired & down:
                yield Problem(
                    ("events", index, "repair"), "has no effect: no event before fails this link", event.repair
                )
            down -= repaired
