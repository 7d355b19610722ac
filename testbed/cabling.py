"""The cables between the switches, as a scenario."""

import tomlkit

from anabranch.engines.kernel.linux_network.cables import LONGEST
from anabranch.scenario import Scenario
from testbed.plan import Plan


def scenario(plan: Plan, seed: int) -> Scenario:
    """The scenario: each direction of a cable is a link, and the seed draws losses."""
    links = [
        {
            "source": link.source,
            "target": link.target,
            "directed": True,
            "capacity": f"{link.capacity_bps:.0f}bps",
            "delay": f"{(link.delay_s or 0) * 1e12:.0f}ps",
            "loss": link.loss,
        }
        for link in plan.topology.links
    ]
    document = {
        "topology": {"links": links, "queue": {"limit": "1000packets"}},
        "traffic": [{"from": "all", "to": "all", "pattern": "neighbours", "constant": "1Mbps", "transport": "udp"}],
        "run": {"duration": LONGEST, "seed": seed},
    }
    return Scenario.from_toml(tomlkit.dumps(document))
