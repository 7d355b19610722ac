//! Greatest rate of a sprayed flow whose sender counts duplicate ACKs. Above it, the sender takes too many reordered packets for lost ones.

use super::bbr_limit;
use crate::predict::network::flows::model::{ALL, Control, FlowModel, Route, TOGETHER};
use crate::predict::network::flows::sender::balanced;
use crate::predict::network::links::model::LinkModel;
use crate::predict::overtaking;
use std::collections::HashMap;
use std::sync::Arc;

/// Mean wait in the queues of paths that packets draw, relative to packets that arrive one by one at random times. TCP sends bursts,
/// unless it paces single packets.
const BURSTY: f64 = 2.0;
/// Ratio of the packet rate within a burst to the mean rate, because ACKs release packets in bursts.
const CLUMPED: f64 = 1.3;
/// Greatest load of a link for which its queue has a mean wait.
const BUSY: f64 = 0.999;
/// Greatest number of paths that the computation distinguishes. If there are more, neighbours form groups.
const DISTINCT: usize = 16;
/// Points of a lattice rule (Korobov 1959): a prime, and a primitive root of it.
const POINTS: usize = 61;
/// See [`POINTS`].
const GENERATOR: usize = 17;
/// Halvings of an interval of rates: the limit is exact to 1e-4.
const HALVINGS: usize = 18;

/// Number of packets in turn that may overtake another, for three duplicate ACKs and a window of [`USUAL_WINDOW`].
const TOLERATED: f64 = 1.25;
/// Segments of a window whose growth balances about one reduction in 11 round trips.
const USUAL_WINDOW: f64 = 16.0;
/// Disorder of packets in turn besides the delays of their paths, in transmissions.
const DISORDER: f64 = 0.3;

/// The limits of a run's flows. Flows whose paths have the same delays and loads share one.
#[derive(Default)]
pub struct SprayLimits {
    known: HashMap<(*const Control, Vec<u64>), f64>,
}

impl SprayLimits {
    /// The limit of a flow, packets a second; infinite if it has none.
    pub fn of(&mut self, flow: &FlowModel, links: &[LinkModel]) -> f64 {
        if let Some(version) = flow.bbr() {
            return bbr_limit::limit(flow, version, links);
        }
        let (Some(control), Some(threshold)) = (&flow.control, flow.counted()) else { return f64::INFINITY };
        if flow.data.in_turn {
            return in_turn(flow, threshold, links);
        }
        let paths = drawn(flow, links);
        let numbers = paths
            .iter()
            .flat_map(|path| [path.share, path.delay_s, path.load, path.wait_s, path.longest_s, path.held_s]);
        let key = numbers.chain([flow.idle_rtt_s]).chain(flow.loss.numbers()).map(f64::to_bits).collect();
        let limit = || drawn_limit(flow, &paths, control, threshold as usize);
        *self.known.entry((Arc::as_ptr(control), key)).or_insert_with(limit)
    }
}

/// A path that packets draw.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    share: f64,
    /// Delay in an idle network, seconds.
    delay_s: f64,
    /// Load of its busiest link per packet a second of every flow.
    load: f64,
    /// Mean wait at this link at half load, seconds.
    wait_s: f64,
    /// Greatest mean wait there, seconds.
    longest_s: f64,
    /// Mean wait in the queues that other flows fill, seconds.
    held_s: f64,
}

impl Drawn {
    /// Of a route. Links that all packets cross put none of them in disorder.
    fn of(route: &Route, flow: &FlowModel, links: &[LinkModel]) -> Drawn {
        let partly = || flow.data.shares.iter().filter(|(link, share)| *share < ALL && route.links.contains(link));
        let held_s = held_s(partly().map(|(link, _)| &links[*link as usize]));
        let loads = partly().map(|(link, share)| {
            let link = &links[*link as usize];
            (link.senders * flow.wire_bits / link.rate_bps, f64::from(*share), link)
        });
        let bursty = if flow.paced && flow.burst <= 1.0 { 1.0 } else { BURSTY };
        let idle = Drawn { share: route.share, delay_s: route.delay_s, load: 0.0, wait_s: 0.0, longest_s: 0.0, held_s };
        loads.max_by(|one, other| one.0.total_cmp(&other.0)).map_or(idle, |(load, share, link)| Drawn {
            load,
            // Pollaczek and Khinchine, for constant service. A draw spreads regular arrivals: of the variance of random ones it makes this part.
            wait_s: bursty * (1.0 - share) * link.packet_s / 2.0,
            longest_s: TOGETHER * link.buffer_s,
            ..idle
        })
    }

