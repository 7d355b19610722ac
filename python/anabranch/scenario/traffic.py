"""Groups of flows: between whom, over what, and what the application writes."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, ValidationInfo, WithJsonSchema, model_validator

from anabranch.foundation import units
from anabranch.scenario import sizes
from anabranch.scenario.collectives import ALL_REDUCE
from anabranch.scenario.matrix import Gravity, MatrixKey
from anabranch.scenario.table import Count, Duration, Frequency, LinkName, PositiveDuration, Rate, Size, Table, by_kind
from anabranch.scenario.trace import Trace

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


def _load(value: Any) -> Any:
    share = units.percentage(value) if isinstance(value, str) else value
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ValueError('must be a share above 0 and at most 1, such as 0.6 or "60%"')
    return float(share)


Load = Annotated[
    float,
    BeforeValidator(_load),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                {"type": "string", "pattern": "%$", "examples": ["60%"]},
            ]
        }
    ),
]


class Short(Table):
    """Flows of random size arrive as a Poisson process, each between a pair drawn uniformly.

    With the patterns incast and outcast, the events arrive as a Poisson process: each draws its nodes anew, and all its flows start together.
    How many flows arrive follows from ``arrivals`` or ``load``. With a traffic matrix or gravity it follows from the rates of the
    pairs, which count payload.
    """

    arrivals: Frequency | None = Field(
        None, description="Flows per second over all pairs; those of an incast count one by one."
    )
    load: Load | None = Field(
        None,
        description="Instead of arrivals: as many flows as load the links that leave the sources to this share, or those that enter the "
        "destinations where these are slower ([what counts](networks-and-traffic.md#a-load-in-per-cent)).",
    )
    link: LinkName | None = Field(
        None, description="With load: the share is of this link's capacity, from the first node to the second."
    )
    sizes: Sizes = Field(
        "web-search",
        validate_default=True,
        description="A measured distribution, points [bytes, cumulative probability], or a CSV file of such: linear between two points. "
        "The first point, and two points of one size, are a share of flows of this very size; [[100_000, 1]] gives all flows one size.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Short":
        sizes.check(self.points())
        if self.arrivals is not None and self.load is not None:
            raise ValueError("load and arrivals both determine how many flows arrive; leave one out")
        if self.link is not None and self.load is None:
            raise ValueError("link names the link of load; give load, such as load = 0.6")
        return self

    def points(self) -> list[list[float]]:
        """Points (payload bytes, cumulative probability)."""
        assert not isinstance(self.sizes, str)  # a name has been replaced by its points
        return self.sizes


DEFAULT_STACK = "linux-cubic"
"""The stack of traffic that names none, where none is defined: what most hosts run."""
DEFAULT_PACKET = "1500 bytes"
"""The UDP packet on the wire: Ethernet's MTU."""
LEAST_PACKET, LARGEST_PACKET = 28, 65535
"""Bytes of a UDP packet: the headers of IPv4 and UDP at least."""
APPLICATIONS = ("bulk", "size", "constant", "poisson", "on-off", "short", "trace")
BY_RATE = ("matrix", "gravity")
"""Keys that give each pair a rate."""
_BESIDE_TRACE = {"name", "trace", "start", "stop", "transport", "stack", "routing"}
_BESIDE_RATES = _BESIDE_TRACE - {"trace"} | {*BY_RATE, "scale", "from_", "to", "flows", "short", "packet"}
RANDOM = ("random-pairs", "permutation", "incast", "outcast")
"""Patterns whose pairs the seed decides."""
_WITH_COUNT = ("random-pairs", "incast", "outcast")


