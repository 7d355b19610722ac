//! Adaptive random early detection (Floyd, Gummadi and Shenker 2001), as in Linux (`red adaptive`): RED whose greatest probability moves so that the average
//! queue stays in the middle between its thresholds.
//!
//! As in Linux, averages count bytes, and above `max` every packet is dropped, or marked if it may be. Linux notices that a queue is idle only where nothing
//! shapes it. Behind a shaper, and here, the average falls when packets come.

use super::line::{Held, Line};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::parameters::Share;
use crate::rng::Sequence;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The thresholds of the average, bytes.
    pub struct Parameters {
        /// Average queue in bytes below which nothing is dropped; zero for a third of `max`.
        pub min: u32 = 0, in 0..=u32::MAX;
        /// Average queue in bytes from which on everything is dropped or marked; zero for a fourth of `limit`.
        pub max: u32 = 0, in 0..=u32::MAX;
        /// Bytes of a typical packet.
        pub avpkt: u32 = 1000, in 1..=65535;
        /// Packets that may come at once, which sets the weight of the average; zero for `(2 min + max) / (3 avpkt)`.
        pub burst: u32 = 0, in 0..=u32::MAX;
        /// Probability of a drop below `max` at the start; it moves between 1 % and 50 %.
        pub probability: Share = Share(0.02), in 0.0..=1.0;
        /// Marks ECN-capable packets instead of dropping them.
        pub ecn: bool = false;
    }
    check is_ordered
}

fn is_ordered(parameters: &Parameters) -> Result<(), String> {
    let Parameters { min, max, .. } = *parameters;
    if max > 0 && min >= max { Err(format!("min {min} must be below max {max}")) } else { Ok(()) }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(Ared::new(*self, place)))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Bytes(400_000)
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// How often the greatest probability is adapted.
const ADAPTS: Duration = Duration::from_millis(500);

/// The weight of a new queue length: the greatest power of 1/2 with which the average of a burst stays below `min` (Floyd and Jacobson 1993,
/// equation 3; `tc_red_eval_ewma`).
fn weight(min: f64, burst: f64, avpkt: f64) -> f64 {
    let most = burst + 1.0 - min / avpkt;
    let powers = (1..32).map(|log| libm::pow(0.5, f64::from(log)));
    let mut enough = powers.filter(|weight| most <= (1.0 - libm::pow(1.0 - weight, burst)) / weight);
    enough.next().unwrap_or(libm::pow(0.5, 31.0))
}

struct Ared {
    ecn: bool,
    limit: QueueLimit,
    min: f64,
    max: f64,
    weight: f64,
    line: Line,
    average: f64,
    /// The greatest probability, of the average at `max`.
    probability: f64,
    /// How often it has been adapted.
    adapted: u64,
    /// Packets since the last drop or mark, once the average is above `min`.
    count: Option<u32>,
    /// The draw that decides about the next drop or mark.
    drawn: f64,
    draws: Sequence,
}

impl Ared {
    fn new(settings: Parameters, Place { limit, draws, .. }: Place) -> Ared {
        let avpkt = f64::from(settings.avpkt);
        let or = |given: u32, otherwise: f64| if given > 0 { given.into() } else { otherwise };
        let limit_bytes = match limit {
            QueueLimit::Packets(packets) => f64::from(packets) * avpkt,
            QueueLimit::Bytes(bytes) => bytes as f64,
        };
        let max = or(settings.max, limit_bytes / 4.0);
        let min = or(settings.min, max / 3.0);
        let burst = or(settings.burst, (2.0 * min + max) / (3.0 * avpkt));
        Ared {
            ecn: settings.ecn,
            limit,
            min,
            max,
            weight: weight(min, burst, avpkt),
            line: Line::default(),
            average: 0.0,
            probability: settings.probability.0,
            adapted: 0,
            count: None,
            drawn: 0.0,
            draws: Sequence::new(draws),
        }
    }

    /// Adapts the greatest probability as often as that was due (Floyd, Gummadi and Shenker 2001, figure 1).
    fn adapt_until(&mut self, now: Time) {
        while self.adapted < now.0 / ADAPTS.0 {
            self.adapted += 1;
            let fifth = (self.max - self.min) / 5.0;
            if self.average > self.min + 3.0 * fifth && self.probability <= 0.5 {
                self.probability += f64::min(0.01, self.probability / 4.0);
            } else if self.average < self.min + 2.0 * fifth && self.probability >= 0.01 {
                self.probability *= 0.9;
            }
        }
    }

    /// Whether a packet that comes is dropped or marked (`red_action`).
    fn signals(&mut self) -> bool {
        if self.average < self.min || self.average >= self.max {
            self.count = None;
            return self.average >= self.max;
        }
        let Some(count) = self.count else {
            (self.count, self.drawn) = (Some(0), self.draws.uniform());
            return false;
        };
        let share = (self.average - self.min) / (self.max - self.min);
        let signals = share * self.probability * f64::from(count + 1) >= self.drawn;
        if signals {
            (self.count, self.drawn) = (Some(0), self.draws.uniform());
        } else {
            self.count = Some(count + 1);
        }
        signals
    }
}

impl AtService for Ared {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        self.adapt_until(coming.now);
        self.average += self.weight * (self.line.bytes() as f64 - self.average);
        let flow = &sizes[packet.flow() as usize];
        let may_mark = self.ecn && flow.may_be_marked(packet);
        let signals = self.signals();
        if signals && !may_mark || !coming.has_room(self.limit, self.backlog(), flow.of(packet)) {
            Admission::Refused
        } else if signals {
            Admission::AcceptedAndMarked
        } else {
            Admission::Accepted
        }
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.line.push(Held { packet, since: coming.now, size });
    }

    fn dequeue(&mut self, _now: Time, _sizes: &FlowSizes, _dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        let Held { packet, since, .. } = self.line.pop()?;
        Some(Dequeued { packet, since, marks: false })
    }

    fn backlog(&self) -> (u32, u64) {
        (self.line.packets(), self.line.bytes())
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.line.drain().collect()
    }
}
