//! Routing by the predicted goodput of a stack: a table of predictions, read for any path.
//!
//! Goodput falls with delay and loss, and grows with the least rate of a path's links. It does not add up along a path, so
//! [`super::pareto`] searches it: among paths to a node, only those that no other beats in all three can lead to the best one.

use super::tcpbp::Label;
use serde::{Deserialize, Serialize};

/// Grains of the logarithm of a goodput: 2^30, so that a value is exact to 5e-10.
const GRAIN: f64 = (1_u32 << 30) as f64;

/// Predicted goodput of a lone flow of one stack, on a grid of loss ratios, round-trip times and link rates.
///
/// The values never grow with loss or with the round-trip time, and never fall with the rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoodputLaw {
    /// Loss ratios of the grid, ascending, above 0.
    pub losses: Vec<f64>,
    /// Round-trip times of the grid, seconds, ascending.
    pub rtts_s: Vec<f64>,
    /// Link rates of the grid, bit/s, ascending. A single one stands for any: then the stack answers losses, not rates.
    pub rates_bps: Vec<f64>,
    /// Payload delivered, bit/s: by loss, then by round-trip time, then by rate.
    pub goodput_bps: Vec<f64>,
    /// Share of the bits on the wire that is payload.
    pub efficiency: f64,
}

impl GoodputLaw {
    /// Makes each value the least of those with less loss, a shorter round-trip time and a higher rate. Noise of simulations may
    /// order neighbours the wrong way.
    pub fn monotone(mut self) -> GoodputLaw {
        let (rtts, rates) = (self.rtts_s.len(), self.rates_bps.len());
        for index in 0..self.goodput_bps.len() {
            let before = [(index >= rtts * rates, rtts * rates), (index / rates % rtts > 0, rates)];
            for (_, back) in before.into_iter().filter(|(exists, _)| *exists) {
                self.goodput_bps[index] = self.goodput_bps[index].min(self.goodput_bps[index - back]);
            }
        }
        for index in (0..self.goodput_bps.len()).rev().filter(|index| index % rates + 1 < rates) {
            self.goodput_bps[index] = self.goodput_bps[index].min(self.goodput_bps[index + 1]);
        }
        self
    }

    /// Predicted goodput, bit/s, of a path with this one-way delay in seconds, loss ratio and least link rate in bit/s. The way
    /// back has the same delay and loses nothing.
    pub fn at(&self, delay_s: f64, loss: f64, rate_bps: f64) -> f64 {
        let (rtt_s, most) = (2.0 * delay_s, rate_bps * self.efficiency * (1.0 - loss));
        let places = [(&self.losses, loss), (&self.rtts_s, rtt_s), (&self.rates_bps, rate_bps)];
        let places = places.map(|(grid, value)| place(grid, value));
        let sizes = [self.rtts_s.len() * self.rates_bps.len(), self.rates_bps.len(), 1];
        let mut logarithm = 0.0;
        for corner in 0..8_usize {
            let (mut index, mut weight) = (0, 1.0);
            for (axis, ((low, part), size)) in places.iter().zip(sizes).enumerate() {
                let upper = corner >> axis & 1;
                weight *= if upper == 1 { *part } else { 1.0 - part };
                index += (low + upper) * size;
            }
            if weight > 0.0 {
                logarithm += weight * libm::log(self.goodput_bps[index]);
            }
        }
        // Paths of equal goodput must have equal values, whatever the rounding, so that their delays decide.
        let logarithm = (logarithm * GRAIN).round() / GRAIN;
        let longest_s = self.rtts_s.last().copied().unwrap_or(rtt_s);
        let greatest = self.losses.last().copied().unwrap_or(loss);
        let beyond = (longest_s / rtt_s).min(1.0) * ((1.0 - loss) / (1.0 - greatest)).min(1.0);
        (libm::exp(logarithm) * beyond).min(most)
    }

    /// Predicted goodput of a path with this label and least rate, bit/s.
    pub(super) fn of_path(&self, label: &Label, rate_bps: f64) -> f64 {
        self.at(label.delay().as_secs(), label.loss(), rate_bps)
    }
}

