"""The three networks of the thesis, and names of their routings and queues for tables."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A network and its flow; ``key`` is the name of its experiment."""

    key: str
    name: str
    source: str
    target: str
    paths: int
    """Number of link-disjoint paths, which the thesis' 20 and 30 Mbit/s need."""
    one_path: str
    """The figure with a single path."""
    sprayed: str
    """The figure with several paths."""


GRID = Place("grid", "the grid", "r1c1", "r2c2", 2, "Figure 2.3", "Figure 2.4")
ABILENE = Place("abilene", "Abilene", "Seattle", "Atlanta", 2, "Figure 5.3", "Figure 5.5")
ATT = Place("att", "AT&T", "ORLD", "SNFN", 3, "Figure 5.4", "Figure 5.6")

QUEUES = {
    "drop-tail limit=20 packets": "20 packets",
    "drop-tail limit=50 packets": "50 packets",
    "drop-tail limit=100 packets": "100 packets",
    "codel": "CoDel",
}
"""The queues of the experiments in words."""
FORWARDING = {
    "ospf": "one path",
    "ecmp": "hop by hop, at random",
    "ecmp-in-turn": "hop by hop, in turn",
    "disjoint": "disjoint paths, at random",
    "disjoint-acks-in-turn": "disjoint paths, data at random, ACKs in turn",
    "disjoint-acks-on-one-path": "disjoint paths, data at random, ACKs on one path",
    "disjoint-in-turn-acks-at-random": "disjoint paths, data in turn, ACKs at random",
    "disjoint-in-turn": "disjoint paths, in turn",
    "disjoint-by-delay": "disjoint paths of least delay, at random",
}
"""The routings of the scenarios in words."""
