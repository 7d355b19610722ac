"""Transport stacks: congestion control x loss detection x ACK policy, and the sizes and timers around them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator

from anabranch import units
from anabranch.scenario.algorithms import REGISTRIES, Algorithm
from anabranch.scenario.controls import ProgramControl, PythonControl
from anabranch.scenario.table import Packets, PositiveDuration, Size, Table


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

PRESETS: dict[str, dict[str, Any]] = {
    **{one["name"]: {"congestion": one["name"], "detection": "dup-ack"} for one in REGISTRIES["congestion"]},
    "kikolo": {"congestion": "kikolo", "detection": {"name": "dup-ack", "threshold": 2}},
    "bbr": {"congestion": "bbr", "detection": "rack-tlp"},
    "bbr3": {"congestion": "bbr3", "detection": "rack-tlp"},
    "dctcp": {"congestion": "dctcp", "detection": "dup-ack", "ecn": True, "ecn_echo": "exact"},
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
}
"""The stacks that have a name of their own, by their settings: every congestion control, and products that a paper names. BBR has
RACK-TLP, because its authors test and use it with Linux's loss recovery; the papers of the others have duplicate ACKs. All but Linux's acknowledge every segment at once, so that a comparison of two of them compares senders;
give ``ack = "delayed"`` for the receiver of RFC 5681."""


if TYPE_CHECKING:
    PresetName: TypeAlias = str
else:
    PresetName = Literal[tuple(PRESETS)]


_FOLLOWS = 'was replaced by follows; write follows = "linux" for Linux\'s rules, leave it out for those of the RFCs'


class Stack(Table):
    """A transport stack. A preset sets several keys. Keys beside it take precedence."""

    replaced: ClassVar[Mapping[str, str]] = {
        "window_growth": f'{_FOLLOWS}; follows = "ns-2" stands for "acks"',
        "window_use": _FOLLOWS,
        "rate_reduction": _FOLLOWS,
        "pacing_unit": _FOLLOWS,
    }

    preset: PresetName | None = Field(None, description="Several keys at once; at least its congestion control.")
    congestion: Congestion = Field("cubic", validate_default=True, description="How much to have in flight.")
    slow_start: SlowStart = Field(
        "classic",
        validate_default=True,
        description="How the window of a window-based congestion control grows before the first loss.",
    )
    detection: Detection = Field(
        "rack-tlp",
        validate_default=True,
        description="What counts as lost, and when. The default is that of traffic without a stack; with `sack = false` it is `dup-ack`, "
        "because RACK-TLP needs SACK (RFC 8985 section 4).",
    )
    ack: Ack = Field("immediate", validate_default=True, description="When the receiver acknowledges.")
    sack: bool = Field(True, description="Selective acknowledgements, RFC 2018.")
    spurious: Literal["none", "dsack", "eifel"] = Field(
        "none", description="How the sender recognises a spurious retransmission and takes the reduction back."
    )
    f_rto: bool = Field(False, description="Forward RTO recovery, RFC 5682.")
    limited_transmit: bool = Field(True, description="Limited transmit, RFC 3042.")
    ecn: bool = Field(False, description="Explicit congestion notification, RFC 3168.")
    ecn_echo: Literal["classic", "exact"] = Field(
        "classic",
        description="How the receiver echoes marks: until the sender has answered (RFC 3168), or exactly those of the "
        "segments acknowledged (RFC 8257 section 3.2).",
    )
    pacing: bool = Field(False, description="Spreads sending over the round trip.")
    handshake: bool = Field(True, description="A round trip of SYN and SYN-ACK before data.")
    mss: Size = Field("1460 bytes", description="Payload of a full segment.")
    header: Size = Field("40 bytes", description="Headers of every packet; an ACK is nothing else.")
    initial_window: Packets = Field("10 packets", description="Initial congestion window (RFC 6928: 10).")
    receive_window: Size = Field(
        "64 MB",
        description='The greatest window that a receiver advertises. With `follows = "linux"` the window begins with 64 KB and grows with what is read, up to this value; "3 MiB" is half of the 6 MB that Linux allows by default.',
    )
    min_rto: PositiveDuration = Field(
        "200ms", description="Least retransmission timeout (RFC 6298: 1 s; Linux: 200 ms)."
    )
    max_rto: PositiveDuration = Field("60s", description="Greatest retransmission timeout (RFC 6298: at least 60 s).")
    initial_rto: PositiveDuration = Field("1s", description="Timeout before the first RTT sample (RFC 6298: 1 s).")
    rto_granularity: PositiveDuration = Field(
        "10ms", description="The least that the timeout exceeds SRTT by (G of RFC 6298; Linux: 200 ms)."
    )
    follows: Literal["rfc", "linux", "ns-2"] = Field(
        "rfc",
        description="Whose rules of window growth, recovery and pacing the sender follows: those of the RFCs, of Linux, or of "
        "ns-2 ([the differences](transports.md#rfc-linux-and-ns-2)).",
    )
    hz: int = Field(
        250,
        ge=32,
        le=1200,
        description="Ticks of the kernel's clock a second (100, 250, 300 or 1000): they round the timers of a sender that follows Linux, and are the jiffies of an eBPF program.",
    )
    segmentation_offload: bool = Field(
        True,
        description="Whether a paced sender that follows Linux may send several segments at once; false as after `ethtool -K eth0 tso off gso off`.",
    )
    restart_after_idle: bool = Field(True, description="An idle timeout ends the window, RFC 5681 section 4.1.")

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
    def _complete(self) -> "Stack":
        if units.duration(self.min_rto) > units.duration(self.max_rto):
            raise ValueError(f'min_rto "{self.min_rto}" must not exceed max_rto "{self.max_rto}"')
        if units.size(self.mss) + units.size(self.header) > 65535:
            raise ValueError("mss and header together must be at most 65535 bytes, the largest IP packet")
        if units.size(self.receive_window) < units.size(self.mss):
            raise ValueError(f'receive_window "{self.receive_window}" must hold at least one segment of "{self.mss}"')
        if isinstance(self.congestion, ProgramControl) and self.congestion.needs_ecn and not self.ecn:
            raise ValueError("ecn must be true: with this program, Linux negotiates it (TCP_CONG_NEEDS_ECN)")
        return self

    def policies(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Congestion control, loss detection and ACK policy, each with every parameter filled in. A program has the stack's clock."""
        clock = {"hz": self.hz} if isinstance(self.congestion, ProgramControl) else {}
        return self.congestion.compiled() | clock, self.detection.compiled(), self.ack.compiled()


_PRODUCT = ("congestion", "slow_start", "detection", "ack", "follows")
"""The algorithms whose product a preset names, and whose rules they follow. Parameters, sizes and timers may differ."""


def differing(name: str, stack: Stack) -> list[str]:
    """The keys in which a stack is another product than the preset of this name."""
    preset = preset_stack(name)
    return [key for key in _PRODUCT if _algorithm(getattr(stack, key)) != _algorithm(getattr(preset, key))]


def _algorithm(value: Any) -> Any:
    return value.compiled()[value.key] if isinstance(value, Algorithm) else value


def preset_stack(name: str) -> Stack:
    """The stack of a preset."""
    return Stack.model_validate({"preset": name})
