"""Keys of the topology that no link takes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch.scenario.problems import Problem

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
