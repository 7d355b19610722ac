"""Keys of the topology without effect."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch import units
from anabranch.scenario.network import Queue
from anabranch.scenario.problems import Problem
from anabranch.toml_text import Path

if TYPE_CHECKING:
    from anabranch.scenario import Case


def unused_defaults(case: "Case") -> Iterator[Problem]:
    """``capacity`` and ``delay`` are for links without their own."""
    section = case.variant.topology
    for key, attribute in (("capacity", "capacity_bps"), ("delay", "delay_s")):
        all_have = all(getattr(link, attribute) is not None for link in case.topology.links)
        if key in section.model_fields_set and all_have:
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
