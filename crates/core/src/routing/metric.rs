//! Metrics: the definitions of the length of a path.
//!
//! To add one, add an entry to [`Metric`]: its weights add up along a path, or the least one counts. Scenarios, commands and
//! documentation read the entry.
//!
//! Weights are whole numbers, so that sums are exact and "equal cost" means equal. Of two paths of equal sum the one of
//! fewer hops is the shorter. As every link counts one hop, no cycle has weight zero, not even one of links that cost nothing.

use super::tcpbp::Label;
use super::{Graph, Link, PathWeight, RoutingError};
use crate::spec::LinkId;
use serde::{Deserialize, Serialize};

/// OSPF's customary reference bandwidth, 100 Mbit/s (RFC 4750, `ospfReferenceBandwidth`).
const REFERENCE_BANDWIDTH: u64 = 100_000_000;
/// Units of the metric `cost`: a cost is held in millionths.
const COST_UNITS: f64 = 1e6;
/// The greatest cost: beyond it, millionths overflow 64 bits.
const MAX_COST: f64 = 1e13;
/// Units of the metric `loss`: -ln(1 - p) is stored in units of 2^-58, which can hold every p below 1; the greatest number means p =
/// 1.
pub(super) const LOSS_UNITS: f64 = (1_u64 << 58) as f64;

const HOP_BITS: u32 = 32;

/// The weight of a link or a path: the metric's sum, then the number of hops. Additive, and totally ordered.
///
/// Both are kept in one word, hops in the lower 32 bits: 96 bits hold the sum of 2^32 links of any 64-bit weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Weight(pub(super) u128);

impl Weight {
    /// The weight of one link, in the metric's units.
    pub fn of_link(value: u64) -> Weight {
        Weight(u128::from(value) << HOP_BITS | 1)
    }

    /// The metric's sum: hops, picoseconds, 2^-58 of -ln(1 - p), OSPF cost, or millionths of the given cost.
    pub fn value(self) -> u128 {
        self.0 >> HOP_BITS
    }

    /// The number of links.
    pub fn hops(self) -> u32 {
        self.0 as u32
    }
}

impl PathWeight for Weight {
    const IDENTITY: Self = Weight(0);

    fn extend(self, by: Self) -> Self {
        Weight(self.0 + by.0)
    }

    fn ties(self, other: Self) -> bool {
        self.value() == other.value()
    }
}

/// The definition of a metric.
pub struct Definition {
    /// Name of the metric in scenarios.
    pub name: &'static str,
    /// The quantity that the metric counts.
    summary: &'static str,
    /// Properties that it needs for every link: `capacity_bps`, `delay_s`, `loss`, `cost`.
    needs: &'static [&'static str],
    /// Whether it depends on measurements of links.
    is_measured: bool,
    /// Weight of a link in whole units; less is better.
    weight: fn(LinkId, &Link) -> Result<u64, RoutingError>,
    /// Cost of a path in the unit for users.
    pub(super) cost: Cost,
}

/// Computes the cost of a path for users.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// The sum of a number of each link.
    Sum(fn(&Link) -> f64),
    /// The least such number; the greater, the better.
    Least(fn(&Link) -> f64),
    /// A number that follows from the exact delay and loss of the path.
    OfPath(fn(&Label) -> f64),
}

