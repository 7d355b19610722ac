//! The heuristic and the exact search against all simple paths, against each other and against the paper.

use super::certificate::certified_path;
use super::exact::ExactSearch;
use super::heuristic::{ModifiedDijkstra, Queue};
use super::test_networks::{any_graph, ten_nodes};
use super::*;
use crate::routing::Graph;
use crate::routing::test_support::{Network, simple_paths};
use crate::spec::{LinkId, NodeId};
use proptest::prelude::*;

fn nodes_of(graph: &Graph, source: NodeId, links: &[LinkId]) -> Vec<NodeId> {
    std::iter::once(source).chain(links.iter().map(|&link| graph.link(link).dst)).collect()
}

/// The best of all simple paths.
fn brute_force(graph: &Graph, source: NodeId, destination: NodeId) -> Option<Label> {
    let weights: Vec<Label> = graph.links().iter().map(Label::of_link).collect();
    let network = Network { graph: graph.clone(), weights };
    simple_paths(&network, source, destination).into_iter().map(|path| path.weight).min()
}

/// The paper's path from one of its nodes to another, by the paper's numbers, and its label.
fn paper_path(graph: &Graph, exact: bool, source: NodeId, destination: NodeId) -> (Vec<NodeId>, Label) {
    let (source, destination) = (source - 1, destination - 1);
    let links = if exact {
        ExactSearch::new(graph).to(source, vec![destination]).path(destination)
    } else {
        ModifiedDijkstra::new(graph).tree(source, Queue::Heap).path(graph, destination)
    };
    let links = links.unwrap();
    (nodes_of(graph, source, &links).iter().map(|node| node + 1).collect(), Label::of_path(graph, &links))
}

#[test]
fn the_heuristic_misses_the_best_path_on_the_papers_own_topology() {
    let graph = ten_nodes(4000);
    let (path, heuristic) = paper_path(&graph, false, 4, 6);
    assert_eq!(path, [4, 5, 6]);
    let (path, exact) = paper_path(&graph, true, 4, 6);
    assert_eq!(path, [4, 5, 1, 6]);
    assert_eq!(format!("{:.3}", heuristic.cost() / exact.cost()), "1.187");
    let (_, heuristic) = paper_path(&graph, false, 2, 6);
    let (_, exact) = paper_path(&graph, true, 2, 6);
    assert_eq!(format!("{:.3}", heuristic.cost() / exact.cost()), "1.138");
}

#[test]
fn without_losses_the_delay_decides() {
    let graph = super::test_networks::graph(3, &[(0, 1, 10, 0.0), (1, 2, 10, 0.0), (0, 2, 30, 0.0)]);
    assert_eq!(ModifiedDijkstra::new(&graph).tree(0, Queue::Heap).path(&graph, 2), Some(vec![0, 1]));
    assert_eq!(ExactSearch::new(&graph).from(0).path(2), Some(vec![0, 1]));
}

#[test]
fn the_series_of_small_losses_is_exact_to_rounding() {
    for step in 0..=1000 {
        let x = 10_f64.powf(-18.0 + f64::from(step) * 0.018) * 0.0499;
        let (series, exact) = (one_minus_exp_of_small(x), -(-x).exp_m1());
        assert!((series / exact - 1.0).abs() < 4.0 * f64::EPSILON, "{x}: {series} for {exact}");
    }
}

#[test]
fn small_losses_do_not_cancel() {
    let graph = super::test_networks::graph(2, &[(0, 1, 1_000_000, 1e-14)]);
    let cost = Label::of_path(&graph, &[0]).cost();
    assert!((cost / 1e-7 - 1.0).abs() < 1e-3, "{cost}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn the_exact_search_finds_the_best_of_all_paths(graph in any_graph(7, 22)) {
        let search = ExactSearch::new(&graph);
        for source in 0..graph.nodes() as NodeId {
            let routes = search.from(source);
            for destination in (0..graph.nodes() as NodeId).filter(|&node| node != source) {
                let best = brute_force(&graph, source, destination);
                let found = routes.label(destination);
                prop_assert_eq!(found.is_some(), best.is_some());
                let (Some(found), Some(best)) = (found, best) else { continue };
                prop_assert!(found.cost() <= best.cost() * (1.0 + 1e-12), "{found:?} for {best:?}");
                prop_assert_eq!(found.cost() == 0.0, best.cost() == 0.0);
                if best.cost() == 0.0 {
                    prop_assert_eq!(found.delay(), best.delay());
                }
            }
        }
    }

    #[test]
    fn every_exact_answer_has_a_certificate_that_holds(graph in any_graph(8, 26)) {
        let routes = ExactSearch::new(&graph).from(0);
        for destination in 1..graph.nodes() as NodeId {
            let certificate = certified_path(&graph, 0, destination);
            prop_assert_eq!(certificate.is_some(), routes.label(destination).is_some());
            let (Some(certificate), Some(label)) = (certificate, routes.label(destination)) else { continue };
            prop_assert_eq!(certificate.cost, label.cost());
            prop_assert!(certificate.holds(&graph, 0, destination, 1e-9), "{certificate:?}");
        }
    }

    #[test]
    fn a_certificate_for_a_worse_path_does_not_hold(graph in any_graph(6, 18), factor in 1.001..2.0) {
        for destination in 1..graph.nodes() as NodeId {
            let Some(mut certificate) = certified_path(&graph, 0, destination) else { continue };
            if certificate.cost == 0.0 {
                continue;
            }
            let honest = certificate.clone();
            certificate.cost *= factor;
            prop_assert!(!certificate.holds(&graph, 0, destination, 1e-9));
            for support in &mut certificate.supports {
                support.length *= factor;
            }
            prop_assert!(!certificate.holds(&graph, 0, destination, 1e-9), "longer than {honest:?}");
        }
    }

    #[test]
    fn array_and_heap_find_the_same_paths_and_none_beats_the_exact(graph in any_graph(9, 40)) {
        let mut heuristic = ModifiedDijkstra::new(&graph);
        let exact = ExactSearch::new(&graph);
        for source in 0..graph.nodes() as NodeId {
            let tree = heuristic.tree(source, Queue::Heap);
            prop_assert_eq!(&tree, &heuristic.tree(source, Queue::Array));
            let best = exact.from(source);
            for node in 0..graph.nodes() as NodeId {
                let found = tree.path(&graph, node);
                prop_assert_eq!(found.is_some(), best.path(node).is_some());
                let Some(found) = found else { continue };
                prop_assert!(Label::of_path(&graph, &found).cost() >= best.label(node).unwrap().cost() * (1.0 - 1e-12));
            }
        }
    }
}
