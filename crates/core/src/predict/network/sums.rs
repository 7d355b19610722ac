//! The sum of several flows, with its interval.

use super::Prediction;
use super::solution::class::{Class, Interval, interval};
use std::collections::BTreeMap;

/// The least uncertainty of a sum, as a share of it.
const LEAST: f64 = 0.01;

/// How much further out the ends are if links or routes change, as a share of the sum. On 60 scenarios of `validation.predict.failing` that do not judge, it lets
/// the intervals hold 90 % of the sums.
const CHANGES: f64 = 0.025;

/// The goodput of several flows together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    /// The sum of the flows' goodputs, bit/s.
    pub goodput_bps: f64,
    /// Interval that held 90 % of such sums in single runs of the packet engine.
    pub interval_bps: (f64, f64),
}

/// What is known of the flows of one sum.
#[derive(Default)]
struct Parts {
    flows: u32,
    goodput_bps: f64,
    /// Sums of the ends of the flows' intervals.
    ends_bps: (f64, f64),
    has_flowlets: bool,
    /// Distances of these ends from the goodput, of flows that share no link: one cause may move them all.
    common: (f64, f64),
    /// Sums of [`FlowPrediction::common_bps`](super::FlowPrediction::common_bps): a failure makes flows wait together.
    after_changes: (f64, f64),
    /// By link that flows share: their goodput over it, and the sum of the squares of these distances.
    by_link: BTreeMap<u32, (f64, f64, f64)>,
}

/// The sums of the flows of each kind. `kinds` has the kind of each flow, below `count`.
///
/// Flows over a full link take from one another: what one has more, the others have less. Without a flow outside, their sum is that of the link. So of
/// independent distances whose squares add up to S, 1 - s remains in the sum, if its flows have the share s of the link. Their spread and that of other links and flows is
/// scaled until it held 90 % of the sums of random scenarios; `python -m validation.predict` measures it.
///
/// If links or routes change, a sum is that of its parts, and so are the ends of its interval: one cause may move the flows in all of them.
pub fn sums(prediction: &Prediction, kinds: &[u32], count: usize) -> Vec<Sum> {
    if !prediction.parts.is_empty() {
        let mut whole = vec![Sum::default(); count];
        for part in &prediction.parts {
            for (sum, add) in whole.iter_mut().zip(sums(part, kinds, count)) {
                sum.goodput_bps += add.goodput_bps;
                sum.interval_bps.0 += add.interval_bps.0;
                sum.interval_bps.1 += add.interval_bps.1;
            }
        }
        for sum in &mut whole {
            sum.interval_bps.0 = (sum.interval_bps.0 - CHANGES * sum.goodput_bps).max(0.0);
            sum.interval_bps.1 += CHANGES * sum.goodput_bps;
        }
        return whole;
    }
    let mut parts: Vec<Parts> = (0..count).map(|_| Parts::default()).collect();
    for (flow, kind) in prediction.flows.iter().zip(kinds) {
        let part = &mut parts[*kind as usize];
        let (low, high) = (flow.interval_bps.0 + flow.common_bps.0, flow.interval_bps.1 - flow.common_bps.1);
        part.after_changes.0 += flow.common_bps.0;
        part.after_changes.1 += flow.common_bps.1;
        let (below, above) = (flow.goodput_bps - low, high - flow.goodput_bps);
        part.flows += 1;
        part.goodput_bps += flow.goodput_bps;
        part.ends_bps.0 += low;
        part.ends_bps.1 += high;
        part.has_flowlets |= flow.limited_by == Class::Flowlets.name();
        if let Some((link, bps)) = flow.shares {
            let of_link = part.by_link.entry(link).or_default();
            of_link.0 += bps;
            of_link.1 += below * below;
            of_link.2 += above * above;
        } else {
            part.common.0 += below;
            part.common.1 += above;
        }
    }
    parts.into_iter().map(|part| part.sum(prediction)).collect()
}

impl Parts {
    fn sum(&self, prediction: &Prediction) -> Sum {
        let goodput_bps = self.goodput_bps;
        let sum = |low: f64, high: f64| Sum {
            goodput_bps,
            interval_bps: (low - self.after_changes.0, high + self.after_changes.1),
        };
        if self.flows <= 1 {
            return sum(self.ends_bps.0, self.ends_bps.1);
        }
        let left = |link: u32, bps: f64| (1.0 - bps / prediction.links[link as usize].carried_bps.max(bps)).max(0.0);
        let least = (LEAST * goodput_bps).powi(2);
        let squares = self.by_link.iter().fold((least, least), |(below, above), (link, of_link)| {
            let left = left(*link, of_link.0);
            (below + left * of_link.1, above + left * of_link.2)
        });
        let Interval { low, high } = interval(if self.has_flowlets { "sum, flowlets" } else { "sum" });
        let below = low * (squares.0 + self.common.0.powi(2)).sqrt();
        let above = high * (squares.1 + self.common.1.powi(2)).sqrt();
        sum((goodput_bps - below).max(self.ends_bps.0), (goodput_bps + above).min(self.ends_bps.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::network::{FlowPrediction, LinkPrediction};

    fn of_four(shares: Option<(u32, f64)>) -> Prediction {
        let link = LinkPrediction {
            carried_bps: 4e6,
            packets: 0.0,
            utilisation: 1.0,
            queue_delay_s: 0.0,
            drops: 0.0,
            losses: 0.0,
            in_phase: false,
        };
        let flow = FlowPrediction {
            goodput_bps: 1e6,
            interval_bps: (0.5e6, 2e6),
            limited_by: "one RTT",
            rtt_s: 0.1,
            window: 10.0,
            completion: None,
            between_s: 0.01,
            timeout_s: 0.3,
            sawtooth: None,
            common_bps: (0.0, 0.0),
            paths: 1,
            most_bps: 4e6,
            shares,
        };
        let (flows, links, parts, claims) = (vec![flow; 4], vec![link], Vec::new(), Vec::new());
        Prediction { flows, links, parts, claims, converged: true, unique: true }
    }

    #[test]
    fn all_flows_of_a_link_have_its_capacity_and_half_of_them_do_not() {
        let found = of_four(Some((0, 1e6)));
        let [all] = sums(&found, &[0; 4], 1)[..] else { panic!("one kind") };
        let width = |sum: &Sum| (sum.interval_bps.1 - sum.interval_bps.0) / sum.goodput_bps;
        assert!(width(&all) < 0.2, "{all:?}");
        let halves = sums(&found, &[0, 0, 1, 1], 2);
        assert!(halves.iter().all(|half| width(half) > 2.0 * width(&all) && width(half) <= 1.5), "{halves:?}");
    }

    #[test]
    fn one_flow_has_its_own_interval_and_no_sum_exceeds_those_of_its_flows() {
        let found = of_four(None);
        assert_eq!(sums(&found, &[0, 1, 2, 3], 4)[2].interval_bps, (0.5e6, 2e6));
        let [all] = sums(&found, &[0; 4], 1)[..] else { panic!("one kind") };
        assert!(all.interval_bps.0 >= 2e6 && all.interval_bps.1 <= 8e6, "{all:?}");
    }
}
