"""What is asked: a network, its traffic, and what counts as best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from anabranch.scenario import Scenario

Objective = Literal["goodput", "worst-flow", "completion"]
OBJECTIVES: Sequence[str] = get_args(Objective)
"""The total goodput, the least goodput of a flow, or the mean completion time of flows with a size."""


@dataclass(frozen=True)
class Question:
    """A scenario without stacks and routings, and an objective."""

    document: Mapping[str, Any]
    directory: Path
    name: str
    objective: Objective = "goodput"

    @classmethod
    def of_network(
        cls,
        topology: str,
        *,
        pairs: Sequence[tuple[str, str]] = (),
        demands: Path | None = None,
        flows: int = 1,
        size: str | None = None,
        capacity: str | None = None,
        loss: float | None = None,
        objective: Objective = "goodput",
    ) -> "Question":
        """Bulk flows, or one transfer of ``size`` each, between pairs; or the rates of a file of demands.

        ``flows`` is the number of flows of each pair. ``capacity`` is that of links without their own. ``loss`` is the loss ratio of every link.
        """
        section = {"from": topology} | ({"capacity": capacity} if capacity else {})
        group: dict[str, Any] = {"flows": flows}
        if demands is not None:
            group["matrix"] = str(demands)
        else:
            group |= {"from": [pair[0] for pair in pairs], "to": [pair[1] for pair in pairs], "pattern": "pairs"}
            group |= {"size": size} if size else {"bulk": True}
        document: dict[str, Any] = {"topology": section, "traffic": [group]}
        if loss:
            document["impairments"] = [{"link": "all", "loss": loss}]
        return cls(document, Path(), Path(topology).stem, objective)

    @classmethod
    def of_scenario(cls, scenario: Scenario, objective: Objective = "goodput") -> "Question":
        """The topology, traffic, losses and events of a scenario; its stacks and routings are what is asked for."""
        answered = ("stacks", "routing", "run", "capture", "title")
        document = {key: value for key, value in scenario.document.items() if key not in answered}
        document["traffic"] = [
            {key: value for key, value in group.items() if key not in ("stack", "routing")}
            for group in document["traffic"]
        ]
        return cls(document, scenario.directory, scenario.title, objective)

    def scenario(
        self,
        stacks: Mapping[str, Any],
        routings: Mapping[str, Any],
        stack: str,
        routing: str,
        run: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """The scenario that defines these stacks and routings, and whose traffic uses one of each.

        Raises:
            ScenarioError: names what is wrong in the network or the traffic.
        """
        traffic = [
            dict(group) | {"routing": routing} | ({} if group.get("transport") == "udp" else {"stack": stack})
            for group in self.document["traffic"]
        ]
        document = dict(self.document) | {"traffic": traffic, "stacks": dict(stacks), "routing": dict(routings)}
        return Scenario(document | {"run": dict(run or {})}, source=self.name, directory=self.directory)
