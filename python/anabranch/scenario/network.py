"""The network of a scenario: the source of its topology, the properties of its links, and the events on them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, model_validator

from anabranch.foundation import units
from anabranch.scenario.algorithms import Algorithm
from anabranch.scenario.generators import GeneratedTopology
from anabranch.scenario.schedules import CapacityTable, CapacityTrace, DelayTable, kind_of_schedule
from anabranch.scenario.table import (
    Duration,
    Length,
    LinkName,
    LinkRate,
    PositiveDuration,
    Probability,
    Ratio,
    Size,
    Speed,
    Table,
    TextUnit,
    by_kind,
    value_kind,
)

QueueLimit = Annotated[
    str,
    BeforeValidator(TextUnit(units.queue_limit)),
    Field(
        description="packets, bytes, or bdp: link rate times the longest base round-trip time of the traffic, over paths of least delay. The packet in transmission counts, "
        "which it does not in ns-2 and ns-3"
    ),
]


def _links_kind(value: object) -> str | None:
    return None if isinstance(value, str) and value != "all" else value_kind(value)


SomeLinks = Annotated[
    Annotated[Literal["all"], Tag("<text>")] | Annotated[LinkName, Tag("<list>")],
    by_kind('the two ends of a link, such as ["Denver", "Kansas City"], or "all"', _links_kind),
]


class DelayFromLength(Table):
    """A delay in proportion to a link's length."""

    speed: Speed = Field("2e8 m/s", description="Speed of light in fibre.")
    plus: Duration = Field("0s", description="What every link adds.")
    length: Length = Field("1000km", description="Of links without a length.")


Delay = Annotated[
    Annotated[PositiveDuration, Tag("<text>")] | Annotated[DelayFromLength, Tag("<table>")],
    by_kind('a duration such as "5ms" or a table such as { speed = "2e8 m/s", plus = "1ms" }'),
]

VaryingDelay = Annotated[
    Annotated[PositiveDuration, Tag("<text>")]
    | Annotated[DelayFromLength, Tag("<table>")]
    | Annotated[DelayTable, Tag("<schedule>")],
    by_kind(
        'a duration such as "5ms", or a table such as { speed = "2e8 m/s", plus = "1ms" } or { table = "delay.csv" }',
        lambda value: kind_of_schedule(value) or value_kind(value),
    ),
]
VaryingCapacity = Annotated[
    Annotated[LinkRate, Tag("<text>")]
    | Annotated[CapacityTable, Tag("<schedule>")]
    | Annotated[CapacityTrace, Tag("<trace>")],
    by_kind(
        'a rate such as "10Mbps", or a table such as { trace = "lte.down" } or { table = "capacity.csv" }',
        lambda value: kind_of_schedule(value) or value_kind(value),
    ),
]


class Queue(Algorithm):
    """A queue discipline."""

    kind = "queue"
    key = "discipline"
    what = "a queue discipline"
    default = "drop-tail"
    discipline: str
    limit: QueueLimit = "100 packets"

    @model_validator(mode="after")
    def _holds_something(self) -> "Queue":
        if units.queue_limit(self.limit).amount == 0:
            raise ValueError("limit must be greater than zero: it counts the packet in transmission")
        return self


class Jitter(Algorithm):
    """A distribution of jitter."""

    kind = "jitter"
    key = "distribution"
    what = "a distribution of jitter"
    default = "uniform"
    distribution: str
    reorder: bool = Field(False, description="Packets overtake those with longer delays; else they wait for these.")


class Shaper(Table):
    """A token bucket that fills at the link's capacity, in front of a faster line."""

    kind: Literal["htb", "tbf"] = Field(
        "htb",
        description="As in Linux. With htb a packet leaves the queue, and is transmitted, while the bucket is not below zero. With tbf the shaper takes a packet "
        "from the queue as soon as it has transmitted the one before, and holds it until the bucket has its bytes.",
    )
    burst: Size = Field(
        description="What the bucket holds. After a pause so much leaves at the rate of the line; with htb one packet more. "
        "With tbf at least the largest packet that comes."
    )
    line: LinkRate = Field(description="Rate at which each packet is transmitted; at least the link's capacity.")

    def compiled(self) -> dict[str, Any]:
        """In bytes, and bits per second."""
        return {"kind": self.kind, "burst": units.size(self.burst), "line": units.rate(self.line)}


class LossModel(Algorithm):
    """A loss model."""

    kind = "loss"
    key = "model"
    what = "a loss model"
    model: str


def _loss_kind(value: object) -> str | None:
    return "<number>" if isinstance(value, str) and value.endswith("%") else value_kind(value)


Loss = Annotated[
    Annotated[Probability, Tag("<number>")] | Annotated[LossModel, Tag("<table>")],
    by_kind(
        'a loss ratio such as 1e-4 or "0.01%", or a table such as { model = "periodic", every = 1000 }', _loss_kind
    ),
]


class InlineNode(Table):
    """A node of an inline topology."""

    name: str = Field(min_length=1, description="As links and traffic call it.")
    latitude: float | None = Field(None, ge=-90, le=90)
    longitude: float | None = Field(None, ge=-180, le=180)