    /// Mean wait, seconds, if every flow sends `rate` packets a second.
    fn wait_at(&self, rate: f64) -> f64 {
        let load = (self.load * rate).min(BUSY);
        (self.wait_s * load / (1.0 - load)).min(self.longest_s)
    }
}

/// The sum of the standing queues on these links, seconds.
fn held_s<'a>(links: impl Iterator<Item = &'a LinkModel>) -> f64 {
    links.filter(|link| link.is_filled).map(|link| link.queue_s).sum()
}

/// The paths of a flow; at most [`DISTINCT`].
fn drawn(flow: &FlowModel, links: &[LinkModel]) -> Vec<Drawn> {
    let mut paths: Vec<Drawn> = flow.data.routes.iter().map(|route| Drawn::of(route, flow, links)).collect();
    paths.sort_unstable_by(|one, other| one.delay_s.total_cmp(&other.delay_s));
    let size = paths.len().div_ceil(DISTINCT);
    let middle = |group: &[Drawn]| Drawn { share: group.iter().map(|path| path.share).sum(), ..group[group.len() / 2] };
    paths.chunks(size).map(middle).collect()
}

/// The rate, packets a second, at which the window balances the reductions by losses at random and by duplicate ACKs of packets that are not lost. Packets
/// are in disorder because paths have different delays, and because queues of the paths have different lengths.
fn drawn_limit(flow: &FlowModel, paths: &[Drawn], control: &Control, threshold: usize) -> f64 {
    let idle_rtt_s = flow.idle_rtt_s;
    // The cumulative ACK waits for the packets of the longest queue.
    let longest_held_s = paths.iter().map(|path| path.held_s).fold(0.0, f64::max);
    let packets_at = |rate: f64| {
        let queues_s: f64 = paths.iter().map(|path| path.share * path.wait_at(rate)).sum();
        let rtt_s = idle_rtt_s + queues_s + longest_held_s;
        let in_burst = if flow.paced { rate } else { CLUMPED * rate };
        let taken_for_lost = probability(paths, rate, in_burst, threshold);
        let window = rate * rtt_s;
        let events = 1.0 - libm::exp(-taken_for_lost * window) * (1.0 - flow.loss.hits(window));
        let balance = control.response.balance((0.0, events), rtt_s, idle_rtt_s, 0.0);
        balance.map_or(f64::INFINITY, |balance| balance.window / rtt_s)
    };
    let busiest = paths.iter().map(|path| path.load).fold(0.0, f64::max);
    let most = (1.0 / busiest).max(1.0 / idle_rtt_s);
    if packets_at(most) >= most { f64::INFINITY } else { balanced(packets_at, (0.1 / idle_rtt_s, most), HALVINGS) }
}

/// Probability that a packet that is not lost gets `threshold` duplicate ACKs, where every flow sends `rate` packets a second, and more within bursts. Queues
/// change slowly beside the time between two packets. So each of [`POINTS`] samples has one wait for each path, exponentially distributed.
fn probability(paths: &[Drawn], rate: f64, in_burst: f64, threshold: usize) -> f64 {
    let mut delays: Vec<(f64, f64)> = paths.iter().map(|path| (path.share, path.delay_s)).collect();
    let means: Vec<f64> = paths.iter().map(|path| path.held_s + path.wait_at(rate)).collect();
    let mut sum = 0.0;
    for point in 0..POINTS {
        let mut factor = point;
        for ((delay, path), mean_s) in delays.iter_mut().zip(paths).zip(&means) {
            let uniform = (factor as f64 + 0.5) / POINTS as f64;
            delay.1 = path.delay_s - mean_s * libm::log(uniform);
            factor = factor * GENERATOR % POINTS;
        }
        sum += overtaking::probability(&delays, in_burst, threshold);
    }
    sum / POINTS as f64
}