class Traffic(Table):
    """A group of flows with one application: bulk, size, constant, poisson, on-off, short or trace.

    With ``matrix`` or ``gravity``, each pair has its own rate. Its application writes one segment or UDP packet at a time at
    exponential intervals, as ``poisson`` does, or its flows arrive at random, with ``short``.
    """

    name: str | None = Field(None, min_length=1, description="In tables (default traffic-1 and so on).")
    from_: Nodes = Field(
        "all",
        alias="from",
        description="Sources: a node, a list, all, hosts (nodes with one neighbour, and leaf-spine hosts with several leaves), or a pattern such as p1*.",
    )
    to: Nodes = Field("all", description="Destinations, in the same way.")
    pattern: Literal[
        "all-pairs",
        "all-to-all",
        "pairs",
        "random-pairs",
        "permutation",
        "incast",
        "outcast",
        "neighbours",
        "all-reduce-ring",
        "all-reduce-butterfly",
        "all-reduce-halving",
    ] = Field(
        "all-pairs",
        description="Every source with every destination (all-pairs or all-to-all), the lists side by side, count pairs at random, "
        "each source with a random destination of its own (permutation), count random sources with one random destination "
        "(incast), one random source with count random destinations (outcast), or pairs that a link joins, over that link "
        "whatever the routing. Or the messages by which the sources reduce their data to one result: in a ring, by recursive doubling "
        "(butterfly), or by halving and doubling ([collectives](networks-and-traffic.md#collective-operations)).",
    )
    window: Count | None = Field(
        None,
        description="With all-to-all and size: how many flows of a source are under way. The next starts when the flow that many places before is acknowledged (default all at once).",
    )
    count: Count | None = Field(
        None,
        description="How many pairs (random-pairs), senders (incast) or receivers (outcast); default all, for these two.",
    )
    every: PositiveDuration | None = Field(
        None, description="With size: all flows start again at this interval, with new random draws (default once)."
    )
    matrix: MatrixKey | None = Field(
        None,
        description="The rate of each pair: a CSV file with the header source,target,rate or a file of another format, a table of tables, "
        'or "demands" (those of the topology itself).',
    )
    gravity: Gravity | None = Field(None, description="The rate of each pair by the weights of its ends.")
    scale: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Multiplies the rates of matrix or gravity (default 1)."
    )
    flows: Count = Field(1, description="Flows of every pair; they share its rate evenly, with matrix or gravity.")
    start: Duration = Field("0s", description="When the first flow starts.")
    stagger: Duration = Field("0s", description="From the start of one flow to the start of the next.")
    stop: Duration | None = Field(
        None,
        description="When the applications stop writing (default the end of the run). What they have written is still sent; bulk stops sending.",
    )
    bulk: Literal[True] | None = Field(
        None, description="All at once, without end (default, with TCP, where no other application is given)."
    )
    size: Size | None = Field(
        None, description="Payload bytes, written at once; of an all-reduce, the bytes that each source has."
    )
    constant: Rate | None = Field(None, description="One segment at a time at constant intervals.")
    poisson: Rate | None = Field(None, description="One segment at a time at exponential intervals.")
    on_off: OnOff | None = Field(None, alias="on-off", description="Bursts at a peak rate.")
    short: Short | None = Field(None, description="Many flows of random size that arrive at random.")
    trace: Trace | None = Field(
        None,
        description="The flows themselves: a CSV file with the header src,dst,start,size, or such text. Numbers count seconds "
        "after start and bytes.",
    )
    transport: Literal["tcp", "udp"] = Field(
        "tcp", description="UDP sends at the application's rate, without acknowledgements."
    )
    packet: Size | None = Field(
        None,
        description="Bytes of every UDP packet on the wire, with its headers of IPv4 and UDP: 28 to 65535 (default 1500 bytes). Rates and goodput count all of them; those of TCP count payload.",
    )
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
        self._check_trace()
        self._check_rates()
        if len(given) > 1:
            raise ValueError(f"has one application; leave out all but one of {', '.join(given)}")
        if self.transport == "udp":
            if self.stack is not None:
                raise ValueError('stack is for TCP; with transport = "udp" leave it out')
            if given not in (["constant"], ["poisson"], ["on-off"]) and (given or not self.has_rates):
                what = given[0] if given else "bulk"
                raise ValueError(f'{what} needs TCP; with transport = "udp" give constant, poisson or on-off')
            if self.packet is not None and units.size(self.packet) > LARGEST_PACKET:
                raise ValueError(f'packet "{self.packet}" must be at most {LARGEST_PACKET} bytes')
            if self.packet is not None and units.size(self.packet) < LEAST_PACKET:
                raise ValueError(
                    f'packet "{self.packet}" must be at least {LEAST_PACKET} bytes: it counts the headers of IPv4 and UDP'
                )
        elif self.packet is not None:
            raise ValueError("packet is the size of UDP packets; with TCP give mss in the stack")
        if self.pattern == "random-pairs" and self.count is None:
            raise ValueError('pattern = "random-pairs" needs count = N, the number of pairs')
        if self.count is not None and self.pattern not in _WITH_COUNT:
            raise ValueError(f'count is for pattern = "{_WITH_COUNT[0]}", "{_WITH_COUNT[1]}" or "{_WITH_COUNT[2]}"')
        if self.every is not None and self.size is None:
            raise ValueError('every repeats transfers that end; give size, such as size = "30kB"')
        self._check_collective()
        if self.pattern == "neighbours" and self.routing is not None:
            raise ValueError('pattern = "neighbours" goes over the links themselves; leave routing out')
        for key, is_given in (("flows", self.flows != 1), ("stagger", units.duration(self.stagger) > 0)):
            if self.short is not None and is_given:
                raise ValueError(f"{key} does not apply to short: its flows have their own arrival process")
        return self

    @property
    def is_bulk(self) -> bool:
        """Whether its flows always have data to send."""
        return not self.has_rates and all(
            getattr(self, name.replace("-", "_")) is None for name in APPLICATIONS if name != "bulk"
        )

    @property
    def has_rates(self) -> bool:
        """Whether each pair has its own rate."""
        return self.matrix is not None or self.gravity is not None

    @property
    def is_collective(self) -> bool:
        """Whether some of its flows wait for others."""
        return self.pattern in ALL_REDUCE or self.window is not None

    def _check_collective(self) -> None:
        if not self.is_collective:
            return
        what = "window" if self.window is not None else f'pattern = "{self.pattern}"'
        if self.window is not None and self.pattern not in ("all-pairs", "all-to-all"):
            raise ValueError('window is for pattern = "all-to-all"; leave it out')
        if self.size is None:
            raise ValueError(f'{what} is of transfers that end; give size, such as size = "1MB"')
        if self.pattern in ALL_REDUCE and "to" in self.model_fields_set:
            raise ValueError(f'{what} is among the nodes of "from"; leave "to" out')
        for key, is_given in (
            ("every", self.every is not None),
            ("flows", self.flows != 1),
            ("stagger", units.duration(self.stagger) > 0),
        ):
            if is_given:
                raise ValueError(f"{key} does not apply to {what}: its flows start one after another")

    def _check_trace(self) -> None:
        beside = self._given_beside(_BESIDE_TRACE)
        if self.trace is not None and beside:
            raise ValueError(f"trace has the ends, starts and sizes of its flows; leave out {beside}")

    def _check_rates(self) -> None:
        if self.scale is not None and not self.has_rates:
            raise ValueError("scale multiplies the rates of matrix or gravity; give one of these")
        if not self.has_rates:
            if self.short is not None and self.short.arrivals is None and self.short.load is None:
                raise ValueError('short needs arrivals = "100/s", or load = 0.6 of the capacity')
            return
        name = BY_RATE[self.matrix is None]
        if self.matrix is not None and self.gravity is not None:
            raise ValueError("matrix and gravity both give the rate of each pair; leave out one")
        if self.short is not None and (self.short.arrivals is not None or self.short.load is not None):
            raise ValueError(f"{name} gives the rate of each pair; leave out arrivals and load")
        beside = self._given_beside(_BESIDE_RATES)
        if beside:
            raise ValueError(
                f"{name} gives the rate of each pair; leave out {beside}, or give short for flows that end"
            )

    def _given_beside(self, allowed: set[str]) -> str:
        """The keys that are given and not among these, as a text."""
        fields = type(self).model_fields
        given = [name for name in fields if name in self.model_fields_set - allowed and getattr(self, name) is not None]
        return ", ".join(fields[name].alias or name for name in given)


def udp_packet(entry: Traffic) -> int:
    """The bytes on the wire of each packet of a UDP group."""
    return units.size(entry.packet or DEFAULT_PACKET)


def traffic_name(entry: Traffic, index: int) -> str:
    """The name of a traffic group; ``traffic-1`` and so on for those without."""
    return entry.name or f"traffic-{index + 1}"
