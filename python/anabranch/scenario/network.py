"""The network of a scenario: where the topology comes from, what its links are like, and what happens to them."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Tag, model_validator

from anabranch import units
from anabranch.scenario.generators import Generate
from anabranch.scenario.table import (
    Count,
    Duration,
    Length,
    LinkName,
    LinkRate,
    NameOrTable,
    PositiveDuration,
    Probability,
    Ratio,
    Speed,
    Table,
    TextUnit,
    Weight,
    by_kind,
    value_kind,
)

QueueLimit = Annotated[
    str,
    BeforeValidator(TextUnit(units.queue_limit)),
    Field(description="packets, bytes, or bdp: link rate times the longest base round-trip time of the traffic"),
]
SomeLinks = Annotated[
    Annotated[Literal["all"], Tag("<text>")] | Annotated[LinkName, Tag("<list>")],
    by_kind('the two ends of a link, such as ["Denver", "Kansas City"], or "all"'),
]


class DelayFromLength(Table):
    """A delay in proportion to a link's length."""

    speed: Speed = Field("2e8 m/s", description="Speed of light in fibre.")
    plus: Duration = Field("0s", description="What every link adds.")
    length: Length = Field("1000km", description="Of links whose length nobody gives.")


Delay = Annotated[
    Annotated[PositiveDuration, Tag("<text>")] | Annotated[DelayFromLength, Tag("<table>")],
    by_kind('a duration such as "5ms" or a table such as { speed = "2e8 m/s", plus = "1ms" }'),
]


class _Queue(Table):
    limit: QueueLimit = "100 packets"

    @model_validator(mode="after")
    def _holds_something(self) -> "_Queue":
        if units.queue_limit(self.limit).amount == 0:
            raise ValueError("limit must be greater than zero: it counts the packet in transmission")
        return self


class DropTail(_Queue):
    """First in, first out; a packet that finds the queue full is dropped."""

    discipline: Literal["drop-tail"]


class Red(_Queue):
    """Random early detection (Floyd and Jacobson 1993), gentle. Thresholds are averages of the queue in packets."""

    discipline: Literal["red"]
    minimum: float = Field(5.0, ge=0, allow_inf_nan=False, description="No drop below this average.")
    maximum: float = Field(15.0, gt=0, allow_inf_nan=False, description="From here on drops rise faster.")
    probability: Probability = Field(0.1, description="Of a drop at the maximum.")
    weight: Weight = Field(0.002, description="Of a new queue length in the average.")
    ecn: bool = Field(False, description="Marks ECN-capable packets instead of dropping them.")

    @model_validator(mode="after")
    def _ordered(self) -> "Red":
        if self.minimum >= self.maximum:
            raise ValueError(f"minimum {self.minimum} must be below maximum {self.maximum}")
        return self


class Codel(_Queue):
    """Controlled delay (RFC 8289)."""

    discipline: Literal["codel"]
    target: PositiveDuration = Field("5ms", description="Acceptable standing wait.")
    interval: PositiveDuration = Field("100ms", description="The wait must stay above target this long.")
    ecn: bool = Field(False, description="Marks ECN-capable packets instead of dropping them.")

    @model_validator(mode="after")
    def _ordered(self) -> "Codel":
        if units.duration(self.target) > units.duration(self.interval):
            raise ValueError(f'target "{self.target}" must not exceed interval "{self.interval}"')
        return self


class EcnThreshold(_Queue):
    """Drop-tail that marks ECN-capable packets from a backlog of ``mark`` packets on (DCTCP, RFC 8257)."""

    discipline: Literal["ecn-threshold"]
    mark: Count = Field(65, description="Backlog in packets from which on packets are marked.")


Queue = Annotated[
    Annotated[DropTail | Red | Codel | EcnThreshold, Field(discriminator="discipline")],
    NameOrTable("discipline", "a queue discipline", ("drop-tail", "red", "codel", "ecn-threshold"), "drop-tail"),
]


class Bernoulli(Table):
    """Each packet independently."""

    model: Literal["bernoulli"]
    ratio: Probability = Field(description="Share of packets lost; 1 is an outage.")


