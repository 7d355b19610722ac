//! Paths of flows, compiled routes, loops and the time to live.

use super::*;
use crate::routing::NextHops;
use crate::routing::test_support::link;
use serde_json::json;
use std::collections::{HashMap, HashSet};

impl Forwarding {
    /// Gives each node that one of these links leaves this link as its only next hop in a table.
    pub fn set_next_hop_loop(&mut self, table: usize, links: &[LinkId]) {
        for link in links {
            self.set_next_hops(table, self.graph.link(*link).src, &[*link]);
        }
    }

    fn set_next_hops(&mut self, table: usize, node: NodeId, links: &[LinkId]) {
        let table = &mut self.tables[table];
        let mut next_hops: Vec<_> =
            (0..self.graph.nodes() as NodeId).map(|node| table.next_hops(node, &self.lists).to_vec()).collect();
        next_hops[node as usize] = links.to_vec();
        table.replace(NextHops::of_nodes(&next_hops, table.dst, &mut self.lists), &self.routings[table.routing]);
    }
}

/// Two diamonds in a row between hosts with one link each: 0 - 1 = {2, 3} = 4 = {5, 6} = 7 - 8.
fn two_diamonds(hops: serde_json::Value, select: &str, per: &str, dynamic: bool) -> Forwarding {
    let cables = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7), (7, 8)];
    let links: Vec<_> = cables.iter().flat_map(|&(a, b)| [link(a, b), link(b, a)]).collect();
    let routing = serde_json::from_value(json!({
        "name": "", "hops": hops, "select": {"name": select}, "per": {"unit": per}, "hash": ["source-port"], "acks": null,
        "reconverge": null
    }));
    let graph = Graph::of_specs(9, &links).expect("a graph");
    Forwarding::new(vec![routing.expect("a routing")], graph, 1, dynamic)
}

fn paths_of_flow(hops: serde_json::Value, per: &str, dynamic: bool) -> u32 {
    let mut forwarding = two_diamonds(hops, "random", per, dynamic);
    let route = forwarding.route(0, 0, 8).expect("a route");
    forwarding.paths_of_flow(route, 0)
}

#[test]
fn the_number_of_paths_is_what_packets_of_one_flow_may_take() {
    let paths = |hops, per| paths_of_flow(hops, per, false);
    assert_eq!(paths(json!({"kind": "shortest", "metric": "hop-count"}), "packet"), 1);
    assert_eq!(
        paths(json!({"kind": "equal-cost", "metric": "hop-count"}), "packet"),
        4,
        "2 x 2, behind one access link"
    );
    assert_eq!(paths(json!({"kind": "equal-cost", "metric": "hop-count"}), "flow"), 1, "a flow keeps to its path");
    assert_eq!(paths(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3}), "packet"), 3);
    assert_eq!(
        paths(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 9}), "packet"),
        4,
        "as many as exist"
    );
    assert_eq!(paths(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3}), "flow"), 1);
    assert_eq!(
        paths(json!({"kind": "disjoint", "metric": "hop-count", "paths": 9}), "packet"),
        2,
        "behind one access link"
    );
    let given = json!([[0, 1, 2, 4, 5, 7, 8], [0, 1, 3, 4, 6, 7, 8], [8, 7, 5, 4, 2, 1, 0]]);
    assert_eq!(paths(json!({"kind": "explicit", "paths": given, "weights": [1.0, 1.0, 1.0]}), "packet"), 2);
    assert_eq!(paths_of_flow(json!({"kind": "shortest", "metric": "hop-count"}), "packet", true), 1);
}

