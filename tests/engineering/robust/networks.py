"""Small random networks and traffic models for the tests of robust routing."""

from dataclasses import replace

import numpy as np

from anabranch.engineering import robust
from anabranch.engineering.robust import Network
from anabranch.network.topologies import Link, Node, Topology


def random_network(seed: int, nodes: int = 5, extra: int = 4) -> Network:
    """A ring with chords, both ways, of whole capacities from 1 to 9 Mbit/s, the same both ways or not."""
    random = np.random.default_rng(seed)
    pairs = {(node, (node + 1) % nodes) for node in range(nodes)}
    chords = [(one, other) for one in range(nodes) for other in range(one + 2, nodes) if (other, one) not in pairs]
    pairs |= {chords[place] for place in random.permutation(len(chords))[:extra]}
    links = tuple(
        Link(str(source), str(target), int(random.integers(1, 10)) * 10**6, delay_s=int(random.integers(1, 5)) / 1e3)
        for one, other in sorted(pairs)
        for source, target in ((one, other), (other, one))
    )
    return Network.of(Topology(f"random-{seed}", tuple(Node(str(node)) for node in range(nodes)), links))


def random_model(network: Network, seed: int) -> robust.TrafficModel:
    """A hose, pipes, both, a box around a matrix, or an explicit set, of whole Mbit/s."""
    random = np.random.default_rng(seed)
    nodes = network.nodes
    sent, received = (random.integers(1, 6, nodes) * 1e6 for _ in range(2))
    matrix = random.integers(0, 4, (nodes, nodes)) * 1e6
    matrix[0, 1] = 1e6  # there is some traffic
    kind = seed % 5
    if kind == 0:
        return robust.hose(network, sent, received)
    if kind == 1:
        return robust.pipe(network, matrix)
    if kind == 2:
        return robust.bounds(network, sent, received, matrix)
    if kind == 3:
        return robust.box(network, matrix, 0.5, 2.0)
    return robust.matrices(network, [matrix, matrix.T, random.integers(0, 4, (nodes, nodes)) * 1e6])


def very_different_rates(seed: int) -> tuple[Network, robust.TrafficModel]:
    """Links from 1 Mbit/s to 100 Gbit/s, and nodes that send from 1 Mbit/s to 1 Gbit/s."""
    random = np.random.default_rng(seed)
    network = random_network(seed, nodes=4 + seed % 3)
    network = replace(network, capacity=10.0 ** random.integers(6, 12, network.links))
    return network, robust.hose(network, 10.0 ** random.integers(6, 10, network.nodes))
