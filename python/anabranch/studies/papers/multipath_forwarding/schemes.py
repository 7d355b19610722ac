"""The sender, the receiver and the forwarding of each scheme, as settings of the scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """A way of using several paths."""

    label: str
    """The name in figures."""
    detection: str = '"dup-ack"'
    ack: str = '"immediate"'
    routing: str = '"packet"'

    @property
    def name(self) -> str:
        """The name in directories."""
        return self.label.replace(" ", "-")

    def settings(self, routing: str | None = None) -> dict[str, str]:
        """Settings of a scenario with one stack ``tcp`` and two kinds of traffic; ``routing`` replaces the scheme's routing."""
        name = self.routing if routing is None else f'"{routing}"'
        return {
            "stacks.tcp.detection": self.detection,
            "stacks.tcp.ack": self.ack,
            "traffic.0.routing": name,
            "traffic.1.routing": name,
        }


STANDARD = Scheme("no delay")
DELAYED = Scheme("delayed ACK", ack='"delayed"')
MODIFIED = Scheme("modified delayed ACK", ack='"modified-delayed"')
THRESHOLD = Scheme("threshold by paths", detection='"path-count"')
INTEGRATED = Scheme("integrated", detection='"path-count"', ack='"modified-delayed"')
FLOW_LEVEL = Scheme("flow-level", routing='"flow"')

PROPOSED = (MODIFIED, THRESHOLD, INTEGRATED)
PACKET_LEVEL = (STANDARD, DELAYED, *PROPOSED)
ALL = (*PACKET_LEVEL, FLOW_LEVEL)
LABELS = [scheme.label for scheme in ALL]


def merged(*settings: Mapping[str, str]) -> dict[str, str]:
    """All settings in one; later ones replace earlier ones."""
    return {key: value for one in settings for key, value in one.items()}