class InlineLink(Table):
    """A link of an inline topology; in both directions unless ``directed``.

    Parallel links become one with the sum of their capacities, and must be alike in all else.
    """

    source: str = Field(description="The node at one end.")
    target: str = Field(description="The node at the other end.")
    directed: bool = Field(False, description="Only from source to target.")
    capacity: LinkRate | None = None
    delay: PositiveDuration | None = None
    length: Length | None = None
    loss: Ratio | None = Field(None, description="Share of packets lost.")
    cost: float | None = Field(None, gt=0, allow_inf_nan=False, description="For the metric cost.")


class OfLinks(Table):
    """The base of tables that belong to certain links."""

    link: SomeLinks = Field("all", description="Its two ends, or all.")
    one_way: bool = Field(False, description="Only from the first node to the second.")

    @model_validator(mode="after")
    def _has_one_way(self) -> "OfLinks":
        if self.one_way and self.link == "all":
            raise ValueError('one_way is for one link; give link = ["A", "B"], from the first node to the second')
        return self


class Override(OfLinks):
    """Properties of certain links, instead of those of the topology or the defaults."""

    capacity: VaryingCapacity | None = Field(None, description="Rate of the transmitter, also one that changes.")
    delay: VaryingDelay | None = Field(None, description="Propagation delay, also one that changes.")
    jitter: Jitter | None = Field(None, description="What each packet is delayed by in addition (default none).")
    queue: Queue | None = Field(None, description="Of each direction.")
    shaper: Shaper | None = Field(None, description="In front of a faster line, at the capacity (default none).")
    cost: float | None = Field(None, gt=0, allow_inf_nan=False, description="For the metric cost.")

    @model_validator(mode="after")
    def _overrides_something(self) -> "Override":
        given = (self.capacity, self.delay, self.jitter, self.queue, self.shaper, self.cost)
        if all(value is None for value in given):
            raise ValueError('needs capacity, delay, jitter, queue, shaper or cost, such as capacity = "10Mbps"')
        return self


class TopologySection(Table):
    """The source of nodes and links, and the defaults of attributes that it does not give."""

    from_: str | None = Field(None, alias="from", min_length=1, description="A TopoHub name, a file, or a built-in.")
    part: Literal["largest"] | None = Field(
        None, description="Of from: the largest connected part alone (default all of it)."
    )
    generate: GeneratedTopology | None = Field(None, description="A generator, by its kind, and its parameters.")
    nodes: list[InlineNode] | None = Field(None, description="Of inline links, for their coordinates.")
    links: list[InlineLink] | None = Field(None, description="An inline topology, instead of from and generate.")
    capacity: LinkRate = Field("100Mbps", description="Of links without a capacity of their own.")
    delay: Delay = Field(DelayFromLength.model_construct(), description="Of links without a delay of their own.")
    queue: Queue = Field(
        "drop-tail", validate_default=True, description="Of every link; a table without discipline is drop-tail."
    )
    override: list[Override] = Field([], description="The latest that names a link holds.")

    @model_validator(mode="after")
    def _one_source(self) -> "TopologySection":
        given = [self.from_ is not None, self.generate is not None, self.links is not None]
        if sum(given) != 1:
            raise ValueError(
                'needs exactly one of from = "topozoo/Abilene", generate = { kind = ... }, or links = [...]'
            )
        if self.part is not None and self.from_ is None:
            raise ValueError("part belongs to from; leave it out")
        if self.nodes is not None and self.links is None:
            raise ValueError("nodes belong to inline links; give links as well")
        return self


class Impairment(OfLinks):
    """Losses of links, in both directions unless ``one_way``."""

    loss: Loss = Field(description="A ratio, or a loss model.")


class Change(OfLinks):
    """Links have another capacity or delay from then on, in both directions unless ``one_way``: a handover."""

    capacity: LinkRate | None = Field(None, description="The new rate of the transmitter.")
    delay: PositiveDuration | None = Field(None, description="The new propagation delay of packets that depart.")
    outage: PositiveDuration | None = Field(None, description="At first nothing departs for this long; packets wait.")

    @model_validator(mode="after")
    def _changes_something(self) -> "Change":
        if self.capacity is None and self.delay is None and self.outage is None:
            raise ValueError('needs capacity, delay or outage, such as delay = "25ms"')
        return self


class Event(Table):
    """Something that happens to links during the run: exactly one of its keys besides ``at`` and ``one_way``."""

    at: Duration = Field("0s", description="When.")
    fail: LinkName | None = Field(None, description="The link goes down, in both directions unless one_way.")
    repair: LinkName | None = Field(None, description="The link comes back empty, in both directions unless one_way.")
    one_way: bool = Field(False, description="Only from the first node to the second; for fail and repair.")
    change: Change | None = Field(None, description="Links have another capacity or delay from then on.")
    impair: Impairment | None = Field(None, description="Links lose packets in another way from then on.")
    reroute: Literal[True] | None = Field(None, description="Routes are recomputed on the links that are up.")

    @model_validator(mode="after")
    def _one_action(self) -> "Event":
        actions = (self.fail, self.repair, self.change, self.impair, self.reroute)
        if sum(action is not None for action in actions) != 1:
            raise ValueError(
                'needs exactly one of fail = ["A", "B"], repair = ["A", "B"], '
                'change = { link = ["A", "B"], delay = "25ms" }, impair = { link = ["A", "B"], loss = 0.01 }, reroute = true'
            )
        if self.one_way and self.fail is None and self.repair is None:
            raise ValueError(
                "one_way is for fail and repair; give it inside change = {...} or impair = {...} for these, else leave it out"
            )
        return self