class GilbertElliott(Table):
    """Two states with a loss ratio each, changing per packet (Gilbert 1960, Elliott 1963)."""

    model: Literal["gilbert-elliott"]
    good_to_bad: Probability = Field(description="Of leaving the good state, per packet.")
    bad_to_good: Probability = Field(description="Of leaving the bad state, per packet.")
    loss_good: Probability = Field(0.0, description="Loss ratio in the good state.")
    loss_bad: Probability = Field(1.0, description="Loss ratio in the bad state.")


class Periodic(Table):
    """Every n-th packet."""

    model: Literal["periodic"]
    every: Count = Field(description="Which packet is lost: every n-th.")


class LossList(Table):
    """The packets with these numbers, counted from 1 over all that arrive at the link."""

    model: Literal["list"]
    packets: list[Count] = Field(description="Their numbers.")


def _loss_kind(value: object) -> str | None:
    return "<number>" if isinstance(value, str) and value.endswith("%") else value_kind(value)


Loss = Annotated[
    Annotated[Probability, Tag("<number>")]
    | Annotated[
        Annotated[
            Annotated[Bernoulli | GilbertElliott | Periodic | LossList, Field(discriminator="model")],
            NameOrTable("model", "a loss model", ("bernoulli", "gilbert-elliott", "periodic", "list")),
        ],
        Tag("<table>"),
    ],
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


class Override(Table):
    """What certain links have, whatever the topology or the defaults say."""

    link: SomeLinks = Field("all", description="Its two ends, or all.")
    one_way: bool = Field(False, description="Only from the first node to the second.")
    capacity: LinkRate | None = None
    delay: Delay | None = Field(None, description="Propagation delay.")
    queue: Queue | None = Field(None, description="Of each direction.")
    cost: float | None = Field(None, gt=0, allow_inf_nan=False, description="For the metric cost.")


class TopologySection(Table):
    """Where the nodes and links come from, and what links have of which the topology says nothing."""

    from_: str | None = Field(None, alias="from", min_length=1, description="A TopoHub name, a file, or a built-in.")
    generate: Generate | None = Field(None, description="A generator, by its kind, and its parameters.")
    nodes: list[InlineNode] | None = Field(None, description="Of inline links, for their coordinates.")
    links: list[InlineLink] | None = Field(None, description="An inline topology, instead of from and generate.")
    capacity: LinkRate = Field("100Mbps", description="Of links without a capacity of their own.")
    delay: Delay = Field(DelayFromLength(), description="Of links without a delay of their own.")
    queue: Queue = Field(
        DropTail(discipline="drop-tail"), description="Of every link; a table without discipline is drop-tail."
    )
    override: list[Override] = Field([], description="The latest that names a link holds.")

    @model_validator(mode="after")
    def _one_source(self) -> "TopologySection":
        given = [self.from_ is not None, self.generate is not None, self.links is not None]
        if sum(given) != 1:
            raise ValueError(
                'needs exactly one of from = "topozoo/Abilene", generate = { kind = ... }, or links = [...]'
            )
        if self.nodes is not None and self.links is None:
            raise ValueError("nodes belong to inline links; give links as well")
        return self


class Impairment(Table):
    """What links lose, in both directions unless ``one_way``."""

    link: SomeLinks = Field("all", description="Its two ends, or all.")
    one_way: bool = Field(False, description="Only from the first node to the second.")
    loss: Loss = Field(description="A ratio, or a loss model.")


class Event(Table):
    """Something that happens to links during the run: exactly one of ``fail``, ``repair``, ``impair``, ``reroute``."""

    at: Duration = Field("0s", description="When.")
    fail: LinkName | None = Field(None, description="The link goes down, in both directions unless one_way.")
    repair: LinkName | None = Field(None, description="The link comes back empty, in both directions unless one_way.")
    one_way: bool = Field(False, description="Only from the first node to the second; for fail and repair.")
    impair: Impairment | None = Field(None, description="Links lose packets in another way from then on.")
    reroute: Literal[True] | None = Field(None, description="Routes are computed anew on the links that are up.")

    @model_validator(mode="after")
    def _one_action(self) -> "Event":
        if sum(action is not None for action in (self.fail, self.repair, self.impair, self.reroute)) != 1:
            raise ValueError(
                'needs exactly one of fail = ["A", "B"], repair = ["A", "B"], '
                'impair = { link = ["A", "B"], loss = 0.01 }, reroute = true'
            )
        if self.one_way and self.fail is None and self.repair is None:
            raise ValueError(
                "one_way is for fail and repair; give it inside impair = {...} for that, else leave it out"
            )
        return self
