//! Several metrics, each deciding between paths that are equal by those before it; and `widest`.

use super::metric::metric_value;
use super::{Graph, Link, PathWeight, RoutingError};
use crate::spec::{LinkId, Metric};

const MOST: usize = 6;

/// The weight of a link or a path by several metrics, then the number of hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lexicographic {
    /// Values by metric, the most important first. For `widest`, the greatest rate minus the path's rate.
    values: [u64; MOST],
    hops: u32,
    /// For each value, a bit: whether it is the maximum of the links' values instead of their sum.
    bottleneck: u8,
}

impl Lexicographic {
    /// The value of its first metric.
    pub(super) fn weightiest(self) -> u64 {
        self.values[0]
    }
}

impl PathWeight for Lexicographic {
    const IDENTITY: Self = Lexicographic { values: [0; MOST], hops: 0, bottleneck: 0 };

    fn extend(self, by: Self) -> Self {
        let bottleneck = self.bottleneck | by.bottleneck;
        let value = |index: usize| {
            let (a, b) = (self.values[index], by.values[index]);
            if bottleneck >> index & 1 == 1 { a.max(b) } else { a.saturating_add(b) }
        };
        Lexicographic { values: std::array::from_fn(value), hops: self.hops + by.hops, bottleneck }
    }

    fn ties(self, other: Self) -> bool {
        self.values == other.values
    }
}

/// The weight of every link by id.
///
/// # Errors
/// [`RoutingError::Lexicographic`] if there is no metric or one stands there twice; [`RoutingError::NotIsotone`] if
/// `widest` is not the last; or as [`super::link_weights`].
pub fn lexicographic_weights(graph: &Graph, metrics: &[Metric]) -> Result<Vec<Lexicographic>, RoutingError> {
    let named = || metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(", ");
    let problem = match metrics {
        [] => Some("nothing"),
        _ => (1..metrics.len()).any(|index| metrics[..index].contains(&metrics[index])).then_some("one twice"),
    };
    if let Some(problem) = problem {
        return Err(RoutingError::Lexicographic { metric: named(), problem });
    }
    if metrics[..metrics.len() - 1].iter().any(|metric| metric.is_bottleneck()) {
        return Err(RoutingError::NotIsotone { metric: named() });
    }
    graph.links().iter().enumerate().map(|(id, link)| link_weight(id as LinkId, link, metrics)).collect()
}

/// The weight of one link by different metrics.
pub(super) fn link_weight(id: LinkId, link: &Link, metrics: &[Metric]) -> Result<Lexicographic, RoutingError> {
    let mut weight = Lexicographic { hops: 1, ..Lexicographic::IDENTITY };
    for (index, &metric) in metrics.iter().enumerate() {
        weight.values[index] = metric_value(id, link, metric)?;
        weight.bottleneck |= u8::from(metric.is_bottleneck()) << index;
    }
    Ok(weight)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{link, network};
    use super::super::{ShortestTree, link_weights};
    use super::*;
    use crate::spec::{LinkSpec, NodeId};
    use crate::units::Rate;
    use proptest::prelude::*;

    #[test]
    fn metrics_are_refused_where_they_say_nothing_or_are_not_isotone() {
        let graph = Graph::of_specs(2, &[link(0, 1)]).unwrap();
        let error = |metrics: &[Metric]| lexicographic_weights(&graph, metrics).unwrap_err().to_string();
        assert!(error(&[]).starts_with("the metric [] names nothing"));
        assert!(error(&[Metric::Delay, Metric::Delay]).starts_with("the metric [delay, delay] names one twice"));
        assert!(error(&[Metric::Widest, Metric::Delay]).starts_with("the metric [widest, delay] is not isotone"));
        assert!(lexicographic_weights(&graph, &[Metric::Delay, Metric::Widest]).is_ok());
    }

    #[test]
    fn the_second_decides_among_equals_of_the_first() {
        // Two paths of two hops, 2 ms each, the second one wider; and a direct path that is slower.
        let wide = |src, dst, rate| LinkSpec { rate: Rate(rate), ..link(src, dst) };
        let links = [wide(0, 1, 10), wide(1, 3, 10), wide(0, 2, 20), wide(2, 3, 15), wide(0, 3, 99)];
        let mut graph = Graph::of_specs(4, &links).unwrap();
        graph.set_quality(4, crate::units::Duration::from_millis(5), 0.0);
        let path = |metrics: &[Metric]| {
            let weights = lexicographic_weights(&graph, metrics).unwrap();
            ShortestTree::new(&graph, &weights, 3).path(0).unwrap().links
        };
        assert_eq!(path(&[Metric::Delay]), [0, 1]);
        assert_eq!(path(&[Metric::Delay, Metric::Widest]), [2, 3]);
        assert_eq!(path(&[Metric::Widest]), [4]);
    }

    proptest! {
        #[test]
        fn one_additive_metric_gives_the_paths_of_its_sum(network in network(7, 18, 0..4)) {
            let hop_count = link_weights(&network.graph, Metric::HopCount).unwrap();
            let listed = lexicographic_weights(&network.graph, &[Metric::HopCount]).unwrap();
            let (one, other) = (
                ShortestTree::new(&network.graph, &hop_count, 0),
                ShortestTree::new(&network.graph, &listed, 0),
            );
            for node in 0..network.graph.nodes() as NodeId {
                prop_assert_eq!(one.path(node).map(|path| path.links), other.path(node).map(|path| path.links));
                prop_assert_eq!(one.equal_cost(node), other.equal_cost(node));
            }
        }
    }
}
