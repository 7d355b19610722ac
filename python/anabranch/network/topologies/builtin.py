"""Topologies that need no file: the generators with their defaults, and those of two papers with the papers' names."""

from collections.abc import Callable

from anabranch.network.topologies.generate import GENERATORS
from anabranch.network.topologies.links import Link
from anabranch.network.topologies.model import Node, Topology

_LIGHT_KM_S = 3e5
_REFRACTION = 1.4

# "Fixed robust routing" (Fukushima et al.): the paper prints neither links nor lengths; these are NSFNET's as most
# sources have them, in km. The delay is the paper's rule, and confirms the western lengths by its Figure 9.
_NSFNET_KM = {
    (1, 2): 1000, (1, 3): 1500, (1, 8): 2400, (2, 3): 600, (2, 4): 750, (3, 6): 1800, (4, 5): 600,
    (4, 11): 1950, (5, 6): 1200, (5, 7): 600, (6, 10): 1050, (6, 14): 1800, (7, 8): 750, (8, 9): 750,
    (9, 10): 750, (9, 12): 300, (9, 13): 300, (11, 12): 600, (11, 13): 750, (12, 14): 300, (13, 14): 150,
}  # fmt: skip
# The links among nodes 9 to 14 in the second version, which has 13 and 14 swapped at 9, 11 and 12. On it, some order of equally short
# paths gives all loads of the paper's Figure 12.
_NSFNET_V2_EAST_KM = {(9, 12): 300, (9, 14): 300, (11, 12): 600, (11, 14): 750, (12, 13): 300, (13, 14): 150}

# "TCPBP", Figures 3 and 4: delay in seconds and loss ratio. The printed delay matrix gives 2 to 3 0.0040 and 3 to 2
# 0.0044.
_TCPBP10 = {
    (1, 3): (0.0085, 0.003), (1, 5): (0.004, 0.0181), (1, 6): (0.0015, 0.009), (1, 9): (0.0032, 0.0012),
    (2, 3): (0.0040, 0.004), (2, 5): (0.0055, 0.0079), (2, 8): (0.0019, 0.0116), (2, 9): (0.007, 0.0196),
    (3, 4): (0.0018, 0.0002), (3, 6): (0.0096, 0.0116), (3, 7): (0.0082, 0.0144), (3, 10): (0.0044, 0.0192),
    (4, 5): (0.0005, 0.0005), (4, 7): (0.0073, 0.013), (4, 10): (0.003, 0.0037), (5, 6): (0.0094, 0.0137),
    (5, 8): (1e-5, 0.0023), (5, 9): (0.0063, 0.0057), (5, 10): (0.005, 0.0039), (7, 9): (0.0054, 0.0119),
    (7, 10): (0.0076, 0.0068),
}  # fmt: skip
_TCPBP10_BPS = 1_000_000_000  # section 5


def nsfnet(kilometres_1_2: int = 1000) -> Topology:
    """NSFNET's 14 nodes and 21 links, with lengths and the paper's delays (1.4 times that of light in a vacuum).

    The argument is the length that sources give in two ways: 1000 confirms the paper's Figure 9, most others have 1050.
    """
    name = "nsfnet" if kilometres_1_2 == 1000 else f"nsfnet-{kilometres_1_2}"
    return _of_lengths(name, 14, _NSFNET_KM | {(1, 2): kilometres_1_2})


def nsfnet_v2() -> Topology:
    """NSFNET with 9-14, 11-14 and 12-13 in place of 9-13, 11-13 and 12-14."""
    western = {ends: kilometres for ends, kilometres in _NSFNET_KM.items() if ends[0] < 9 or ends == (9, 10)}
    return _of_lengths("nsfnet-v2", 14, western | _NSFNET_V2_EAST_KM)


def tcpbp10(delay_2_3_s: float = 0.0040) -> Topology:
    """The ten-node testbed of the TCPBP paper, 1 Gbit/s links; the argument is the delay that it prints in two ways."""
    pairs = {ends: {"delay_s": delay, "loss": loss} for ends, (delay, loss) in _TCPBP10.items()}
    pairs[2, 3]["delay_s"] = delay_2_3_s
    return _numbered("tcpbp10", 10, pairs, _TCPBP10_BPS)


BUILTINS: dict[str, Callable[[], Topology]] = {
    **GENERATORS,
    "nsfnet": nsfnet,
    "nsfnet-1050": lambda: nsfnet(1050),
    "nsfnet-v2": nsfnet_v2,
    "tcpbp10": tcpbp10,
    "tcpbp10-d23-0.0044": lambda: tcpbp10(0.0044),
}
"""The topologies by name."""


def _of_lengths(name: str, count: int, kilometres: dict[tuple[int, int], int]) -> Topology:
    pairs = {
        ends: {"length_m": length * 1000.0, "delay_s": length * _REFRACTION / _LIGHT_KM_S}
        for ends, length in kilometres.items()
    }
    return _numbered(name, count, pairs)


def _numbered(
    name: str, count: int, pairs: dict[tuple[int, int], dict[str, float]], capacity_bps: int | None = None
) -> Topology:
    links = [
        Link(str(source), str(target), capacity_bps, **values)
        for (one, other), values in pairs.items()
        for source, target in ((one, other), (other, one))
    ]
    return Topology(name, tuple(Node(str(number)) for number in range(1, count + 1)), tuple(links))
