"""The cables between the switches, as a scenario."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.engines.kernel.linux_network.cables import LONGEST
from anabranch.network.topologies import Topology
from anabranch.scenario import Scenario

KEPT = ("title", "topology", "impairments")
"""The parts of a scenario that make its cables."""


def document_of(topology: Topology, queue: str) -> dict[str, Any]:
    """The document of a topology whose links have rate, delay and loss; ``queue`` is the limit of each."""
    links = [
        {
            "source": link.source,
            "target": link.target,
            "directed": True,
            "capacity": f"{link.capacity_bps:.0f}bps",
            "delay": f"{(link.delay_s or 0) * 1e12:.0f}ps",
            "loss": link.loss or 0.0,
        }
        for link in topology.links
    ]
    return {"title": topology.name, "topology": {"links": links, "queue": {"limit": queue}}}


def cables(document: Mapping[str, Any], seed: int, directory: Path | None = None, also: Sequence[str] = ()) -> Scenario:
    """The scenario of the cables of a document: its topology and its losses, which the seed draws, and ``also`` other parts.

    Raises:
        ScenarioError: names what is wrong in the document.
    """
    own = {key: document[key] for key in (*KEPT, *also) if key in document}
    every = {"from": "all", "to": "all", "pattern": "neighbours", "constant": "1Mbps", "transport": "udp"}
    return Scenario(own | {"traffic": [every], "run": {"duration": LONGEST, "seed": seed}}, directory=directory)
