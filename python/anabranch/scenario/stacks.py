"""Transport stacks: congestion control x loss detection x ACK policy, and the sizes and timers around them."""

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, create_model, model_validator

from anabranch import _core
from anabranch.foundation import units
from anabranch.scenario.algorithms import REGISTRIES, Algorithm, field, units_of, without_units
from anabranch.scenario.controls import ProgramControl, PythonControl
from anabranch.scenario.table import Table


class NamedCongestion(Algorithm):
    """A congestion control."""

    kind = "congestion"
    what = "a congestion control"
    name: str


class SlowStart(Algorithm):
    """A slow start."""

    kind = "slow_start"
    what = "a slow start"
    name: str


class Detection(Algorithm):
    """A loss detection."""

    kind = "detection"
    what = "a loss detection"
    name: str


class Ack(Algorithm):
    """An ACK policy."""

    kind = "ack"
    what = "an ACK policy"
    name: str


class Protocol(Algorithm):
    """The protocol of a stack."""

    kind = "protocol"
    what = "a protocol"
    name: str


class Entropy(Algorithm):
    """A policy of entropy values."""

    kind = "entropy"
    what = "a policy of entropy values"
    name: str


def _kind_of_congestion(value: Any) -> str:
    for kind, key in ((PythonControl, "python"), (ProgramControl, "program")):
        if isinstance(value, kind) or (isinstance(value, dict) and key in value):
            return f"<{key}>"
    return "<name>"


Congestion = Annotated[
    Annotated[NamedCongestion, Tag("<name>")]
    | Annotated[ProgramControl, Tag("<program>")]
    | Annotated[PythonControl, Tag("<python>")],
    Discriminator(_kind_of_congestion),
]


_LINUX: dict[str, Any] = {
    "detection": {"name": "rack-tlp", "rtt_by_sequence": True},
    "ack": {"name": "quick-ack", "compression": "1.1 ms"},
    "spurious": "eifel",
    "f_rto": True,
    "max_rto": "120s",
    "rto_granularity": "200ms",
    "receive_window": "3 MiB",
    "follows": "linux",
}
"""Settings of the stack ``linux`` of scripts (docs/validation/drill.md) besides its congestion control."""

_UET: dict[str, Any] = {
    "entropy": "mixed",
    "mss": "4096B",
    "header": "64B",
    "ecn": True,
}
"""Settings of a transport of messages besides its control."""

_MPTCP: dict[str, Any] = {
    "protocol": "mptcp",
    "detection": "rack-tlp",
    "mss": "1440B",
    "header": "60B",
}
"""Settings of Multipath TCP besides its congestion control. The headers have 20 bytes more: the option with the data sequence number and
the data acknowledgement (RFC 8684 section 3.3)."""

_LINUX_MPTCP: dict[str, Any] = {
    "protocol": {"name": "mptcp", "scheduler": "blest"},
    "mss": "1424B",
    "header": "76B",
}
"""What Multipath TCP of Linux has besides. The headers have timestamps, and 24 bytes with a data sequence number of 64 bits and a data
acknowledgement of 32."""

PRESETS: dict[str, dict[str, Any]] = {
    **{one["name"]: {"congestion": one["name"], "detection": "dup-ack"} for one in REGISTRIES["congestion"]},
    "kikolo": {"congestion": "kikolo", "detection": {"name": "dup-ack", "threshold": 2}},
    "bbr": {"congestion": "bbr", "detection": "rack-tlp"},
    "bbr3": {"congestion": "bbr3", "detection": "rack-tlp"},
    "dctcp": {"congestion": "dctcp", "detection": "dup-ack", "ecn": True, "ecn_echo": "exact"},
    "prague": {"congestion": "prague", "detection": "rack-tlp", "ecn": True, "ecn_echo": "accecn", "l4s": True},
    "linux-reno": {"congestion": "linux-reno"} | _LINUX,
    "linux-cubic": {"congestion": "linux-cubic"} | _LINUX,
    "linux-bbr": {"congestion": "linux-bbr"} | _LINUX,
    "linux-dctcp": {"congestion": "linux-dctcp", "ecn": True, "ecn_echo": "exact"} | _LINUX,
    **{
        f"linux-{name}": {"congestion": f"linux-{name}"} | _LINUX
        for name in (
            "bic",
            "cdg",
            "highspeed",
            "htcp",
            "hybla",
            "illinois",
            "scalable",
            "vegas",
            "veno",
            "westwood",
            "yeah",
        )
    },
    "mprc": {"congestion": "newreno", "detection": "fast-rto"},
    **{f"mptcp-{name}": {"congestion": name} | _MPTCP for name in ("lia", "olia", "balia", "cubic")},
    "linux-mptcp": {"congestion": "linux-cubic"} | _LINUX | _LINUX_MPTCP,
    "uet-nscc": {"protocol": {"name": "uet", "control": "nscc"}} | _UET,
    "uet-rccc": {"protocol": {"name": "uet", "control": "rccc"}} | _UET,
    "uet-both": {"protocol": {"name": "uet", "control": "both"}} | _UET,
}
"""The stacks that have a name of their own, by their settings: every congestion control, and products that a paper names. BBR has
RACK-TLP, because its authors test and use it with Linux's loss recovery; the papers of the others have duplicate ACKs. All but Linux's acknowledge every segment at once, so that a comparison of two of them compares senders;
give ``ack = "delayed"`` for the receiver of RFC 5681."""


if TYPE_CHECKING:
    PresetName: TypeAlias = str
