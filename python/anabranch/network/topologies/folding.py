"""Groups of nodes that a map of a large fabric shows as one: the hosts of a pod, its switches of a tier, and the switches above all pods.

A *host* is a node with one neighbour, and the *tier* of a node its distance from the nearest host. Without the switches of the highest tier the
network falls into pods: in a leaf-spine, a leaf and its hosts.
"""

from collections.abc import Iterable, Sequence

from anabranch.network.topologies.tiers import neighbours_of, tiers_of

MOST_NODES = 150
"""A map of more nodes is folded, if its nodes form tiers."""
MOST_PODS = 64
"""Of more pods, several that follow one another are one group."""


def folded(names: Sequence[str], ends: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """The group of each node, by the name of its first node and the number of the others: ``tor0 +7``.

    ``None`` for a network that is small or has no tiers.
    """
    if len(names) <= MOST_NODES:
        return None
    neighbours = neighbours_of(names, ends)
    tier = tiers_of(names, neighbours)
    if tier is None:
        return None
    top = max(tier.values())
    pods: dict[str, int] = {}
    count = 0
    for name in names:
        if name in pods or tier[name] == top:
            continue
        pods[name] = count
        queue = [name]
        for inner in queue:
            for other in neighbours[inner]:
                if other not in pods and tier[other] < top:
                    pods[other] = count
                    queue.append(other)
        count += 1
    together = -(-count // MOST_PODS)
    members: dict[tuple[int, int], list[str]] = {}
    for name in names:
        members.setdefault((pods.get(name, 0) // together, tier[name]), []).append(name)
    return {
        name: of_group[0] if len(of_group) == 1 else f"{of_group[0]} +{len(of_group) - 1}"
        for of_group in members.values()
        for name in of_group
    }
