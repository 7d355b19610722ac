"""Where packets go: next hops or paths x selector x granularity."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, ValidationInfo, WithJsonSchema, model_validator

from anabranch.network import metrics
from anabranch.scenario import splits
from anabranch.scenario.algorithms import Algorithm
from anabranch.scenario.table import Count, Duration, Excess, PositiveDuration, Ratio, Table, by_kind

HASH_FIELDS = ("source", "destination", "source-port", "destination-port")


def _known_metric(value: object) -> object:
    metrics.metric(value)  # type: ignore[arg-type] # refuses what is no text
    return value


Metric = Annotated[
    str,
    BeforeValidator(_known_metric),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [name for name in metrics.NAMES if name != metrics.GOODPUT]},
                {"type": "string", "pattern": "^goodput:.|,"},
            ]
        }
    ),
]


class Disjoint(Table):
    """At most this many disjoint paths of least total weight (Suurballe), or by predicted throughput those that have the most together.

    They share what every path must take at its ends, such as a host's access link.
    """

    disjoint: Count
    by: Literal["links", "nodes"] = Field(
        "links", description="What no two of them share: links, or nodes other than the ends (and so links)."
    )


class Shortest(Table):
    """At most this many shortest loopless paths (Yen)."""

    shortest: Count


class Within(Table):
    """The loopless paths that cost at most a share more than the best, best first.

    By a metric that adds up, ``tcpbp-exact`` or ``goodput:STACK``. With ``select = "weighted"`` their shares are inversely proportional to their costs.
    """

    within: Excess = Field(description="By how much a path may cost more, as a share of the least cost: 0.05 is 5 %.")
    most: Count = Field(8, description="The most paths.")


Path = Annotated[list[str], Field(min_length=2)]


def _paths_kind(value: object) -> str | None:
    if isinstance(value, list):
        return "<list>"
    if isinstance(value, Shortest) or (isinstance(value, dict) and "shortest" in value):
        return "<shortest>"
    if isinstance(value, Within) or (isinstance(value, dict) and "within" in value):
        return "<within>"
    return "<disjoint>" if isinstance(value, dict | Disjoint) else None


Paths = Annotated[
    Annotated[Disjoint, Tag("<disjoint>")]
    | Annotated[Shortest, Tag("<shortest>")]
    | Annotated[Within, Tag("<within>")]
    | Annotated[Annotated[list[Path], Field(min_length=1)], Tag("<list>")],
    by_kind(
        '{ disjoint = 2 }, { shortest = 3 }, { within = 0.05 } or a list of node lists such as [["A", "B", "C"]]',
        _paths_kind,
    ),
]


class Flowlet(Table):
    """Packets of a flow that follow each other within a gap."""

    flowlet: PositiveDuration


Per = Annotated[
    Annotated[Literal["packet", "flow"], Tag("<text>")] | Annotated[Flowlet, Tag("<table>")],
    by_kind('"packet", "flow" or { flowlet = "1ms" }'),
]


class LinkState(Table):
    """Measures links by the packets that pass over them, not by their configuration, and updates the routes (TCPBP, section 5.1)."""

    sample: PositiveDuration = Field(
        "10s", description="Interval over which delay and loss of every link are measured."
    )
    window: Count = Field(3, description="An estimate is the mean of this number of last samples.")
    recompute: PositiveDuration = Field("10s", description="Interval at which routes are recomputed.")
    hysteresis: Ratio = Field(
        0.0, description="A route stays unless another costs less by more than this share of its cost."
    )
    intervals: bool = Field(
        False, description="Whether a route also stays unless the 95 % intervals of both costs are apart."
    )


class Selector(Algorithm):
    """The choice among several next hops or paths."""

    kind = "select"
    what = "a selector"
    noun = "Selector"
    name: str


class Routing(Table):
    """A routing: one shortest path, equal-cost paths (``select`` without ``paths``), or explicit ``paths``."""

    metric: Metric = Field(
        "ospf",
        description="What is short: "
        + "; ".join(f"{name}: {meaning}" for name, meaning in metrics.DESCRIPTIONS.items())
        + '. Several isotone ones with commas decide one after the other: "hop-count, delay".',
    )
    from_: str | None = Field(
        None,
        alias="from",
        min_length=1,
        description="A file with the paths of each pair and their weights: JSON of anabranch robust, plan or routes "
        "(select is weighted, unless it is given).",
    )
    paths: Paths | None = Field(None, description="Several paths instead of next hops.")
    weights: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = Field(
        None, description="One for each explicit path, for the selector weighted."
    )
    select: Selector | None = Field(None, description="How one of several paths is chosen (default hash).")
    per: Per | None = Field(None, description="Unit for which a path is chosen (default flow for hash, else packet).")
    hash: list[Literal["source", "destination", "source-port", "destination-port"]] | None = Field(
        None, min_length=1, description="Header fields that the hash reads (default all four)."
    )
    acks: str | None = Field(None, description="The routing that ACKs take (default this one).")
    reconverge: Duration | None = Field(
        None, description="After a link fails or comes back, routes are recomputed after this time (default never)."
    )
    link_state: LinkState | None = Field(
        None, description="Routes follow what is measured of the links; {} takes the testbed's values."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, data: Any, info: ValidationInfo) -> Any:
        """Explicit paths and weights from the file."""
        if not isinstance(data, dict) or not isinstance(data.get("from"), str):
            return data
        both = next((key for key in ("paths", "weights") if key in data), None)
        if both is not None:
            raise ValueError(f"from names a file of paths and weights, so {both} cannot stand beside it")
        paths, weights = splits.read(data["from"], (info.context or {}).get("directory"))
        weighted = data.get("select", "weighted") in ("weighted", {"name": "weighted"})
        return {**data, "paths": paths} | ({"select": "weighted", "weights": weights} if weighted else {})

    @model_validator(mode="after")
    def _consistent(self) -> "Routing":
        several = self.paths is not None or self.select is not None
        if not several and (self.per is not None or self.hash is not None):
            raise ValueError("per and hash choose among several; give select (equal-cost paths) or paths as well")
        if self.selector == "hash" and self.granularity not in ("flow", "packet"):
            raise ValueError(
                'all packets of a flow hash alike unless they have entropy values, so hash goes with per = "flow", '
                'or "packet" with these values; use select = "random" or "round-robin" for flowlets'
            )
        self._check_metric()
        self._check_link_state()
        if self.hash is not None and self.selector != "hash":
            raise ValueError(f'hash fields go with select = "hash", not "{self.selector}"')
        explicit = len(self.paths) if isinstance(self.paths, list) else None
        by_throughput = metrics.declared(self.metric) in metrics.BY_THROUGHPUT
        by_cost = isinstance(self.paths, Within) or (isinstance(self.paths, Disjoint) and by_throughput)
        by_cost = by_cost and self.weights is None
        if not by_cost and (self.selector == "weighted") != (self.weights is not None):
            raise ValueError('select = "weighted" and weights go together')
        if self.weights is not None and len(self.weights) != explicit:
            raise ValueError(
                f"weights has {len(self.weights)} entries; it needs one for each explicit path of paths = [[...], ...]"
            )
        return self

    def _check_metric(self) -> None:
        by_throughput = metrics.declared(self.metric) in metrics.BY_THROUGHPUT
        if isinstance(self.paths, Disjoint | Within) and self.metric not in metrics.SUMS and not by_throughput:
            kind = "disjoint paths" if isinstance(self.paths, Disjoint) else "paths within a share of the least cost"
            raise ValueError(
                f"{kind} go by a metric that adds up or by predicted throughput: {', '.join(metrics.SUMS)}, tcpbp-exact or "
                f'{metrics.GOODPUT}, not "{self.metric}"'
            )
        if not by_throughput:
            return
        if self.paths is None and self.select is not None:
            raise ValueError(f'"{self.metric}" has no equal-cost next hops; leave select out, or give paths')
        several = isinstance(self.paths, Within) or (isinstance(self.paths, Shortest) and self.paths.shortest > 1)
        if several and self.metric == "tcpbp":
            raise ValueError(
                'the search by "tcpbp" finds one path: paths = { shortest = 1 }, or leave paths out to forward hop '
                'by hop; for several paths use metric = "tcpbp-exact"'
            )

    def _check_link_state(self) -> None:
        if self.link_state is None:
            return
        if self.metric not in metrics.MEASURABLE:
            raise ValueError(
                f'link_state measures delay and loss, and the metric "{self.metric}" is not made of these: '
                f"give {', '.join(metrics.MEASURABLE)}, or leave link_state out"
            )
        single = isinstance(self.paths, Shortest) and self.paths.shortest == 1
        if self.select is not None or not (self.paths is None or single):
            raise ValueError(
                "link_state goes with one route for each pair: leave select and paths out to forward hop by hop, "
                "or give paths = { shortest = 1 }"
            )

    @property
    def selector(self) -> str:
        """The selector, with the default filled in."""
        return "hash" if self.select is None else self.select.name

    @property
    def granularity(self) -> str | Flowlet:
        """The granularity, with the default filled in."""
        return self.per or ("flow" if self.selector == "hash" else "packet")