/// The limit of a flow whose packets take the paths in turn, packets a second; infinite if they cannot overtake another in the number `threshold`. Queues of
/// the paths have the same length, unless other flows fill them.
fn in_turn(flow: &FlowModel, threshold: f64, links: &[LinkModel]) -> f64 {
    let slowest = flow.data.shares.iter().map(|(link, _)| links[*link as usize].rate_bps).fold(f64::INFINITY, f64::min);
    let packet_s = flow.wire_bits / slowest;
    let of_route = |route: &Route| route.delay_s + held_s(route.links.iter().map(|link| &links[*link as usize]));
    let delays: Vec<f64> = flow.data.routes.iter().map(of_route).collect();
    if most_overtaking(&delays, packet_s) < threshold {
        return f64::INFINITY;
    }
    let paths = delays.len() as f64;
    let spread_s = delays.iter().copied().fold(0.0, f64::max) - delays.iter().copied().fold(f64::INFINITY, f64::min);
    let apart_s = spread_s + DISORDER * packet_s;
    let usual = TOLERATED * threshold / 3.0 * paths / (paths - 1.0) / apart_s;
    // A window of W balances about one reduction per W^2 packets. The rarer reductions must be, the fewer packets may overtake: by the power 1/8 of
    // W.
    usual * (USUAL_WINDOW / (usual * flow.idle_rtt_s)).sqrt().sqrt().sqrt()
}

/// The greatest number of packets that can overtake another one, where packets take paths of these delays, in seconds, in turn. Every path delivers a packet
/// in each `packet_s` seconds at most. A burst of two packets leaves at once.
pub fn most_overtaking(delays: &[f64], packet_s: f64) -> f64 {
    let paths = delays.len();
    let overtake = |late: usize| {
        let later = (1..paths).map(|after| {
            let lead_s = delays[late] - delays[(late + after) % paths];
            (lead_s / packet_s - (after - 1) as f64 / paths as f64).ceil().max(0.0)
        });
        later.sum::<f64>()
    };
    (0..paths).map(overtake).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_turn_overtake_by_whole_packets() {
        // Worked by hand, with a packet a second on each path.
        for (delays, expected) in [
            (vec![1.0, 1.0], 0.0),
            // The late packet meets those sent at the same time, and 1 and 2 seconds later.
            (vec![1.0, 3.5], 3.0),
            // 2.5 seconds after the burst that left with it; 2.5 less a third of a second after the next packet.
            (vec![0.0, 2.5, 0.0], 6.0),
            (vec![0.0, 0.2, 0.1, 0.05], 1.0),
        ] {
            assert!((most_overtaking(&delays, 1.0) - expected).abs() < 1e-12, "{delays:?}");
        }
    }

    #[test]
    fn queues_of_two_equal_paths_overtake_as_the_closed_form_says() {
        // The difference of two exponential waits is exponential again. Of arrivals at random times, the last three all come in this time with the
        // probability (r m / (1 + r m))^3, and all over the shorter path with 1/8. Every other packet is on the longer path.
        let path = Drawn { share: 0.5, delay_s: 0.01, load: 0.5, wait_s: 1.0, longest_s: f64::INFINITY, held_s: 0.0 };
        for in_burst in [2.0, 5.0, 20.0] {
            let mean_s = path.wait_at(1.0);
            let product: f64 = in_burst * mean_s;
            let expected = 0.5 * (0.5 * product / (1.0 + product)).powi(3);
            let found = probability(&[path, path], 1.0, in_burst, 3);
            assert!((found / expected - 1.0).abs() < 0.1, "{in_burst}: {found}, not {expected}");
        }
    }
}