/// Declares the metrics: each with its documentation, name and [`Definition`].
macro_rules! metrics {
    (
        $(#[$outer:meta])*
        pub enum $metrics:ident {
            $( #[doc = $summary:literal] $metric:ident = $name:literal {
                needs: $needs:expr, is_measured: $measured:literal, weight: $weight:expr, cost: $cost:expr $(,)?
            } )*
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $metrics {
            $( #[doc = $summary] #[serde(rename = $name)] $metric, )*
        }

        impl $metrics {
            /// All metrics.
            pub const ALL: &[$metrics] = &[$($metrics::$metric),*];

            /// The definition of this metric.
            pub fn definition(self) -> &'static Definition {
                match self {
                    $( $metrics::$metric => {
                        const DEFINITION: &Definition = &Definition {
                            name: $name,
                            summary: $summary,
                            needs: $needs,
                            is_measured: $measured,
                            weight: $weight,
                            cost: $cost,
                        };
                        DEFINITION
                    } )*
                }
            }
        }
    };
}

metrics! {
    /// A weight of links, and how it combines along a path: an isotone and monotone metric.
    pub enum Metric {
        /// the number of links
        HopCount = "hop-count" {
            needs: &[],
            is_measured: false,
            weight: |_, _| Ok(1),
            cost: Cost::Sum(|_| 1.0),
        }
        /// the sum of the links' delays
        Delay = "delay" {
            needs: &["delay_s"],
            is_measured: true,
            weight: |_, link| Ok(link.delay.0),
            cost: Cost::OfPath(|path| path.delay().as_secs()),
        }
        /// the ratio of packets lost, as the sum of -ln(1 - p)
        Loss = "loss" {
            needs: &["loss"],
            is_measured: true,
            weight: |_, link| Ok((log_loss(link.loss) * LOSS_UNITS).round() as u64),
            cost: Cost::OfPath(Label::loss),
        }
        /// 100 Mbit/s over the link's rate, at least 1, summed
        Ospf = "ospf" {
            needs: &["capacity_bps"],
            is_measured: false,
            weight: |id, link| ospf_cost(link.rate.0).ok_or(RoutingError::Rate { link: id }),
            cost: Cost::Sum(|link| ospf_cost(link.rate.0).unwrap_or(0) as f64),
        }
        /// the sum of the costs given with the links
        Cost = "cost" {
            needs: &["cost"],
            is_measured: false,
            weight: |id, link| fixed_point_cost(link.cost).ok_or(RoutingError::Cost { link: id, cost: link.cost }),
            cost: Cost::Sum(|link| link.cost),
        }
        /// the least rate of the links, the greater the better
        Widest = "widest" {
            needs: &["capacity_bps"],
            is_measured: false,
            weight: |_, link| Ok(u64::MAX - link.rate.0),
            cost: Cost::Least(|link| link.rate.0 as f64),
        }
    }
}

impl Metric {
    /// Name of the metric in scenarios.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Whether the worst link of a path counts, and not the sum over its links.
    pub fn is_bottleneck(self) -> bool {
        matches!(self.definition().cost, Cost::Least(_))
    }

    /// Public description.
    pub fn describe(self) -> MetricInfo {
        let Definition { name, summary, needs, is_measured, .. } = *self.definition();
        let kind = if self.is_bottleneck() { "least" } else { "sum" };
        MetricInfo { name, kind, summary: summary.trim(), needs, is_measured }
    }
}

/// Public description of a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricInfo {
    /// Name of the metric in scenarios.
    pub name: &'static str,
    /// `sum` and `least` of the links' weights, or `throughput`, which is not isotone.
    pub kind: &'static str,
    /// The quantity that the metric counts.
    pub summary: &'static str,
    /// Properties that it needs for every link.
    pub needs: &'static [&'static str],
    /// Whether it depends on measurements of links.
    pub is_measured: bool,
}

/// The weight of every link by id.
///
/// # Errors
/// [`RoutingError::NotAdditive`] for a bottleneck, and as [`metric_value`].
pub fn link_weights(graph: &Graph, metric: Metric) -> Result<Vec<Weight>, RoutingError> {
    if metric.is_bottleneck() {
        return Err(RoutingError::NotAdditive { metric: metric.name().into() });
    }
    let weight = |(id, link)| Ok(Weight::of_link(metric_value(id, link, metric)?));
    (0..).zip(graph.links()).map(weight).collect()
}

/// The weight of a link in a metric. Less is better: for `widest`, it is the greatest rate minus the link's rate.
///
/// A cost is rounded to the nearest millionth, -ln(1 - p) to the nearest 2^-58.
///
/// # Errors
/// [`RoutingError::Cost`] for a cost that is negative, not a number, above 1e13, or so small that rounding would make
/// it zero; [`RoutingError::Rate`] for a rate of zero under the metric `ospf`.
pub(super) fn metric_value(id: LinkId, link: &Link, metric: Metric) -> Result<u64, RoutingError> {
    (metric.definition().weight)(id, link)
}

/// -ln(1 - p), which adds up along a path where loss ratios do not, without cancellation for small p.
pub(super) fn log_loss(loss: f64) -> f64 {
    -(-loss).ln_1p()
}