/// The interval of a grid that has the value, and where in it, by logarithms. Values outside count as the nearest end.
fn place(grid: &[f64], value: f64) -> (usize, f64) {
    let low = grid.partition_point(|known| *known <= value);
    if low == 0 {
        return (0, 0.0);
    }
    match grid.get(low) {
        Some(high) => (low - 1, libm::log(value / grid[low - 1]) / libm::log(high / grid[low - 1])),
        None => (grid.len() - 1, 0.0),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::test_support::{Network, simple_paths};
    use super::super::{Graph, Link, routes};
    use super::*;
    use crate::spec::{LinkId, MetricSpec, NodeId, ThroughputMetric};
    use crate::units::{Duration, Rate};
    use proptest::prelude::*;

    /// Any table that has the three monotonicities, with plateaus.
    pub fn any_law() -> impl Strategy<Value = GoodputLaw> {
        (1_usize..4, prop::collection::vec(0..40_u32, 48)).prop_map(|(rates, values)| {
            let goodput_bps = values.iter().map(|value| 1e4 * 1.3_f64.powi(*value as i32)).collect::<Vec<_>>();
            GoodputLaw {
                losses: vec![1e-5, 1e-3, 0.02, 0.3],
                rtts_s: vec![1e-3, 1e-2, 0.1, 0.4],
                rates_bps: [1e5, 1e6, 1e7][..rates].to_vec(),
                goodput_bps: goodput_bps[..16 * rates].to_vec(),
                efficiency: 0.96,
            }
            .monotone()
        })
    }

    pub fn any_links(nodes: NodeId) -> impl Strategy<Value = Vec<Link>> {
        let loss =
            prop_oneof![1 => Just(0.0), 1 => Just(0.01), 4 => (-6.0..-0.2_f64).prop_map(|power| 10_f64.powf(power))];
        let rate = prop_oneof![Just(50_000_u64), Just(500_000), Just(5_000_000), 10_000..100_000_000_u64];
        let delay = prop_oneof![1 => Just(1000_u64), 4 => 10..100_000_u64];
        let link = (0..nodes, 0..nodes, delay, loss, rate).prop_map(|(src, dst, delay, loss, rate)| Link {
            src,
            dst,
            rate: Rate(rate),
            delay: Duration::from_micros(delay),
            cost: 1.0,
            loss,
        });
        prop::collection::vec(link, 0..18)
    }

    /// The greatest predicted goodput of all simple paths.
    fn brute_force(graph: &Graph, law: &GoodputLaw, source: NodeId, destination: NodeId) -> Option<f64> {
        let weights = graph.links().iter().map(Label::of_link).collect();
        let paths = simple_paths(&Network { graph: graph.clone(), weights }, source, destination);
        let of = |links: &[LinkId]| {
            let narrowest = links.iter().map(|&link| graph.link(link).rate.0).min().unwrap();
            law.of_path(&Label::of_path(graph, links), narrowest as f64)
        };
        paths.iter().map(|path| of(&path.links)).max_by(f64::total_cmp)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

        #[test]
        fn a_law_falls_with_loss_and_delay_and_grows_with_the_rate(
            law in any_law(), delay in 1e-4..1.0, loss in 1e-7..0.9, rate in 1e4..1e9, more in 1.0..3.0,
        ) {
            let value = law.at(delay, loss, rate) * (1.0 + 1e-12);
            prop_assert!(law.at(delay * more, loss, rate) <= value);
            prop_assert!(law.at(delay, f64::min(loss * more, 0.99), rate) <= value);
            prop_assert!(law.at(delay, loss, rate / more) <= value);
        }

        #[test]
        fn the_search_finds_the_best_of_all_paths(law in any_law(), links in any_links(7)) {
            let graph = Graph::new(7, links).unwrap();
            let all: Vec<NodeId> = (0..7).collect();
            let metric = MetricSpec::Throughput(ThroughputMetric::Goodput(Box::new(law.clone())));
            let found = routes::routes(&graph, &metric, &all, &all).unwrap();
            let mut costs = found.cost.iter();
            for ((&src, &dst), &paths) in found.src.iter().zip(&found.dst).zip(&found.paths) {
                let best = brute_force(&graph, &law, src, dst);
                prop_assert_eq!(paths, u32::from(best.is_some()));
                let (Some(best), Some(cost)) = (best, if paths == 1 { costs.next() } else { None }) else { continue };
                prop_assert!((cost / best - 1.0).abs() < 1e-12, "{cost} for {best}");
            }
            // Every router has its own best path, and packets that follow them arrive.
            let delivered = routes::hop_by_hop(&graph, &metric).unwrap();
            prop_assert_eq!(found.paths, delivered.paths);
        }
    }
}