/// The links of 40,000 packets match the listed shares: hop by hop, over path sets with and without weights, in turn and
/// drawn.
#[test]
fn the_listed_shares_are_those_of_the_packets() {
    let given = json!([[0, 1, 2, 4, 5, 7, 8], [0, 1, 3, 4, 6, 7, 8]]);
    let kinds = [
        (json!({"kind": "equal-cost", "metric": "hop-count"}), 4),
        (json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3}), 3),
        (json!({"kind": "explicit", "paths": given, "weights": [1.0, 3.0]}), 2),
    ];
    let cases = kinds.iter().flat_map(|kind| ["random", "weighted", "round-robin"].map(|select| (kind, select)));
    for ((hops, paths), select) in cases {
        let mut forwarding = two_diamonds(hops.clone(), select, "packet", false);
        let route = forwarding.route(0, 0, 8).expect("a route");
        let listed = forwarding.paths_of_packets(route, 0, 4).expect("few paths, none in a circle");
        assert_eq!(listed.len(), *paths);
        assert!((listed.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
        let packets = 40_000;
        let mut taken = HashMap::new();
        for number in 0..packets {
            let key = PacketKey { flow: 0, group: 0, src: 0, dst: 8, reverse: false, number };
            let links = forwarding.links_of_packet(route, Time(0), &key).expect("no circle");
            *taken.entry(links).or_insert(0.0) += 1.0 / f64::from(packets);
        }
        for (links, share) in listed {
            if select == "round-robin" && *paths == 4 {
                // Both diamonds take turns, so that only two of the four paths occur. Each link has its half.
                assert!((share - 0.25).abs() < 1e-12);
                continue;
            }
            assert!((taken[&links] - share).abs() < 0.01, "{select} {links:?}: {} and {share}", taken[&links]);
        }
    }
}

#[test]
fn paths_are_not_listed_if_they_are_many_or_go_in_a_circle() {
    let mut forwarding = two_diamonds(json!({"kind": "equal-cost", "metric": "hop-count"}), "random", "packet", false);
    let route = forwarding.route(0, 0, 8).expect("a route");
    assert_eq!(forwarding.paths_of_packets(route, 0, 3), Err(Unlisted::TooMany));
    let RouteRef::NextHopTable(table) = route else { panic!("it goes hop by hop") };
    // The packet goes from node 1 to node 2 and back.
    forwarding.set_next_hop_loop(table as usize, &[2, 3]);
    assert_eq!(forwarding.paths_of_packets(route, 0, 100), Err(Unlisted::NoEnd));
    let mut forwarding =
        two_diamonds(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 4}), "random", "packet", false);
    let route = forwarding.route(0, 0, 8).expect("a route");
    assert_eq!(forwarding.paths_of_packets(route, 0, 3), Err(Unlisted::TooMany));
}

/// Hop by hop from node 0 to node 8, or over one of several paths: each flow's compiled path is the one that its packets
/// would choose on its route.
#[test]
fn a_flow_that_keeps_to_its_path_has_it_compiled() {
    let kinds = [
        json!({"kind": "equal-cost", "metric": "hop-count"}),
        json!({"kind": "k-shortest", "metric": "hop-count", "paths": 4}),
    ];
    for (hops, select) in kinds.iter().flat_map(|hops| ["hash", "random", "weighted"].map(|select| (hops, select))) {
        let mut forwarding = two_diamonds(hops.clone(), select, "flow", false);
        let chosen_on_the_way = forwarding.route(0, 0, 8).expect("a route");
        let mut paths = HashSet::new();
        for flow in 0..50 {
            let key = PacketKey { flow, group: 0, src: 0, dst: 8, reverse: flow % 2 == 1, number: 0 };
            let route = forwarding.route_of_flow(0, &key).expect("a route");
            assert!(matches!(route, RouteRef::Route(_)));
            let path = forwarding.current_path(route, 0);
            // This lookup uses the selectors, which count no packets of a flow that keeps its path.
            let key = PacketKey { number: 9, ..key };
            assert_eq!(forwarding.links_of_packet(chosen_on_the_way, Time(7), &key), Some(path.clone()));
            let last = forwarding.graph.link(*path.last().expect("a link"));
            assert_eq!(last.dst, 8);
            paths.insert(path);
        }
        assert_eq!(paths.len(), 4);
        assert!(!forwarding.has_hop_by_hop_flows());
    }
    for (select, per, dynamic) in [("hash", "flow", true), ("round-robin", "flow", false), ("hash", "packet", false)] {
        let mut forwarding = two_diamonds(kinds[0].clone(), select, per, dynamic);
        let key = PacketKey { flow: 0, group: 0, src: 0, dst: 8, reverse: false, number: 0 };
        assert!(matches!(forwarding.route_of_flow(0, &key), Ok(RouteRef::NextHopTable(_))));
        assert!(forwarding.has_hop_by_hop_flows());
    }
}

#[test]
fn a_hash_that_does_not_read_the_destination_does_not_depend_on_it() {
    let hops = json!({"kind": "equal-cost", "metric": "hop-count"});
    let mut forwarding = two_diamonds(hops, "hash", "flow", false);
    let mut paths = HashSet::new();
    for flow in 0..50 {
        let [near, far] = [7, 8].map(|dst| {
            let key = PacketKey { flow, group: 0, src: 0, dst, reverse: false, number: 0 };
            let route = forwarding.route_of_flow(0, &key).expect("a route");
            forwarding.current_path(route, 0)
        });
        assert_eq!(near, far[..far.len() - 1], "the hash reads the source port alone");
        paths.insert(near);
    }
    assert_eq!(paths.len(), 4, "each node has its own hash");
}

fn hop_by_hop(links: &[(NodeId, NodeId)], nodes: usize) -> Forwarding {
    let links: Vec<_> = links.iter().map(|&(a, b)| link(a, b)).collect();
    let routing = serde_json::from_value(json!({
        "name": "", "hops": {"kind": "equal-cost", "metric": "hop-count"}, "select": {"name": "random"},
        "per": {"unit": "packet"}, "hash": [], "acks": null, "reconverge": null
    }));
    Forwarding::new(vec![routing.expect("a routing")], Graph::of_specs(nodes, &links).expect("a graph"), 1, false)
}