/// OSPF's automatic cost: the reference bandwidth over the rate, rounded down, at least 1 (RFC 2328 appendix C.3 wants
/// it positive).
pub fn ospf_cost(bits_per_second: u64) -> Option<u64> {
    Some(REFERENCE_BANDWIDTH.checked_div(bits_per_second)?.max(1))
}

/// A cost in millionths, rounded to the nearest.
fn fixed_point_cost(cost: f64) -> Option<u64> {
    let representable = cost == 0.0 || (1.0 / COST_UNITS..=MAX_COST).contains(&cost);
    representable.then(|| (cost * COST_UNITS).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::link;
    use super::*;
    use crate::spec::{LinkSpec, LossSpec};
    use crate::units::{Duration, Rate};

    fn value(metric: Metric, spec: LinkSpec) -> Result<u128, RoutingError> {
        Ok(link_weights(&Graph::of_specs(2, &[spec]).unwrap(), metric)?[0].value())
    }

    #[test]
    fn ospf_costs_as_vendors_tabulate_them() {
        for (rate, cost) in [(56_000, 1785), (1_544_000, 64), (10_000_000, 10), (100_000_000, 1), (10_000_000_000, 1)] {
            assert_eq!(value(Metric::Ospf, LinkSpec { rate: Rate(rate), ..link(0, 1) }), Ok(cost));
        }
        let error = value(Metric::Ospf, LinkSpec { rate: Rate(0), ..link(0, 1) });
        assert_eq!(error, Err(RoutingError::Rate { link: 0 }));
    }

    #[test]
    fn delay_counts_picoseconds_and_hop_count_counts_one() {
        let spec = LinkSpec { delay: Duration::from_micros(3), ..link(0, 1) };
        assert_eq!(value(Metric::Delay, spec.clone()), Ok(3_000_000));
        assert_eq!(value(Metric::HopCount, spec), Ok(1));
    }

    #[test]
    fn costs_that_are_equal_on_paper_are_equal_though_their_binary_fractions_are_not() {
        let cost = |cost| value(Metric::Cost, LinkSpec { cost, ..link(0, 1) }).unwrap();
        assert_ne!(0.1 + 0.2, 0.3);
        assert_eq!(cost(0.1) + cost(0.2), cost(0.3));
        assert_eq!(cost(0.0), 0);
        assert_eq!(cost(1e13), 10_000_000_000_000_000_000);
    }

    #[test]
    fn losses_add_up_as_the_packets_that_pass_multiply() {
        let loss =
            |ratio| value(Metric::Loss, LinkSpec { loss: Some(LossSpec::bernoulli(ratio)), ..link(0, 1) }).unwrap();
        assert_eq!(loss(0.0), 0);
        // 1 - 0.9 * 0.8 = 0.28.
        assert!((loss(0.1) + loss(0.2)).abs_diff(loss(0.28)) <= 32);
        assert_eq!(loss(1e-9), 288_230_376); // (1e-9 + 0.5e-18) 2^58
        assert!(loss(1.0_f64.next_down()) < loss(1.0));
    }

    #[test]
    fn widest_is_no_sum() {
        let error = value(Metric::Widest, link(0, 1)).unwrap_err();
        assert!(error.to_string().starts_with("the metric widest does not add up"), "{error}");
    }

    #[test]
    fn costs_without_an_order_or_a_representation_are_refused() {
        for cost in [-1.0, f64::NAN, f64::INFINITY, 1.1e13, 1e-9] {
            let error = value(Metric::Cost, LinkSpec { cost, ..link(0, 1) }).unwrap_err();
            assert!(error.to_string().starts_with(&format!("link 0 has cost {cost}: ")), "{error}");
        }
        // Other metrics accept it.
        assert_eq!(value(Metric::HopCount, LinkSpec { cost: f64::NAN, ..link(0, 1) }), Ok(1));
    }

    #[test]
    fn weights_order_by_sum_and_then_by_hops_without_overflow() {
        let long = Weight::of_link(u64::MAX).extend(Weight::of_link(u64::MAX));
        assert_eq!((long.value(), long.hops()), (2 * u128::from(u64::MAX), 2));
        let two = Weight::of_link(1).extend(Weight::of_link(1));
        assert!(Weight::of_link(2) < two && two < Weight::of_link(3));
        assert!(Weight::IDENTITY < Weight::of_link(0));
    }
}
