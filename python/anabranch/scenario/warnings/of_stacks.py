"""Stacks whose keys do not work together."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch import units
from anabranch.scenario.problems import MISSING, Problem

if TYPE_CHECKING:
    from anabranch.scenario import Case


def stacks(case: "Case") -> Iterator[Problem]:
    """Warnings about the stacks that traffic uses."""
    variant = case.variant
    used = {variant.stack_of(entry) for entry in variant.traffic if entry.transport == "tcp"}
    for name, stack in variant.stacks.items():
        if name not in used:
            continue
        if "min_rto" in stack.model_fields_set and units.duration(stack.min_rto) < units.duration(
            stack.rto_granularity
        ):
            message = (
                f'has no effect: a timeout exceeds SRTT by rto_granularity "{stack.rto_granularity}" at least '
                f'(RFC 6298 section 2.3); give rto_granularity = "{stack.min_rto}" as well'
            )
            yield Problem(("stacks", name, "min_rto"), message, stack.min_rto)
        if stack.congestion.name == "dctcp" and not stack.ecn:
            message = 'is DCTCP without ECN, which no queue marks; give ecn = true and ecn_echo = "exact"'
            yield Problem(("stacks", name), message, MISSING)
