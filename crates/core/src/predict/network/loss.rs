//! Losses at random: how likely the wires of a path lose a packet of a window. Several losses in one round trip are one event.

use super::flows::{FlowModel, Paths};
use crate::packet::LossSpec;
use crate::spec::{LinkSpec, RunSpec};

/// What the wires of a path lose of a flow's packets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathLoss {
    /// Ratio of the packets that are lost.
    pub ratio: f64,
    /// What of it hits each packet independently.
    independent: f64,
    bursts: Vec<Bursts>,
    /// Whether every n-th packet of the flow is lost, and no other.
    pub is_periodic: bool,
}

impl PathLoss {
    /// Of a path whose packets are lost independently.
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

    /// The mean length of a burst less one, in packets, lost or not. All may be of one flow, since flows send in clumps.
    pub fn burst(&self) -> f64 {
        self.bursts.iter().map(|bursts| bursts.packets - 1.0).fold(0.0, f64::max)
    }
}

/// A channel of two states (Gilbert 1960, Elliott 1963), as the packets of one flow meet it.
#[derive(Debug, Clone, PartialEq)]
struct Bursts {
    /// Packets of the link that meet the bad state before it ends, in the mean.
    packets: f64,
    /// Probability that the bad state ends between two packets of the flow.
    ends: f64,
    /// That it begins.
    begins: f64,
    /// Loss ratios in the good state and in the bad one.
    loss: [f64; 2],
}

impl Bursts {
    /// Of a link, if it has such losses and a flow sends this share of its packets.
    fn of(link: &LinkSpec, share: f64) -> Option<Bursts> {
        let Some(LossSpec::GilbertElliott(channel)) = link.loss.as_ref().filter(|_| in_bursts(link)) else {
            return None;
        };
        let (leaves, returns) = (channel.good_to_bad.0, channel.bad_to_good.0);
        let bad = leaves / (leaves + returns);
        // The channel has forgotten this much of its state when the flow's next packet comes.
        let forgotten = 1.0 - (1.0 - leaves - returns).max(0.0).powf(1.0 / share);
        Some(Bursts {
            packets: 1.0 / returns,
            ends: (1.0 - bad) * forgotten,
            begins: bad * forgotten,
            loss: [channel.loss_good.0, channel.loss_bad.0],
        })
    }

    /// The probability that none of these packets is lost. The packet before them met the good state: a burst that has begun belongs to an earlier event.
    fn keep(&self, packets: f64) -> f64 {
        // Kept in a state and on to the next one: the power of a matrix with two eigenvalues.
        let [good, bad] = self.loss.map(|loss| 1.0 - loss);
        let (stays_good, turns_bad) = (good * (1.0 - self.begins), good * self.begins);
        let (turns_good, stays_bad) = (bad * self.ends, bad * (1.0 - self.ends));
        let (half, determinant) =
            (f64::midpoint(stays_good, stays_bad), stays_good * stays_bad - turns_bad * turns_good);
        let root = (half * half - determinant).max(0.0).sqrt();
        let (greater, less) = (half + root, (half - root).max(0.0));
        // Of none and of one packet: the weights of the two eigenvalues.
        let one = (1.0 - self.begins) * good + self.begins * bad;
        let weight = if greater > less { (one - less) / (greater - less) } else { 1.0 };
        (weight * greater.powf(packets) + (1.0 - weight) * less.powf(packets)).clamp(f64::MIN_POSITIVE, 1.0)
    }
}

/// The ratio of packets that a link loses at random.
pub fn of_link(link: &LinkSpec) -> f64 {
    link.loss.as_ref().map_or(0.0, LossSpec::stationary_ratio)
}

/// Whether it loses packets in bursts: its channel leaves the good state, and the bad one loses otherwise.
pub fn in_bursts(link: &LinkSpec) -> bool {
    let Some(LossSpec::GilbertElliott(channel)) = &link.loss else { return false };
    channel.good_to_bad.0 > 0.0 && channel.loss_good.0 != channel.loss_bad.0
}

/// Of each flow, how its losses follow one another. The flows that cross a link share its bursts and its period.
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
