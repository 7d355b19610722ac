use super::test_support::link;
use super::*;
use crate::spec::{Disjointness, LinkSpec, Metric, ThroughputMetric};
use crate::units::Duration;

/// A ring of cables 0 1 2 3 with a chord 0 2. Link `2 i` goes as listed, link `2 i + 1` back; the chord is slow.
fn ring() -> Graph {
    let cables = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
    let mut links: Vec<LinkSpec> = cables.iter().flat_map(|&(a, b)| [link(a, b), link(b, a)]).collect();
    for chord in &mut links[8..] {
        chord.delay = Duration::from_millis(10);
    }
    Graph::of_specs(4, &links).unwrap()
}

fn links(graph: &Graph, hops: &HopsSpec) -> Vec<Vec<LinkId>> {
    explicit_paths(graph, hops, 0, 2).unwrap().into_iter().map(|path| path.links).collect()
}

fn given(paths: &[&[NodeId]], weights: &[f64]) -> HopsSpec {
    HopsSpec::Explicit { paths: paths.iter().map(|path| path.to_vec()).collect(), weights: weights.to_vec() }
}

#[test]
fn the_metric_decides_what_is_short() {
    let hop_count = next_hops(&ring(), &HopsSpec::Shortest { metric: Metric::HopCount.into() }, 2).unwrap();
    assert_eq!(hop_count, [vec![8], vec![2], vec![], vec![5]]);
    let delay = next_hops(&ring(), &HopsSpec::Shortest { metric: Metric::Delay.into() }, 2).unwrap();
    assert_eq!(delay, [vec![0], vec![2], vec![], vec![5]]);
    let equal_cost = next_hops(&ring(), &HopsSpec::EqualCost { metric: Metric::Delay.into() }, 2).unwrap();
    assert_eq!(equal_cost, [vec![0, 7], vec![2], vec![], vec![5]]);
}

#[test]
fn links_that_are_down_carry_nothing() {
    let mut graph = ring();
    for link in [2, 5, 8] {
        graph.set_up(link, false);
    }
    let shortest = HopsSpec::Shortest { metric: Metric::HopCount.into() };
    assert!(next_hops(&graph, &shortest, 2).unwrap().iter().all(Vec::is_empty));
    for hops in [
        HopsSpec::Disjoint { metric: Metric::HopCount.into(), paths: 2, by: Disjointness::Links },
        given(&[&[0, 1, 2], &[0, 2]], &[1.0, 1.0]),
    ] {
        assert_eq!(explicit_paths(&graph, &hops, 0, 2), Err(RoutingError::NoPath { src: 0, dst: 2 }));
    }
}

#[test]
fn computed_paths_come_shortest_first_and_share_equally() {
    let disjoint = HopsSpec::Disjoint { metric: Metric::Delay.into(), paths: 5, by: Disjointness::Links };
    assert_eq!(links(&ring(), &disjoint), [vec![0, 2], vec![7, 5], vec![8]]);
    let k_shortest = HopsSpec::KShortest { metric: Metric::HopCount.into(), paths: 2 };
    assert_eq!(links(&ring(), &k_shortest), [vec![8], vec![0, 2]]);
    let weights: Vec<f64> =
        explicit_paths(&ring(), &k_shortest, 0, 2).unwrap().iter().map(|path| path.weight).collect();
    assert_eq!(weights, [0.5, 0.5]);
}

#[test]
fn given_paths_between_other_nodes_are_passed_over() {
    let hops = given(&[&[0, 3, 2], &[2, 0], &[0, 2]], &[3.0, 7.0, 1.0]);
    let expected =
        [WeightedPath { links: vec![7, 5], weight: 0.75 }, WeightedPath { links: vec![8], weight: 0.25 }].to_vec();
    assert_eq!(explicit_paths(&ring(), &hops, 0, 2), Ok(expected));
}

#[test]
fn a_given_path_over_a_failed_link_leaves_its_share_to_the_others() {
    let mut graph = ring();
    graph.set_up(5, false);
    let expected = vec![WeightedPath { links: vec![8], weight: 1.0 }];
    assert_eq!(explicit_paths(&graph, &given(&[&[0, 3, 2], &[0, 2]], &[3.0, 1.0]), 0, 2), Ok(expected));
}

#[test]
fn a_given_path_takes_the_lowest_parallel_link_that_is_up() {
    let mut graph = Graph::of_specs(2, &[link(0, 1), link(0, 1)]).unwrap();
    let path = |graph: &Graph| explicit_paths(graph, &given(&[&[0, 1]], &[1.0]), 0, 1).unwrap().remove(0).links;
    assert_eq!(path(&graph), [0]);
    graph.set_up(0, false);
    assert_eq!(path(&graph), [1]);
}

#[test]
fn given_paths_that_are_none_are_refused() {
    let error =
        |paths: &[&[NodeId]], weights: &[f64]| explicit_paths(&ring(), &given(paths, weights), 0, 2).unwrap_err();
    let not_connected = error(&[&[0, 2], &[0, 1, 3, 2]], &[1.0, 1.0]);
    assert_eq!(not_connected, RoutingError::NotConnected { path: 1, from: 1, to: 3 });
    assert_eq!(
        not_connected.to_string(),
        "explicit path 1 goes from node 1 to node 3, but no link joins them in that direction"
    );
    assert_eq!(error(&[&[0, 1, 0, 2]], &[1.0]), RoutingError::Revisits { path: 0, node: 0 });
    assert_eq!(error(&[&[0, 9, 2]], &[1.0]), RoutingError::UnknownNode { node: 9, nodes: 4 });
    assert_eq!(error(&[&[0, 2]], &[]), RoutingError::WeightCount { paths: 1, weights: 0 });
    assert_eq!(error(&[&[0, 2]], &[0.0]), RoutingError::PathWeight { path: 0, weight: 0.0 });
    assert_eq!(error(&[&[2, 0]], &[1.0]), RoutingError::NoPath { src: 0, dst: 2 });
}

#[test]
fn questions_that_have_no_answer_are_refused() {
    let shortest = HopsSpec::Shortest { metric: Metric::HopCount.into() };
    let disjoint = |paths| HopsSpec::Disjoint { metric: Metric::HopCount.into(), paths, by: Disjointness::Links };
    assert_eq!(explicit_paths(&ring(), &shortest, 0, 2), Err(RoutingError::HopByHop));
    assert_eq!(next_hops(&ring(), &disjoint(2), 2), Err(RoutingError::AlongPaths));
    assert_eq!(explicit_paths(&ring(), &disjoint(0), 0, 2), Err(RoutingError::NoPathsWanted));
    assert_eq!(explicit_paths(&ring(), &disjoint(2), 1, 1), Err(RoutingError::SameEnds { node: 1 }));
    assert_eq!(explicit_paths(&ring(), &disjoint(2), 0, 4), Err(RoutingError::UnknownNode { node: 4, nodes: 4 }));
    assert_eq!(next_hops(&ring(), &shortest, 4), Err(RoutingError::UnknownNode { node: 4, nodes: 4 }));
    let by_throughput = HopsSpec::EqualCost { metric: MetricSpec::Throughput(ThroughputMetric::Tcpbp) };
    let refused = RoutingError::NotIsotoneFor { metric: "tcpbp", wanted: "equal-cost next hops" };
    assert_eq!(next_hops(&ring(), &by_throughput, 2), Err(refused));
    assert_eq!((shortest.is_explicit(), disjoint(2).is_explicit()), (false, true));
}
