"""Queues and switches of fabrics in scenarios: two classes with strict priority, and selectors that read queues."""

import pytest

from anabranch import Scenario, ScenarioError

TWO_WAYS = """
[topology]
links = [
    {{ source = "A", target = "R", capacity = "100Mbps", delay = "1ms" }},
    {{ source = "R", target = "fast", capacity = "8Mbps", delay = "1ms" }},
    {{ source = "R", target = "slow", capacity = "8Mbps", delay = "1ms" }},
    {{ source = "fast", target = "B", capacity = "100Mbps", delay = "1ms" }},
    {{ source = "slow", target = "B", capacity = "100Mbps", delay = "1ms" }},
]
queue = {{ discipline = "{discipline}", limit = "20 packets" }}

[[topology.override]]
link = ["R", "slow"]
capacity = "2Mbps"

[routing.spread]
metric = "hop-count"
select = "{select}"

[[traffic]]
from = "A"
to = "B"
transport = "udp"
packet = "1000 B"
constant = "9Mbps"

{events}
[run]
duration = "4s"
"""


def dropped(select: str, discipline: str = "drop-tail", events: str = "") -> int:
    """Packets that queues dropped or failures lost."""
    scenario = Scenario.from_toml(TWO_WAYS.format(select=select, discipline=discipline, events=events))
    links = scenario.run().links
    assert links["trimmed"].sum() == 0, "UDP is not cut"
    return int(links["queue_drops"].sum() + links["losses"].sum())


@pytest.mark.parametrize("discipline", ["drop-tail", "trimming", "codel", "red"])
def test_selectors_by_queue_fill_links_by_their_rates(discipline: str) -> None:
    """9 Mbit/s fit into 8 + 2, but half of them does not fit into 2."""
    drops = {select: dropped(select, discipline) for select in ("random", "adaptive", "drill")}
    # 1,125 packets a second, of which 250 fit into 2 Mbit/s.
    assert drops["random"] > 4 * (1125 / 2 - 250) * 0.8
    most = 0 if discipline in ("drop-tail", "trimming") else 0.1 * drops["random"]
    assert drops["adaptive"] <= most
    assert drops["drill"] <= most


def test_a_switch_avoids_its_own_link_that_is_down() -> None:
    """Without `reconverge`, others send half of the packets into the link that has failed."""
    events = '[[events]]\nat = "1s"\nfail = ["R", "slow"]'
    assert dropped("round-robin", events=events) > 1000
    # 9 of 8 Mbit/s: what exceeds the rate in three seconds, with what was lost at the failure.
    assert dropped("adaptive", events=events) < 3 * 125 + 25


def test_acknowledgements_pass_data_in_a_trimming_queue() -> None:
    """Data one way fills a queue that the ACKs of the other way share: only strict priority keeps their wait short."""
    base = """
    [topology]
    links = [{{ source = "A", target = "B", capacity = "10Mbps", delay = "1ms" }}]
    queue = {{ discipline = "{discipline}", limit = "100 packets" }}
    [[traffic]]
    from = "A"
    to = "B"
    transport = "udp"
    packet = "1500 B"
    constant = "20Mbps"
    [[traffic]]
    from = "B"
    to = "A"
    [run]
    duration = "5s"
    """
    goodput = {}
    for discipline in ("drop-tail", "trimming"):
        flows = Scenario.from_toml(base.format(discipline=discipline)).run().flows
        goodput[discipline] = flows["goodput_bps"][1]
    assert goodput["trimming"] > 9e6
    assert goodput["drop-tail"] < 0.7 * goodput["trimming"]


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    text = TWO_WAYS.format(select="random", discipline="trimming", events="")
    with pytest.raises(ScenarioError, match=r"mark_from 0\.9 must not exceed mark_to 0\.8"):
        Scenario.from_toml(text.replace('limit = "20 packets"', 'limit = "20 packets", mark_from = 0.9'))
