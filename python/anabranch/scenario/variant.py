"""One scenario without a matrix: one value at every key."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Tag, model_validator

from anabranch.foundation import units
from anabranch.scenario.network import Event, Impairment, TopologySection
from anabranch.scenario.routing import Routing
from anabranch.scenario.stacks import PRESETS, Stack, preset_stack
from anabranch.scenario.table import Duration, LinkName, PositiveDuration, Table, by_kind
from anabranch.scenario.traffic import DEFAULT_STACK, Traffic

IMPLICIT_ROUTINGS = {"ospf": Routing.model_construct()}
"""Routings that need no definition."""
DIRECT = "direct"
"""The routing of traffic between neighbours: each pair over its own link."""

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1)]
MOST_SEEDS = 10_000
MOST_SAMPLES = 1_000_000
"""Samples of a run; a table of more is none that anyone reads."""
NumberOfSeeds = Annotated[int, Field(ge=1, le=MOST_SEEDS)]
ListOfSeeds = Annotated[list[Seed], Field(min_length=1)]
Seeds = Annotated[
    Annotated[NumberOfSeeds, Tag("<number>")] | Annotated[ListOfSeeds, Tag("<list>")],
    by_kind("a number of seeds such as 5 (1 to 5) or a list such as [1, 7]"),
]


class Run(Table):
    """Duration, seeds and samples of the runs."""

    duration: PositiveDuration = Field("30s", description="Virtual time of a run.")
    warm_up: Duration = Field("0s", description="Counters begin at this time.")
    seed: Seed | None = Field(None, description="One run with this seed (default 1).")
    seeds: Seeds | None = Field(None, description="One run for each seed: a number n for 1 to n, or a list.")
    sample: PositiveDuration | None = Field(None, description="Interval of the time series (default none).")
    delays: bool = Field(
        False,
        description="Record how long packets take: one-way delays, jitter and RTT samples of each flow, waits at each link "
        "([results](results.md#how-long-packets-took)). A run then takes longer.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Run":
        if self.seed is not None and self.seeds is not None:
            raise ValueError("give either seed or seeds")
        if isinstance(self.seeds, list) and len(set(self.seeds)) != len(self.seeds):
            raise ValueError("seeds must differ from each other")
        if units.duration(self.warm_up) >= units.duration(self.duration):
            raise ValueError(f'warm_up "{self.warm_up}" must be shorter than duration "{self.duration}"')
        if self.sample is not None and units.duration(self.duration) > MOST_SAMPLES * units.duration(self.sample):
            raise ValueError(f'sample "{self.sample}" makes over a million samples of "{self.duration}"')
        return self

    def seed_list(self) -> list[int]:
        """The seeds to run, in order."""
        if self.seeds is not None:
            return seed_list(self.seeds)
        return [1 if self.seed is None else self.seed]


def seed_list(seeds: int | list[int]) -> list[int]:
    """The seeds that a number or a list stands for."""
    return seeds if isinstance(seeds, list) else list(range(1, seeds + 1))


def _with_presets(stacks: Any) -> Any:
    """A stack with the name of a preset begins with it, so that it cannot mean another one by what it leaves out."""
    if not isinstance(stacks, dict):
        return stacks
    return {
        name: {"preset": name} | stack if name in PRESETS and isinstance(stack, dict) else stack
        for name, stack in stacks.items()
    }


class Variant(Table):
    """One scenario without a matrix."""

    title: str = Field("", description="The question that the scenario answers.")
    topology: TopologySection = Field(description="The network.")
    stacks: Annotated[dict[Name, Stack], BeforeValidator(_with_presets)] = Field(
        {}, description="Transport stacks by name; a preset needs no entry, and an entry of its name has its keys."
    )
    routing: dict[Name, Routing] = Field({}, description="Routings by name; ospf needs no entry.")
    traffic: list[Traffic] = Field(min_length=1, description="Groups of flows.")
    impairments: list[Impairment] = Field([], description="What links lose.")
    events: list[Event] = Field([], description="Failures, repairs and changes of links during the run.")
    run: Run = Field(Run.model_construct(), description="Duration, seeds and recording of the runs.")
    capture: list[LinkName] = Field([], description="Links whose packets are written to pcapng files.")

    def all_stacks(self) -> dict[str, Stack]:
        """The stacks that traffic uses or the scenario defines, with the presets that traffic takes."""
        used = [self.stack_of(entry) for entry in self.traffic if entry.transport == "tcp"]
        presets = [name for name in dict.fromkeys(used) if name in PRESETS and name not in self.stacks]
        return self.stacks | {name: preset_stack(name) for name in presets if name}

    def all_routings(self) -> dict[str, Routing]:
        """The routings that the scenario defines, and the implicit ones that it uses."""
        used = {self.routing_of(entry) for entry in self.traffic} | {routing.acks for routing in self.routing.values()}
        return {name: value for name, value in IMPLICIT_ROUTINGS.items() if name in used} | self.routing

    def stack_of(self, traffic: Traffic) -> str | None:
        """The name of a traffic group's stack: if it names none, the only one defined; ``None`` if several are."""
        if traffic.stack is not None:
            return traffic.stack
        if not self.stacks:
            return DEFAULT_STACK
        return next(iter(self.stacks)) if len(self.stacks) == 1 else None

    def routing_of(self, traffic: Traffic) -> str | None:
        """The name of the routing of a traffic group, as :meth:`stack_of`; ``ospf`` if none is defined."""
        if traffic.pattern == "neighbours":
            return DIRECT
        if traffic.routing is not None:
            return traffic.routing
        if not self.routing:
            return "ospf"
        return next(iter(self.routing)) if len(self.routing) == 1 else None
