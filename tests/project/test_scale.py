"""A network of 10,000 nodes through the whole chain, from the document to the tables."""

import networkx

from anabranch.scenario import Scenario
from bench.scale import document


def test_flows_across_10000_nodes_take_three_times_the_way() -> None:
    """SYN, its ACK, data: without a queue a flow of one window lasts three times the delay of a shortest path."""
    given = document(10_000, 500)
    given["run"]["duration"] = "60ms"
    result = Scenario(given).run()
    assert (result.flows.height, result.links.height) == (500, 60_000)
    assert result.links["packets"].sum() == result.manifest["runs"][0]["packet_hops"]
    graph = networkx.Graph((link["source"], link["target"]) for link in given["topology"]["links"])
    for flow in result.flows.select("src", "dst", "fct_s").iter_rows(named=True):
        links = networkx.shortest_path_length(graph, flow["src"], flow["dst"])
        # Each link takes 1 ms, and less than 2 us for a packet; the last packet of a window is at most 8 us behind the first.
        assert 0 < flow["fct_s"] - 3e-3 * links < 3 * links * 2e-6 + 1e-5
