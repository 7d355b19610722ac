"""Stacks whose keys do not work together."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.scenario.controls import ProgramControl
from anabranch.scenario.problems import MISSING, Problem
from anabranch.scenario.stacks import PRESETS, NamedCongestion, Stack

if TYPE_CHECKING:
    from anabranch.scenario import Case


_BBR = ("bbr", "bbr3", "linux-bbr")
_SCALABLE = ("prague", "dctcp", "linux-dctcp")
"""Controls whose window falls with the share of marks, as RFC 9331 section 4.3 requires of L4S."""


def _unused(name: str, stack: Stack) -> Iterator[Problem]:
    """Keys without effect beside the others, if the author and not a preset gave them."""
    control, preset = stack.congestion.name or "", PRESETS.get(stack.preset or "", {})
    reasons = {
        "slow_start": stack.slow_start.name != "classic"
        and (control.startswith("linux-") or control in _BBR or not isinstance(stack.congestion, NamedCongestion))
        and f"{control} has a slow start of its own",
        "pacing": stack.pacing and control in (*_BBR, "prague") and f"{control} always paces",
        "restart_after_idle": not stack.restart_after_idle
        and control in _BBR
        and f"{control} keeps its window however long it idles",
        "spurious": stack.spurious == "dsack" and not stack.sack and "without SACK there is no DSACK",
        "f_rto": stack.f_rto and stack.detection.name == "fast-rto" and "fast-rto never claims a timeout",
        "ecn_echo": stack.ecn_echo != "classic" and not stack.ecn and "no queue marks without ecn = true",
        "segmentation_offload": not stack.segmentation_offload
        and stack.follows != "linux"
        and 'only a stack with follows = "linux" sends several segments at once',
        "hz": stack.follows != "linux"
        and not isinstance(stack.congestion, ProgramControl)
        and 'only a stack with follows = "linux" and an eBPF program count in ticks',
    }
    for key, reason in reasons.items():
        if reason and key in stack.model_fields_set and key not in preset:
            yield Problem(("stacks", name, key), f"has no effect: {reason}; leave it out", stack.model_dump()[key])


def _early_timeout(name: str, stack: Stack) -> Iterator[Problem]:
    """The retransmission timer expires before the ACK of a lone segment is due."""
    timer = stack.ack.compiled().get("timer", 0)
    if stack.detection.name == "fast-rto":
        if timer:
            message = (
                "makes a lone segment wait for its ACK for longer than FastRTO may last, which has no lower bound, so that it is "
                'sent again; give ack = "immediate", as MPRC has it'
            )
            yield Problem(("stacks", name, "ack"), message, stack.ack.name)
        return
    if timer < units.duration(stack.min_rto):
        return
    if timer > units.duration(stack.rto_granularity):
        message = (
            f'makes a lone segment wait for its ACK for as long as min_rto "{stack.min_rto}" or longer, so that it is sent again, and the '
            'window falls to one; give min_rto = "1s" (RFC 6298), or the ACK a shorter timer'
        )
        yield Problem(("stacks", name, "ack"), message, stack.ack.name)


def stacks(case: "Case") -> Iterator[Problem]:
    """Warnings about the stacks that traffic uses."""
    variant = case.variant
    used = {variant.stack_of(entry) for entry in variant.traffic if entry.transport == "tcp"}
    pausing = {variant.stack_of(entry) for entry in variant.traffic if entry.transport == "tcp" and not entry.is_bulk}
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
        yield from _unused(name, stack)
        if isinstance(stack.congestion, ProgramControl):
            for finding in stack.congestion.findings:
                yield Problem(("stacks", name, "congestion"), finding, stack.congestion.program)
        if name in pausing:
            yield from _early_timeout(name, stack)
        if stack.detection.name == "rack-tlp" and not stack.sack and stack.follows != "linux":
            message = (
                'is RACK-TLP without SACK, which RFC 8985 section 4 requires; give sack = true or detection = "dup-ack"'
            )
            yield Problem(("stacks", name), message, MISSING)
        if stack.congestion.name == "dctcp" and not stack.ecn:
            message = 'is DCTCP without ECN, which no queue marks; give ecn = true and ecn_echo = "exact"'
            yield Problem(("stacks", name), message, MISSING)
        if stack.congestion.name == "prague" and not (stack.l4s and stack.ecn_echo in ("accecn", "ace")):
            message = 'is Prague without L4S and AccECN; give ecn = true, l4s = true and ecn_echo = "accecn", or preset = "prague"'
            yield Problem(("stacks", name), message, MISSING)
        if stack.l4s and isinstance(stack.congestion, NamedCongestion) and stack.congestion.name not in _SCALABLE:
            message = (
                f"sends ECT(1) with {stack.congestion.name}, which does not answer marks by their share (RFC 9331 section 4.3): "
                "it starves other traffic or itself at queues of L4S; leave l4s out"
            )
            yield Problem(("stacks", name, "l4s"), message, stack.l4s)