else:
    PresetName = Literal[tuple(PRESETS)]


_FOLLOWS = 'was replaced by follows; write follows = "linux" for Linux\'s rules, leave it out for those of the RFCs'


SETTINGS: list[dict[str, Any]] = json.loads(_core.stack_settings())
"""The settings of a stack besides its algorithms, as the core declares them."""
_UNITS = units_of(SETTINGS)


class _Stack(Table):
    replaced: ClassVar[Mapping[str, str]] = {
        "window_growth": f'{_FOLLOWS}; follows = "ns-2" stands for "acks"',
        "window_use": _FOLLOWS,
        "rate_reduction": _FOLLOWS,
        "pacing_unit": _FOLLOWS,
    }

    preset: PresetName | None = Field(None, description="Several keys at once; at least its congestion control.")
    congestion: Congestion = Field(
        "cubic", validate_default=True, description="The algorithm that determines the congestion window or the rate."
    )
    slow_start: SlowStart = Field(
        "classic",
        validate_default=True,
        description="How the window of a window-based congestion control grows before the first loss.",
    )
    detection: Detection = Field(
        "rack-tlp",
        validate_default=True,
        description="The algorithm that determines which segments are lost, and when. The default is that of traffic without a stack; with `sack = false` it is `dup-ack`, "
        "because RACK-TLP needs SACK (RFC 8985 section 4).",
    )
    ack: Ack = Field("immediate", validate_default=True, description="When the receiver acknowledges.")
    protocol: Protocol = Field(
        "tcp",
        validate_default=True,
        description="TCP; several subflows of TCP, each on a path of its own (`mptcp`); or a transport of messages whose packets may arrive in any order (`uet`). With `uet`, only `entropy`, `mss`, `header` and `ecn` have a meaning beside it.",
    )
    entropy: Entropy | None = Field(
        None,
        description="How the sender chooses the entropy values that switches hash where a routing selects by `hash` per `packet`. Without a policy each packet of TCP has a value of its own.",
    )

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        name = values.get("preset")
        known = PRESETS[name] if isinstance(name, str) and name in PRESETS else {}
        without_sack = {"detection": "dup-ack"} if not known and values.get("sack") is False else {}
        return {**known, **without_sack, **values}

    @model_validator(mode="after")
    def _complete(self) -> "_Stack":
        if self.protocol.name == "mptcp" and self.entropy is not None:
            raise ValueError(
                'entropy has no meaning with protocol = "mptcp": a subflow stays on its path; leave it out'
            )
        if self.protocol.name == "uet":
            for key in self.model_fields_set - _OF_MESSAGES:
                raise ValueError(f'{key} has no meaning with protocol = "{self.protocol.name}": leave it out')
        if units.duration(self.min_rto) > units.duration(self.max_rto):
            raise ValueError(f'min_rto "{self.min_rto}" must not exceed max_rto "{self.max_rto}"')
        if units.size(self.mss) + units.size(self.header) > 65535:
            raise ValueError("mss and header together must be at most 65535 bytes, the largest IP packet")
        if units.size(self.receive_window) < units.size(self.mss):
            raise ValueError(f'receive_window "{self.receive_window}" must hold at least one segment of "{self.mss}"')
        if self.l4s and not self.ecn:
            raise ValueError("ecn must be true beside l4s = true: ECT(1) is a codepoint of ECN (RFC 9331)")
        if isinstance(self.congestion, ProgramControl) and self.congestion.needs_ecn and not self.ecn:
            raise ValueError("ecn must be true: with this program, Linux negotiates it (TCP_CONG_NEEDS_ECN)")
        return self

    def settings(self) -> dict[str, Any]:
        """Every setting by its name, as the core has it: durations in picoseconds, sizes in bytes."""
        return without_units({one["name"]: getattr(self, one["name"]) for one in SETTINGS}, _UNITS)

    def policies(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Congestion control, loss detection and ACK policy, each with every parameter filled in. A program has the stack's clock."""
        clock = {"hz": self.hz} if isinstance(self.congestion, ProgramControl) else {}
        return self.congestion.compiled() | clock, self.detection.compiled(), self.ack.compiled()

    if TYPE_CHECKING:  # the settings are fields, too

        def __getattr__(self, name: str) -> Any: ...


_OF_MESSAGES = {"preset", "protocol", "entropy", "mss", "header", "ecn"}
"""The keys that have a meaning for a transport of messages."""


if TYPE_CHECKING:
    Stack: TypeAlias = _Stack
else:
    Stack = create_model(
        "Stack",
        __base__=_Stack,
        __doc__="A transport stack. A preset sets several keys. Keys beside it take precedence.",
        __module__=__name__,
        **{one["name"]: field(one) for one in SETTINGS},
    )


_PRODUCT = ("congestion", "slow_start", "detection", "ack", "protocol", "follows")
"""The algorithms whose product a preset names, and whose rules they follow. Parameters, sizes and timers may differ."""


def differing(name: str, stack: Stack) -> list[str]:
    """The keys in which a stack is another product than the preset of this name."""
    preset = preset_stack(name)
    return [key for key in _PRODUCT if _algorithm(getattr(stack, key)) != _algorithm(getattr(preset, key))]


def _algorithm(value: Any) -> Any:
    return value.compiled()[value.key] if isinstance(value, Algorithm) else value


@cache
def preset_stack(name: str) -> Stack:
    """The stack of a preset."""
    return Stack.model_validate({"preset": name})
