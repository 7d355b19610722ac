"""Groups of flows: between whom, over what, and what the application writes."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, ValidationInfo, WithJsonSchema, model_validator

from anabranch import units
from anabranch.scenario import sizes
from anabranch.scenario.table import Count, Duration, Frequency, PositiveDuration, Rate, Size, Table, by_kind

Nodes = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[Annotated[list[str], Field(min_length=1)], Tag("<list>")],
    by_kind('a node, a list of nodes, "all", "hosts", or a pattern such as "p1*"'),
]


class OnOff(Table):
    """Constant intervals at the peak rate while on, nothing while off; both times Pareto."""

    peak: Rate = Field(description="Rate while on.")
    on: PositiveDuration = Field("500ms", description="Mean time on (ns-2: 500 ms).")
    off: PositiveDuration = Field("500ms", description="Mean time off (ns-2: 500 ms).")
    shape: float = Field(1.5, gt=1, allow_inf_nan=False, description="Pareto shape, greater than 1 (ns-2: 1.5).")


Point = Annotated[list[float], Field(min_length=2, max_length=2)]


def _points(value: Any, info: ValidationInfo) -> Any:
    """The points that a name stands for; the validation's context has the directory of relative file names."""
    if not isinstance(value, str):
        return value
    return sizes.named(value, (info.context or {}).get("directory", Path()))


_SIZE_NAMES = WithJsonSchema({"anyOf": [{"enum": list(sizes.FLOW_SIZES)}, {"type": "string", "pattern": r"\.csv$"}]})
Sizes = Annotated[
    Annotated[str, Tag("<text>"), _SIZE_NAMES] | Annotated[list[Point], Tag("<list>")],
    by_kind('"web-search", "data-mining", a CSV file or a list of [bytes, cumulative probability]'),
    BeforeValidator(_points),
]


class Short(Table):
    """Flows of random size arrive as a Poisson process, each between a pair drawn uniformly."""

    arrivals: Frequency = Field(description="Flows per second over all pairs.")
    sizes: Sizes = Field(
        "web-search",
        validate_default=True,
        description="A measured distribution, points [bytes, cumulative probability], or a CSV file of such.",
    )

    @model_validator(mode="after")
    def _distribution(self) -> "Short":
        sizes.check(self.points())
        return self

    def points(self) -> list[list[float]]:
        """Points (payload bytes, cumulative probability)."""
        assert not isinstance(self.sizes, str)  # a name has been replaced by its points
        return self.sizes


DEFAULT_STACK = "linux-cubic"
"""The stack of traffic that names none, where none is defined: what most hosts run."""
LARGEST_PACKET = 65535
APPLICATIONS = ("bulk", "size", "constant", "poisson", "on-off", "short")


class Traffic(Table):
    """A group of flows with one application: bulk, size, constant, poisson, on-off or short."""

    name: str | None = Field(None, min_length=1, description="In tables (default traffic-1 and so on).")
    from_: Nodes = Field(
        "all",
        alias="from",
        description="Sources: a node, a list, all, hosts (the nodes with one neighbour), or a pattern such as p1*.",
    )
    to: Nodes = Field("all", description="Destinations, in the same way.")
    pattern: Literal["all-pairs", "pairs", "random-pairs", "neighbours"] = Field(
        "all-pairs",
        description="Every source with every destination, the lists side by side, count pairs at random, or those that "
        "a link joins, over that link whatever the routing.",
    )
    count: Count | None = Field(None, description="How many pairs, for random-pairs.")
    flows: Count = Field(1, description="Flows of every pair.")
    start: Duration = Field("0s", description="When the first flow starts.")
    stagger: Duration = Field("0s", description="From the start of one flow to the start of the next.")
    stop: Duration | None = Field(None, description="When the applications stop writing (default the end of the run).")
    bulk: Literal[True] | None = Field(
        None, description="All at once, without end (default, with TCP, where no other application is given)."
    )
    size: Size | None = Field(None, description="So many payload bytes at once.")
    constant: Rate | None = Field(None, description="One segment at a time at constant intervals.")
    poisson: Rate | None = Field(None, description="One segment at a time at exponential intervals.")
    on_off: OnOff | None = Field(None, alias="on-off", description="Bursts at a peak rate.")
    short: Short | None = Field(None, description="Many flows of random size that arrive at random.")
    transport: Literal["tcp", "udp"] = Field("tcp", description="UDP sends without waiting for anyone.")
    packet: Size | None = Field(None, description="Bytes on the wire of every UDP packet (default 1500 bytes).")
    sender: Literal["own", "iperf3"] = Field(
        "own",
        description="Program that sends in the kernel engine: its own, or iperf3 (bulk and constant). No effect in other engines.",
    )
    stack: str | None = Field(
        None,
        description="The TCP stack: of [stacks], or a preset (default the only one of [stacks]; where there is none, "
        f"{DEFAULT_STACK}).",
    )
    routing: str | None = Field(
        None,
        description='The routing: of [routing], or "ospf" (default the only one of [routing]; where there is none, ospf).',
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Traffic":
        given = [name for name in APPLICATIONS if getattr(self, name.replace("-", "_")) is not None]
        if len(given) > 1:
            raise ValueError(f"has one application; leave out all but one of {', '.join(given)}")
        if self.transport == "udp":
            if self.stack is not None:
                raise ValueError('stack is for TCP; with transport = "udp" leave it out')
            if given not in (["constant"], ["poisson"], ["on-off"]):
                what = given[0] if given else "bulk"
                raise ValueError(f'{what} needs TCP; with transport = "udp" give constant, poisson or on-off')
            if self.packet is not None and units.size(self.packet) > LARGEST_PACKET:
                raise ValueError(f'packet "{self.packet}" must be at most {LARGEST_PACKET} bytes')
        elif self.packet is not None:
            raise ValueError("packet is the size of UDP packets; with TCP give mss in the stack")
        if (self.pattern == "random-pairs") != (self.count is not None):
            raise ValueError('pattern = "random-pairs" and count = N go together')
        if self.pattern == "neighbours" and self.routing is not None:
            raise ValueError('pattern = "neighbours" goes over the links themselves; leave routing out')
        if self.short is not None and self.flows != 1:
            raise ValueError("flows does not apply to short: its flows arrive by themselves")
        return self
