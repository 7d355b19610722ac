"""Groups of flows: between whom, over what, and what the application writes."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, Tag, model_validator

from anabranch.scenario.table import Count, Duration, Frequency, PositiveDuration, Rate, Size, Table, by_kind

FLOW_SIZES: dict[str, list[list[float]]] = {
    "web-search": [
        [0, 0], [10_000, 0.15], [20_000, 0.2], [30_000, 0.3], [50_000, 0.4], [80_000, 0.53], [200_000, 0.6],
        [1_000_000, 0.7], [2_000_000, 0.8], [5_000_000, 0.9], [10_000_000, 0.97], [30_000_000, 1],
    ],
    "data-mining": [
        [0, 0], [180, 0.1], [216, 0.2], [560, 0.3], [900, 0.4], [1100, 0.5], [1870, 0.6], [3160, 0.7], [10_000, 0.8],
        [400_000, 0.9], [3_160_000, 0.95], [100_000_000, 0.98], [1_000_000_000, 1],
    ],
}  # fmt: skip
"""Measured distributions of flow sizes as points (payload bytes, cumulative probability), linear between them.

``web-search``: the query and background flows of a search cluster, Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM
2010, figure 4. ``data-mining``: Greenberg et al., "VL2: a scalable and flexible data center network", SIGCOMM 2009,
figure 2. Both as read off the figures for later studies (pFabric, SIGCOMM 2013, figure 4), which is how they are
commonly used.
"""

Nodes = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[Annotated[list[str], Field(min_length=1)], Tag("<list>")],
    by_kind('a node, a list of nodes, or "all"'),
]


class OnOff(Table):
    """Constant intervals at the peak rate while on, nothing while off; both times Pareto."""

    peak: Rate
    on: PositiveDuration = Field(description="Mean time on.")
    off: PositiveDuration = Field(description="Mean time off.")
    shape: float = Field(1.5, gt=1, allow_inf_nan=False, description="Pareto shape, greater than 1.")


Point = Annotated[list[float], Field(min_length=2, max_length=2)]
Sizes = Annotated[
    Annotated[Literal["web-search", "data-mining"], Tag("<text>")] | Annotated[list[Point], Tag("<list>")],
    by_kind('"web-search", "data-mining" or a list of [bytes, cumulative probability]'),
]


class Short(Table):
    """Flows of random size arrive as a Poisson process, each between a pair drawn uniformly."""

    arrivals: Frequency = Field(description="Flows per second over all pairs.")
    sizes: Sizes

    @model_validator(mode="after")
    def _distribution(self) -> "Short":
        points = self.points()
        if len(points) < 2:
            raise ValueError("sizes needs at least two points [bytes, cumulative probability]")
        for (low, below), (high, above) in pairwise(points):
            if not (0 <= low < high < float("inf") and 0 <= below <= above):
                raise ValueError(
                    f"sizes must ascend in bytes and in probability; [{low}, {below}] to [{high}, {above}] does not"
                )
        if points[0][1] != 0 or points[-1][1] != 1:
            raise ValueError("sizes must begin with probability 0 and end with probability 1")
        return self

    def points(self) -> list[list[float]]:
        """Points (payload bytes, cumulative probability)."""
        return FLOW_SIZES[self.sizes] if isinstance(self.sizes, str) else self.sizes


APPLICATIONS = ("bulk", "size", "constant", "poisson", "on-off", "short")


class Traffic(Table):
    """A group of flows with exactly one application: bulk, size, constant, poisson, on-off or short."""

    name: str | None = Field(None, min_length=1)
    from_: Nodes = Field(alias="from")
    to: Nodes
    pattern: Literal["all-pairs", "pairs", "random-pairs"] = Field(
        "all-pairs",
        description="Every source with every destination, the lists side by side, or count pairs at random.",
    )
    count: Count | None = Field(None, description="How many pairs, for random-pairs.")
    flows: Count = Field(1, description="Flows of every pair.")
    start: Duration = "0s"
    stagger: Duration = Field("0s", description="From the start of one flow to the start of the next.")
    stop: Duration | None = Field(None, description="When the applications stop writing (default the end of the run).")
    bulk: Literal[True] | None = Field(None, description="All at once, without end.")
    size: Size | None = Field(None, description="So many payload bytes at once.")
    constant: Rate | None = Field(None, description="One segment at a time at constant intervals.")
    poisson: Rate | None = Field(None, description="One segment at a time at exponential intervals.")
    on_off: OnOff | None = Field(None, alias="on-off")
    short: Short | None = None
    transport: Literal["tcp", "udp"] = "tcp"
    packet: Size | None = Field(None, description="Bytes on the wire of every UDP packet (default 1500 bytes).")
    stack: str | None = Field(None, description="The TCP stack: of [stacks], or a preset.")
    routing: str | None = Field(None, description='The routing: of [routing], or "ospf".')

    @model_validator(mode="after")
    def _consistent(self) -> "Traffic":
        given = [name for name in APPLICATIONS if getattr(self, name.replace("-", "_")) is not None]
        if len(given) != 1:
            example = 'bulk = true, size = "1MB", constant = "5Mbps", poisson = "20Mbps", on-off = {...}, short = {...}'
            raise ValueError(f"needs exactly one of {example}; has {', '.join(given) or 'none'}")
        if self.transport == "udp":
            if self.stack is not None:
                raise ValueError('stack is for TCP; with transport = "udp" leave it out')
            if given[0] in ("bulk", "size", "short"):
                raise ValueError(f'{given[0]} needs TCP; with transport = "udp" give constant, poisson or on-off')
        elif self.packet is not None:
            raise ValueError("packet is the size of UDP packets; with TCP give mss in the stack")
        if (self.pattern == "random-pairs") != (self.count is not None):
            raise ValueError('pattern = "random-pairs" and count = N go together')
        if given[0] == "short" and self.flows != 1:
            raise ValueError("flows does not apply to short: its flows arrive by themselves")
        return self
