"""The network of a measurement, from a topology or a scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.compile.run import compile_run, same_for_all_seeds
from anabranch.engines.openflow.cabling import KEPT, cables
from anabranch.engines.openflow.plan import LabPlan
from anabranch.scenario import Scenario
from anabranch.studies.papers.tcpbp.networks import noisy

FASTEST_BPS = 1_000_000_000


class MeasurementError(ValueError):
    """A network or a measurement that is not possible."""


@dataclass(frozen=True)
class LiveNetwork:
    """The parts of a scenario that make a network."""

    document: Mapping[str, Any]
    directory: Path
    name: str
    seed: int
    """Of losses, and of values that are drawn."""

    @classmethod
    def of(cls, source: str, rate: str | None, seed: int, *, is_drawn: bool = False) -> "LiveNetwork":
        """The network of a scenario's file, or of a topology by its name or file.

        All links have the ``rate``, if it is given. ``is_drawn``: delay and loss of each cable are drawn within 5 %.

        Raises:
            ScenarioError: names what is wrong with the network.
            MeasurementError: the network cannot be built, and why.
        """
        if source.endswith(".toml"):
            scenario = Scenario.load(source)
            document = {key: scenario.document[key] for key in KEPT if key in scenario.document}
            own = cls(document, scenario.directory, scenario.title, seed)
        else:
            own = cls({"topology": {"from": source}}, Path(), Path(source).stem, seed)
        if rate is not None:
            own = own._with(override=[{"link": "all", "capacity": rate}])
        own._check()
        return own._drawn() if is_drawn else own

    def cables(self) -> Scenario:
        """The scenario of the cables."""
        return cables(self.document, self.seed, self.directory)

    def scenario(self, **sections: Any) -> Scenario:
        """The network with traffic, stacks, routings and a run."""
        return Scenario(dict(self.document) | sections, directory=self.directory)

    def _with(
        self, override: Sequence[Mapping[str, Any]] = (), impairments: Sequence[Mapping[str, Any]] = ()
    ) -> "LiveNetwork":
        topology = dict(self.document["topology"])
        topology["override"] = [*topology.get("override", ()), *override]
        document = dict(self.document) | {
            "topology": topology,
            "impairments": [*self.document.get("impairments", ()), *impairments],
        }
        return LiveNetwork(document, self.directory, self.name, self.seed)

    def _check(self) -> None:
        scenario = self.cables()
        if len(scenario.cases) > 1:
            raise MeasurementError(
                f"{self.name}: has {len(scenario.cases)} variants of its network: leave one value in each list"
            )
        if same_for_all_seeds(scenario.cases[0]).has_bdp:
            raise MeasurementError(
                f'{self.name}: a queue in "bdp" is as long as the traffic needs, which differs between tests: give its limit in packets'
            )
        run = compile_run(scenario.cases[0], self.seed)
        fastest = max(link["rate"] for link in run["links"])
        if fastest > FASTEST_BPS:
            raise MeasurementError(
                f"{self.name}: has a link of {fastest / 1e9:g} Gbit/s: switches in user space carry at most 1 Gbit/s; give --rate, such as 10Mbps"
            )
        there = {(link["src"], link["dst"]) for link in run["links"]}
        for source, target in there:
            if (target, source) not in there:
                ends = run["nodes"][source], run["nodes"][target]
                raise MeasurementError(
                    f"{self.name}: the link from {ends[0]} to {ends[1]} has none back: cables have two directions"
                )

    def _drawn(self) -> "LiveNetwork":
        plan = LabPlan(self.cables(), ())
        run = compile_run(plan.scenario.cases[0], self.seed)
        for link in run["links"]:
            fixed = link["loss"] is None or link["loss"]["model"] == "bernoulli"
            if not fixed or "delay_schedule" in link:
                raise MeasurementError(
                    f"{self.name}: values are drawn of fixed delays and of loss ratios; this network has others: use the printed values"
                )
        links = noisy(plan.topology, self.seed).links
        ends = [{"link": [link.source, link.target], "one_way": True} for link in links]
        delays = [own | {"delay": f"{(link.delay_s or 0) * 1e12:.0f}ps"} for own, link in zip(ends, links, strict=True)]
        losses = [own | {"loss": link.loss} for own, link in zip(ends, links, strict=True) if link.loss]
        return self._with(override=delays, impairments=losses)
