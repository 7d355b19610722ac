//! The maximum flow between two nodes.

use crate::spec::NodeId;
use std::collections::{HashMap, VecDeque};

/// The maximum flow from `src` to `dst` over links with capacities, in their unit. `u64::MAX` means that the flow exceeds it. Shortest augmenting
/// paths (Edmonds and Karp 1972).
pub fn max_flow(links: &[(NodeId, NodeId, u64)], src: NodeId, dst: NodeId) -> u64 {
    if src == dst {
        return u64::MAX;
    }
    // An arc and its reverse are neighbours: the flow on one is the capacity of the other.
    let mut arcs: Vec<(NodeId, u64)> = Vec::new();
    let mut leaving: HashMap<NodeId, Vec<usize>> = HashMap::new();
    for &(from, to, capacity) in links {
        leaving.entry(from).or_default().push(arcs.len());
        leaving.entry(to).or_default().push(arcs.len() + 1);
        arcs.extend([(to, capacity), (from, 0)]);
    }
    let mut total = 0_u64;
    while let Some(path) = augmenting_path(&arcs, &leaving, src, dst) {
        let amount = path.iter().map(|arc| arcs[*arc].1).min().unwrap_or(0);
        for arc in path {
            arcs[arc].1 -= amount;
            arcs[arc ^ 1].1 = arcs[arc ^ 1].1.saturating_add(amount);
        }
        total = total.saturating_add(amount);
    }
    total
}

/// The arcs of a path with capacity left, of the fewest arcs.
fn augmenting_path(
    arcs: &[(NodeId, u64)],
    leaving: &HashMap<NodeId, Vec<usize>>,
    src: NodeId,
    dst: NodeId,
) -> Option<Vec<usize>> {
    let mut reached_by = HashMap::from([(src, None)]);
    let mut waiting = VecDeque::from([src]);
    while let Some(node) = waiting.pop_front() {
        for &arc in leaving.get(&node).into_iter().flatten() {
            let (next, capacity) = arcs[arc];
            if capacity > 0 && !reached_by.contains_key(&next) {
                reached_by.insert(next, Some(arc));
                waiting.push_back(next);
            }
        }
    }
    let mut path = Vec::new();
    let mut node = dst;
    while let Some(arc) = *reached_by.get(&node)? {
        path.push(arc);
        node = arcs[arc ^ 1].0;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flow_goes_back_over_a_link_where_that_is_needed() {
        // Ford and Fulkerson's bridge: the first shortest path takes it, and the second takes it back.
        let links = [(0, 1, 10), (0, 2, 10), (1, 2, 10), (1, 3, 10), (2, 3, 10)];
        assert_eq!(max_flow(&links, 0, 3), 20);
        assert_eq!(max_flow(&links, 3, 0), 0);
        assert_eq!(max_flow(&[(0, 1, 3), (0, 1, 4)], 0, 1), 7, "parallel links");
    }

    proptest! {
        /// The least cut, by trying all of them (Ford and Fulkerson 1956).
        #[test]
        fn it_is_the_least_cut(links in prop::collection::vec((0u32..6, 0u32..6, 0u64..20), 0..20)) {
            let cut = |inside: u32| {
                let crosses = |(from, to, _): &&(u32, u32, u64)| inside >> from & 1 == 1 && inside >> to & 1 == 0;
                links.iter().filter(crosses).map(|(.., capacity)| capacity).sum::<u64>()
            };
            let least = (0..64_u32).filter(|inside| inside & 1 == 1 && inside >> 5 & 1 == 0).map(cut).min();
            prop_assert_eq!(Some(max_flow(&links, 0, 5)), least);
        }
    }
}
