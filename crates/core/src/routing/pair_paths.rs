//! The shortest paths of many pairs of nodes. Pairs with a common destination, gateway of destinations, or source share one tree.

use super::backbone::{Backbone, Place};
use super::shortest::HopTree;
use super::{Graph, IsotoneWeights, Lexicographic, RoutingError, ShortestTree, Weight, isotone_weights};
use crate::spec::{LinkId, MetricSpec, NodeId};

/// Calls `take` with the path of each pair (source, destination) by the first of its [`next_hops`](super::next_hops()). Skips pairs without
/// a path. Sorts pairs, because each tree is searched once.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, a link without a weight in the metric, or a metric that is not isotone.
pub fn paths_of_pairs(
    graph: &Graph,
    metric: &MetricSpec,
    pairs: &mut [(NodeId, NodeId)],
    take: impl FnMut(NodeId, NodeId, &[LinkId]),
) -> Result<(), RoutingError> {
    pairs.iter().try_for_each(|(src, dst)| graph.check_node(*src).and(graph.check_node(*dst)))?;
    match isotone_weights(graph, metric)? {
        IsotoneWeights::Additive(weights) => by_gateway(graph, &weights, pairs, take),
        IsotoneWeights::Lexicographic(weights) => by_destination(graph, &weights, pairs, take),
    }
    Ok(())
}

fn by_destination(
    graph: &Graph,
    weights: &[Lexicographic],
    pairs: &mut [(NodeId, NodeId)],
    mut take: impl FnMut(NodeId, NodeId, &[LinkId]),
) {
    pairs.sort_unstable_by_key(|(src, dst)| (*dst, *src));
    for of_destination in pairs.chunk_by(|one, other| one.1 == other.1) {
        let tree = ShortestTree::new(graph, weights, of_destination[0].1);
        for (src, dst) in of_destination {
            if let Some(path) = tree.path(*src) {
                take(*src, *dst, &path.links);
            }
        }
    }
}

fn by_gateway(
    graph: &Graph,
    weights: &[Weight],
    pairs: &mut [(NodeId, NodeId)],
    mut take: impl FnMut(NodeId, NodeId, &[LinkId]),
) {
    let Backbone { graph: inside, links: ids, places } = &Backbone::new(graph);
    let weights: Vec<Weight> = ids.iter().map(|link| weights[*link as usize]).collect();
    let place = |node: NodeId| places[node as usize];
    let ends = |(src, dst): (NodeId, NodeId)| (place(src).number(), place(dst).number());
    // One tree gives all paths to its destination. If all links weigh the same, it also gives all paths from its source. Each pair uses the
    // end that belongs to more pairs.
    let is_even = weights.windows(2).all(|pair| pair[0] == pair[1]);
    let (mut leaving, mut entering) = (vec![0_u32; inside.nodes()], vec![0_u32; inside.nodes()]);
    for (src, dst) in pairs.iter().map(|pair| ends(*pair)) {
        leaving[src as usize] += 1;
        entering[dst as usize] += 1;
    }
    let busier = |(src, dst): (NodeId, NodeId)| {
        let at_source = is_even && leaving[src as usize] > entering[dst as usize];
        (at_source, if at_source { src } else { dst })
    };
    let mut is_root = [vec![false; inside.nodes()], vec![false; inside.nodes()]];
    for pair in pairs.iter() {
        let (at_source, node) = busier(ends(*pair));
        is_root[usize::from(at_source)][node as usize] = true;
    }
    // Between random ends the two kinds of trees together may be more than those of the destinations.
    let trees = is_root.iter().flatten().filter(|is_root| **is_root).count();
    let is_mixed = trees < entering.iter().filter(|pairs| **pairs > 0).count();
    let root = |pair| if is_mixed { busier(ends(pair)) } else { (false, ends(pair).1) };
    pairs.sort_by_cached_key(|&(src, dst)| (root((src, dst)), dst, src));
    for of_root in pairs.chunk_by(|one, other| root(*one) == root(*other)) {
        let (at_source, node) = root(of_root[0]);
        let tree = if at_source {
            Tree::FromSource(HopTree::new(inside, node))
        } else {
            Tree::ToDestination(ShortestTree::new(inside, &weights, node))
        };
        for &(src, dst) in of_root {
            let path = || {
                if src == dst {
                    return Some(Vec::new());
                }
                let first = match place(src) {
                    Place::Inside(_) => None,
                    Place::Host { up, .. } => Some(up?),
                };
                let last = match place(dst) {
                    Place::Inside(_) => None,
                    Place::Host { down, .. } => Some(down?),
                };
                let between = match &tree {
                    Tree::FromSource(tree) => tree.path(place(dst).number())?,
                    Tree::ToDestination(tree) => tree.path(place(src).number())?.links,
                };
                Some(first.into_iter().chain(between.into_iter().map(|link| ids[link as usize])).chain(last).collect())
            };
            if let Some(links) = path() {
                take(src, dst, &links);
            }
        }
    }
}

/// The shortest paths that end or begin at one node.
enum Tree<'a> {
    ToDestination(ShortestTree<'a>),
    FromSource(HopTree<'a>),
}

#[cfg(test)]
mod tests {
    use super::super::test_support::network;
    use super::*;
    use crate::spec::Metric;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the tree of each destination, on sparse random networks with many hosts. Most of the pairs have a common node.
        #[test]
        fn the_path_of_every_pair_is_that_of_the_destination_s_own_tree(
            network in prop_oneof![network(9, 20, 1..4), network(9, 20, 1..2), network(9, 30, 0..1)],
            sources in 1..10_u32,
        ) {
            let nodes = 0..network.graph.nodes() as NodeId;
            let all = nodes.clone().flat_map(|src| nodes.clone().map(move |dst| (src, dst)));
            let mut pairs: Vec<_> = all.filter(|(src, dst)| *src < sources || *dst == 0).collect();
            let wanted = pairs.clone();
            let mut found = Vec::new();
            by_gateway(&network.graph, &network.weights, &mut pairs, |src, dst, links| found.push((src, dst, links.to_vec())));
            found.sort();
            let mut expected = Vec::new();
            for dst in nodes.clone() {
                let tree = ShortestTree::new(&network.graph, &network.weights, dst);
                expected.extend(nodes.clone().filter_map(|src| Some((src, dst, tree.path(src)?.links))));
            }
            expected.retain(|(src, dst, _)| wanted.contains(&(*src, *dst)));
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_metric_that_does_not_add_up_has_a_tree_for_each_destination() {
        // The access link of node 2 is the bottleneck, so both links from 0 to 1 are as wide on the way there.
        let mut links = [(0, 1), (0, 1), (1, 2)].map(|(a, b)| super::super::test_support::link(a, b));
        links[1].rate = crate::units::Rate(20_000_000);
        let graph = Graph::of_specs(3, &links).unwrap();
        let mut paths = Vec::new();
        paths_of_pairs(&graph, &Metric::Widest.into(), &mut [(0, 2), (0, 1)], |_, _, links| paths.push(links.to_vec()))
            .unwrap();
        assert_eq!(paths, [vec![1], vec![0, 2]]);
    }
}
