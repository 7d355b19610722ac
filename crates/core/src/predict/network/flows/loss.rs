//! Random losses: the probability that a path loses a packet of a window. Several losses in one round trip are one event.

use super::model::{FlowModel, Paths};
use crate::packet::LossSpec;
use crate::spec::{LinkSpec, RunSpec};

/// The losses of a flow's packets on a path.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathLoss {
    /// Ratio of the packets that are lost.
    pub ratio: f64,
    /// Part of the ratio that hits each packet independently.
    independent: f64,
    bursts: Vec<Bursts>,
    /// Whether every n-th packet of the flow is lost, and no other.
    pub is_periodic: bool,
}

impl PathLoss {
    /// Builds the losses of a path that loses packets independently.
    pub fn independent(ratio: f64) -> PathLoss {
        PathLoss { ratio, independent: ratio, ..PathLoss::default() }
    }

    /// The probability that at least one packet of a window is lost.
    pub fn hits(&self, window: f64) -> f64 {
        if self.is_periodic {
            return (self.ratio * window).min(1.0);
        }
        let kept: f64 = self.bursts.iter().map(|bursts| bursts.keep(window).ln()).sum();
        -libm::expm1(kept - self.independent * window)
    }

    /// All its numbers. Equal numbers mean equal losses.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        let own = [self.ratio, self.independent, f64::from(u8::from(self.is_periodic))];
        own.into_iter().chain(self.bursts.iter().flat_map(|bursts| {
            let Bursts { packets, ends, begins, loss: [good, bad] } = *bursts;
            [packets, ends, begins, good, bad]
        }))
    }

    /// Mean length of a burst minus one, in packets of the link, lost or not. All may belong to one flow, because flows send in bursts.
    pub fn burst(&self) -> f64 {
        self.bursts.iter().map(|bursts| bursts.packets - 1.0).fold(0.0, f64::max)
    }
}

/// A channel of two states (Gilbert 1960, Elliott 1963), as seen by the packets of one flow.
#[derive(Debug, Clone, PartialEq)]
struct Bursts {
    /// Mean number of the link's packets in one bad state.
    packets: f64,
    /// Probability that the bad state ends between two packets of the flow.
    ends: f64,
    /// Probability that the bad state begins between two packets of the flow.
    begins: f64,
    /// Loss ratios in the good state and in the bad one.
    loss: [f64; 2],
}

impl Bursts {
    /// Builds the bursts of a link; `None` if its losses come in no bursts. `share` is the flow's share of its packets.
    fn of(link: &LinkSpec, share: f64) -> Option<Bursts> {
        let Some(LossSpec::GilbertElliott(channel)) = link.loss.as_ref().filter(|_| in_bursts(link)) else {
            return None;
        };
        let (leaves, returns) = (channel.good_to_bad.0, channel.bad_to_good.0);
        let bad = leaves / (leaves + returns);
        // Share of the channel's memory that is lost between two packets of the flow.
        let forgotten = 1.0 - (1.0 - leaves - returns).max(0.0).powf(1.0 / share);
        Some(Bursts {
            packets: 1.0 / returns,
            ends: (1.0 - bad) * forgotten,
            begins: bad * forgotten,
            loss: [channel.loss_good.0, channel.loss_bad.0],
        })
    }

    /// Probability that none of these packets is lost. The packet before them was sent in the good state, because an earlier burst belongs to an earlier
    /// event.
    fn keep(&self, packets: f64) -> f64 {
        // Each packet survives in its state and moves to the next state: the power of a 2x2 matrix with two eigenvalues.
        let [good, bad] = self.loss.map(|loss| 1.0 - loss);
        let (stays_good, turns_bad) = (good * (1.0 - self.begins), good * self.begins);
        let (turns_good, stays_bad) = (bad * self.ends, bad * (1.0 - self.ends));
        let (half, determinant) =
            (f64::midpoint(stays_good, stays_bad), stays_good * stays_bad - turns_bad * turns_good);
        let root = (half * half - determinant).max(0.0).sqrt();
        let (greater, less) = (half + root, (half - root).max(0.0));
        // The survival of no packet and of one packet determines the weights of the two eigenvalues.
        let one = (1.0 - self.begins) * good + self.begins * bad;
        let weight = if greater > less { (one - less) / (greater - less) } else { 1.0 };
        (weight * greater.powf(packets) + (1.0 - weight) * less.powf(packets)).clamp(f64::MIN_POSITIVE, 1.0)
    }
}

/// The ratio of packets that a link loses at random.
pub fn of_link(link: &LinkSpec) -> f64 {
    link.loss.as_ref().map_or(0.0, LossSpec::stationary_ratio)
}

/// Whether the link loses packets in bursts: its channel leaves the good state, and the two states differ in their loss.
pub fn in_bursts(link: &LinkSpec) -> bool {
    let Some(LossSpec::GilbertElliott(channel)) = &link.loss else { return false };
    channel.good_to_bad.0 > 0.0 && channel.loss_good.0 != channel.loss_bad.0
}

/// Determines for each flow whether its losses are independent, in bursts or periodic. The flows on a link share its bursts and its period.
pub fn divide(spec: &RunSpec, flows: &mut [FlowModel]) {
    let is_independent = |link: &LinkSpec| matches!(link.loss, None | Some(LossSpec::Bernoulli(_)));
    if spec.links.iter().all(is_independent) {
        return;
    }
    let mut packets = vec![0.0; spec.links.len()];
    for flow in &*flows {
        let add = |packets: &mut [f64], paths: &Paths, each: f64| {
            paths.shares.iter().for_each(|(link, share)| packets[*link as usize] += each * f64::from(*share));
        };
        add(&mut packets, &flow.data, 1.0);
        add(&mut packets, &flow.ack, flow.acks);
    }
    for flow in flows {
        let lossy = flow.data.shares.iter().map(|(link, share)| (*link as usize, f64::from(*share)));
        let lossy = lossy.filter(|(link, _)| of_link(&spec.links[*link]) > 0.0).collect::<Vec<_>>();
        let loss = &mut flow.loss;
        if let [(link, _)] = lossy[..] {
            loss.is_periodic = matches!(spec.links[link].loss, Some(LossSpec::Periodic(_))) && packets[link] <= 1.0;
        }
        for (link, share) in lossy {
            if let Some(bursts) = Bursts::of(&spec.links[link], share / packets[link]) {
                loss.independent -= share * of_link(&spec.links[link]);
                loss.bursts.push(bursts);
            }
        }
        loss.independent = loss.independent.max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_losses_is_one_event_of_a_long_window() {
        // Every packet of the bad state is lost. Bursts begin with the probability 1e-4 a packet and last 5 packets.
        let kept = Bursts { packets: 5.0, ends: 0.2, begins: 1e-4, loss: [0.0, 1.0] }.keep(1000.0);
        let expected = (1.0_f64 - 1e-4).powi(1000);
        assert!((kept / expected - 1.0).abs() < 1e-9, "{kept}, not {expected}");
    }

    #[test]
    fn a_channel_without_memory_loses_packets_independently() {
        // The next state does not depend on the present one: begins + ends = 1.
        let bursts = Bursts { packets: 1.0, ends: 0.9, begins: 0.1, loss: [0.01, 0.2] };
        let ratio = 0.9 * 0.01 + 0.1 * 0.2;
        assert!((bursts.keep(20.0) / (1.0_f64 - ratio).powi(20) - 1.0).abs() < 1e-9);
    }
}
