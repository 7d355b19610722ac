"""htsim's fat trees (``.topo``): how many hosts, and for each tier of switches its radix, and the speed and latency of links below it.

The wiring is that of csg-htsim's ``fat_tree_topology.cpp``: a switch of tier 0 has a link to each switch of tier 1 in its pod, and switch n of tier 1
in a pod one to each switch of tier 2 whose number is n modulo the pod's switches. A bundle of links becomes one of their capacity.
"""

from collections.abc import Iterator

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text
from anabranch.network.topologies.words import Word

_WORDS = {"Downlink_speed_Gbps": Word("capacity", "Gbps"), "Downlink_Latency_ns": Word("delay", "ns")}
_HEAD = ("nodes", "tiers", "podsize")
_LEFT_OUT = ("queue_up", "queue_down", "switch_latency_ns")
_DERIVED = ("oversubscribed",)
_KEYS = {"downlink_speed_gbps", "downlink_latency_ns", "radix_up", "radix_down", "bundle", *_LEFT_OUT, *_DERIVED}
_TIERS = ("tor", "agg", "core")
_MOST = 10**7
Tier = dict[str, tuple[int, str]]
"""From a key in lower case to its line and value."""


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; hosts are named by their numbers, as in connection matrices, and switches ``tor0``, ``agg0``, ``core0``."""
    head, tiers = _parts(text(data, source), source)
    hosts, count, pod = (_whole(head, key, source) for key in _HEAD)
    if count not in (2, 3) or len(tiers) != count:
        raise TopologyError(
            source, f"line {head['tiers'][0]}, Tiers", count, f"must be 2 or 3; the file describes {len(tiers)}"
        )
    draft = Draft(source, name, agreed(False, directed, source), _WORDS)
    for host in range(hosts):
        draft.node(host)
    links = list(_wiring(hosts, pod, tiers, source))
    for switch in dict.fromkeys(upper for _, upper, _, _ in links):
        draft.node(switch)
    for lower, upper, tier, bundle in links:
        speed, latency = tier["downlink_speed_gbps"], tier["downlink_latency_ns"]
        capacity = f"{_whole(tier, 'downlink_speed_gbps', source) * bundle}"
        values = {"Downlink_speed_Gbps": capacity, "Downlink_Latency_ns": latency[1]}
        draft.link(lower, upper, values, "line {}", speed[0])
    ignored = [key for key in _LEFT_OUT if any(tier.get(key, (0, "0"))[1] != "0" for tier in tiers)]
    if ignored:
        draft.notes.append(
            f"these values of tiers are not read: {', '.join(ignored)}; a scenario has queues of its own"
        )
    return draft


def _wiring(hosts: int, pod: int, tiers: list[Tier], source: str) -> Iterator[tuple[str, str, Tier, int]]:
    """Lower and upper end, the upper end's tier, and how many links."""
    down, up = (_whole(tiers[0], key, source) for key in ("radix_down", "radix_up"))
    bundle = _whole(tiers[1], "bundle", source, 1)
    line = tiers[0]["radix_down"][0]
    if hosts % pod or pod % down or up % bundle:
        raise TopologyError(
            source,
            f"line {line}, Radix_Down",
            down,
            f"must divide Podsize {pod}, which must divide Nodes {hosts}; and Bundle {bundle} must divide Radix_Up {up}",
        )
    for host in range(hosts):
        yield str(host), f"tor{host // down}", tiers[0], 1
    switches, aggregates = pod // down, up // bundle
    for tor in range(hosts // down):
        for place in range(aggregates):
            yield f"tor{tor}", f"agg{tor // switches * aggregates + place}", tiers[1], bundle
    if len(tiers) == 3:
        bundle, up = _whole(tiers[2], "bundle", source, 1), _whole(tiers[1], "radix_up", source)
        if up % bundle:
            raise TopologyError(
                source,
                f"line {tiers[1]['radix_up'][0]}, Radix_Up",
                up,
                f"must be a multiple of the Bundle {bundle} above it",
            )
        for agg in range(hosts // pod * aggregates):
            for place in range(up // bundle):
                yield f"agg{agg}", f"core{agg % aggregates + aggregates * place}", tiers[2], bundle


def _parts(written: str, source: str) -> tuple[Tier, list[Tier]]:
    head: Tier = {}
    tiers: dict[str, Tier] = {}
    here = head
    for number, line in enumerate(written.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        key = words[0].lower()
        if len(words) != 2 or key in here:
            raise TopologyError(
                source, f"line {number}", line.strip(), "must be a key and its value, once in each tier"
            )
        if key == "tier":
            here = tiers.setdefault(words[1], {})
        elif key in (_HEAD if here is head else _KEYS):
            here[key] = number, words[1]
        else:
            raise TopologyError(
                source,
                f"line {number}",
                words[0],
                "is no key here; known are Nodes, Tiers, Podsize, then Tier 0 and its keys",
            )
    missing = [key for key in _HEAD if key not in head]
    missing += [
        f"{key} of tier {place}"
        for place in range(len(tiers))
        for key in (
            "downlink_speed_gbps",
            "downlink_latency_ns",
            "radix_down",
            *(["radix_up"] if place < len(tiers) - 1 else []),
        )
        if key not in tiers.get(str(place), {})
    ]
    if missing:
        raise TopologyError(source, missing[0], None, "is missing; a fat tree needs it")
    return head, [tiers[str(place)] for place in range(len(tiers))]


def _whole(values: Tier, key: str, source: str, default: int | None = None) -> int:
    if key not in values and default is not None:
        return default
    line, written = values[key]
    if not (written.isascii() and written.isdigit() and 0 < int(written[:12]) <= _MOST):
        raise TopologyError(source, f"line {line}, {key}", written, f"must be a whole number from 1 to {_MOST:,}")
    return int(written)
