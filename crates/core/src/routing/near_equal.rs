//! Paths nearly as good as the best (the future work of Vilela, Fonseca and Fonseca: sharing between them).

use super::{Path, RoutingError};

/// Costs this close to the threshold, relatively, are within it: 1.15 times 100 is not quite 115 in binary fractions.
const ROUNDING: f64 = 1e-12;

/// The paths, given in order of cost, that cost at most 1 + `threshold` times the cost of the first.
pub fn near_equal<W>(
    paths: impl Iterator<Item = Path<W>>,
    cost: impl Fn(&W) -> f64,
    threshold: f64,
) -> impl Iterator<Item = Path<W>> {
    let mut most = None;
    paths.take_while(move |path| {
        let cost = cost(&path.weight);
        cost <= *most.get_or_insert(cost * (1.0 + threshold) * (1.0 + ROUNDING))
    })
}

/// Shares of traffic for paths of these costs: inversely proportional, or equal if the best costs nothing.
pub(super) fn shares(costs: &[f64]) -> Vec<f64> {
    let least = costs.first().copied().unwrap_or(0.0);
    // If the best path costs nothing, so do all near-equal paths.
    costs.iter().map(|&cost| if least == 0.0 { 1.0 } else { least / cost }).collect()
}

/// Refuses a threshold out of range.
pub(super) fn check_threshold(threshold: f64) -> Result<(), RoutingError> {
    if threshold.is_finite() && threshold >= 0.0 { Ok(()) } else { Err(RoutingError::Threshold { threshold }) }
}

#[cfg(test)]
mod tests {
    use super::super::shortest_paths;
    use super::super::tcpbp::onward::BestTowards;
    use super::super::tcpbp::test_networks::any_graph;
    use super::super::tcpbp::{Label, exact};
    use super::super::test_support::{Network, network, simple_paths};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_at_the_threshold_is_within_it() {
        // 1.15 times 100 is less than 115 in binary fractions.
        let network = Network::new(2, &[(0, 1, 100), (0, 1, 115), (0, 1, 116)]);
        let paths = shortest_paths(&network.graph, &network.weights, 0, 1);
        let found: Vec<u128> =
            near_equal(paths, |weight| weight.value() as f64, 0.15).map(|path| path.weight.value()).collect();
        assert_eq!(found, [100, 115]);
    }

    #[test]
    fn what_costs_twice_as_much_carries_half() {
        assert_eq!(shares(&[2.0, 4.0]), [1.0, 0.5]);
        assert_eq!(shares(&[0.0, 0.0]), [1.0, 1.0]);
    }

    proptest! {
        #[test]
        fn all_paths_within_the_threshold_by_a_sum(network in network(6, 14, 0..9), percent in 0..80_u64) {
            let mut expected = simple_paths(&network, 0, 1);
            expected.sort();
            let least = expected.first().map_or(0, |path| path.weight.value());
            expected.retain(|path| path.weight.value() * 100 <= least * u128::from(100 + percent));
            let paths = shortest_paths(&network.graph, &network.weights, 0, 1);
            let found: Vec<Path> =
                near_equal(paths, |weight| weight.value() as f64, percent as f64 / 100.0).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn all_paths_within_the_threshold_by_predicted_throughput(graph in any_graph(6, 16), threshold in 0.0..2.0) {
            let weights = graph.links().iter().map(Label::of_link).collect();
            let mut costs: Vec<f64> = simple_paths(&Network { graph: graph.clone(), weights }, 0, 1)
                .into_iter()
                .map(|path| path.weight.cost())
                .collect();
            costs.sort_by(f64::total_cmp);
            let limit = costs.first().map_or(0.0, |least| least * (1.0 + threshold));
            costs.retain(|&cost| cost <= limit);
            let paths = BestTowards::new(&graph, 1).unwrap().paths_from(0);
            let found: Vec<f64> = near_equal(paths, Label::cost, threshold).map(|path| path.weight.cost()).collect();
            prop_assert_eq!(found.len(), costs.len());
            for (found, cost) in found.iter().zip(&costs) {
                prop_assert!((found - cost).abs() <= exact::ROUNDING * cost);
            }
        }
    }

    #[test]
    fn a_threshold_is_a_number_of_at_least_0() {
        for threshold in [-0.1, f64::NAN, f64::INFINITY] {
            let error = check_threshold(threshold).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the threshold {threshold} is ")), "{error}");
        }
        assert_eq!(check_threshold(0.0), Ok(()));
    }
}