#[test]
fn a_circle_is_no_path_and_a_way_past_it_is_one() {
    let mut forwarding = hop_by_hop(&[(0, 1), (1, 2), (2, 0), (1, 3), (0, 3), (2, 3)], 4);
    let route = forwarding.route(0, 0, 3).expect("a route");
    forwarding.set_next_hop_loop(0, &[0, 1, 2]);
    assert_eq!(forwarding.paths_of_flow(route, 0), 1, "there is one flow all the same");
    assert_eq!(forwarding.current_path(route, 0), [0, 1, 2], "back where it began");
    forwarding.set_next_hops(0, 1, &[1, 3]);
    assert_eq!(forwarding.count_paths(0, 0), 1, "0 - 1 - 3");
}

#[test]
fn a_path_longer_than_a_packet_lives_is_refused_at_the_start() {
    let fifo = |nodes: u32| (1..nodes).map(|node| (node - 1, node)).collect::<Vec<_>>();
    assert!(hop_by_hop(&fifo(65), 65).route(0, 0, 64).is_ok());
    let error = hop_by_hop(&fifo(66), 66).route(0, 0, 65).unwrap_err();
    assert!(
        error.to_string().starts_with("the path has 65 links, but hop by hop a packet crosses 64 at most"),
        "{error}"
    );
}

/// Queues of links by their index, and how often they are read.
struct Given<'a> {
    bytes: &'a [u64],
    reads: &'a mut u32,
}

impl Backlogs for Given<'_> {
    fn bytes(&mut self, link: LinkId) -> u64 {
        *self.reads += 1;
        self.bytes[link as usize]
    }
}

/// A router with eight next hops (links 0 to 7) towards node 9, whose queues are given.
fn eight_next_hops(select: &str) -> impl FnMut(&[u64], u32) -> (LinkId, u32) {
    let links: Vec<_> = (1..9).map(|middle| link(0, middle)).chain((1..9).map(|middle| link(middle, 9))).collect();
    let routing = serde_json::from_value(json!({
        "name": "", "hops": {"kind": "equal-cost", "metric": "hop-count"}, "select": {"name": select}, "per": {"unit": "packet"},
        "hash": [], "acks": null, "reconverge": null
    }));
    let graph = Graph::of_specs(10, &links).expect("a graph");
    let mut forwarding = Forwarding::new(vec![routing.expect("a routing")], graph, 1, false);
    let Ok(RouteRef::NextHopTable(table)) = forwarding.route(0, 0, 9) else { panic!("it goes hop by hop") };
    move |bytes, number| {
        let key = PacketKey { flow: 0, group: 0, src: 0, dst: 9, reverse: false, number };
        let mut reads = 0;
        let next = forwarding.next_hop(table, 0, Time(0), &key, Given { bytes, reads: &mut reads });
        (next.expect("a next hop"), reads)
    }
}

#[test]
fn adaptive_takes_the_shortest_queue_and_draws_among_equal_ones() {
    let mut next = eight_next_hops("adaptive");
    assert!((0..100).all(|number| next(&[9, 8, 7, 3, 9, 4, 4, 5], number).0 == 3));
    let mut taken = [0; 8];
    for number in 0..30_000 {
        taken[next(&[5, 2, 5, 2, 5, 5, 2, 5], number).0 as usize] += 1;
    }
    for (link, count) in taken.into_iter().enumerate() {
        let expected = if [1, 3, 6].contains(&link) { 10_000 } else { 0 };
        assert!(i32::abs(count - expected) < 300, "link {link}: {count} of {expected}");
    }
}

/// DRILL reads three queues of eight. The shortest is found within some packets, and kept as the last best.
#[test]
fn drill_compares_two_drawn_queues_with_the_last_best() {
    let mut next = eight_next_hops("drill");
    let queues = [9, 8, 7, 3, 9, 6, 4, 5];
    let (chosen, reads): (Vec<u64>, Vec<u32>) =
        (0..200).map(|number| next(&queues, number)).map(|(link, reads)| (queues[link as usize], reads)).unzip();
    assert!(reads.iter().all(|reads| *reads == 3));
    assert!(chosen.is_sorted_by(|before, after| before >= after), "never worse than the last best: {chosen:?}");
    assert_eq!(chosen[100], 3, "two draws of eight miss one link 100 times with probability 3e-13");
    let mut first = [0; 8];
    for number in 0..40_000 {
        // All queues are equal, so the first draw decides.
        first[next(&[1; 8], number).0 as usize] += 1;
    }
    assert!(first.iter().all(|count| i32::abs(count - 5000) < 300), "{first:?}");
}
