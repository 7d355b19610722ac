//! DualPI2 (RFC 9332, appendix A; Linux's `sch_dualpi2`): a queue for L4S and one for classic traffic, which share the link by coupled marks.
//!
//! A proportional-integral controller holds a probability `p`, by the longer wait of both queues. Classic packets are dropped, or marked, with
//! `p^2`. Packets of L4S are marked with `k p`, or if they have waited for longer than a step. So classic flows, whose window falls with the root
//! of their losses, and scalable flows, whose window falls with their marks, get about the same rate:
//!
//! `p_C = (p_L / k)^2` (RFC 9332, equation 1)
//!
//! L4S goes first, except that classic packets get a share of the link while they wait.
//!
//! Not modelled: `memlimit`, `min_qlen_step`, a step in packets, decisions at the arrival (`drop_enqueue`), and the split of segments that a host
//! has joined, because links carry single packets.

use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::{MARK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::parameters::Share;
use crate::rng::Sequence;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

crate::parameters! {
    /// The defaults are those of Linux 6.17.
    pub struct Parameters {
        /// The wait of classic packets at which the controller aims.
        pub target: Duration = Duration::from_millis(15);
        /// Time between two updates of the probability.
        pub tupdate: Duration = Duration::from_millis(16);
        /// Growth of the probability in an update, for each second by which the wait exceeds the target.
        pub alpha: f64 = 0.16, in 0.0..=1000.0;
        /// Growth of the probability in an update, for each second by which the wait has grown.
        pub beta: f64 = 3.2, in 0.0..=1000.0;
        /// The coupling factor k: packets of L4S are marked with k times the probability whose square classic packets have.
        pub coupling_factor: f64 = 2.0, in 0.1..=100.0;
        /// Packets of L4S that have waited for longer are marked.
        pub step_thresh: Duration = Duration::from_millis(1);
        /// The least share of the link that classic packets get while they wait.
        pub classic_protection: Share = Share(0.1), in 0.0..=1.0;
        /// Drops packets of both queues by the classic probability while that of L4S would exceed 1. Otherwise it only marks them.
        pub drop_on_overload: bool = true;
    }
    check has_time
}

fn has_time(parameters: &Parameters) -> Result<(), String> {
    if parameters.tupdate == Duration::ZERO { Err("tupdate must be greater than zero".into()) } else { Ok(()) }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(DualPi2 {
            controller: Controller::new(*self),
            limit: place.limit,
            queues: Queues::default(),
            draws: Sequence::new(place.draws),
        }))
    }

    fn marks(&self) -> bool {
        true
    }
}

/// The probability, and its updates.
#[derive(Debug, Clone)]
struct Controller {
    settings: Parameters,
    /// The probability before it is squared or coupled (p').
    probability: f64,
    last_wait: Duration,
    next_update: Time,
}

impl Controller {
    fn new(settings: Parameters) -> Controller {
        let next_update = Time::ZERO + settings.tupdate;
        Controller { settings, probability: 0.0, last_wait: Duration::ZERO, next_update }
    }

    /// The updates up to now, of a queue that has not changed since the last one (RFC 9332, figure 6, `dualpi2_update`).
    fn update(&mut self, now: Time, queues: &Queues) {
        while self.next_update <= now {
            let is_quiet = self.probability == 0.0 && self.last_wait == Duration::ZERO && queues.is_empty();
            if is_quiet {
                let updates = (now - self.next_update).0 / self.settings.tupdate.0 + 1;
                self.next_update = self.next_update + self.settings.tupdate * updates;
                return;
            }
            let wait = queues.longest_wait(self.next_update);
            self.step(wait);
            self.next_update = self.next_update + self.settings.tupdate;
        }
    }

    /// An update after this wait.
    fn step(&mut self, wait: Duration) {
        let Parameters { target, alpha, beta, coupling_factor, drop_on_overload, .. } = self.settings;
        let above_target = wait.as_secs() - target.as_secs();
        let growth = wait.as_secs() - self.last_wait.as_secs();
        let greatest = if drop_on_overload { 1.0 } else { (1.0 / coupling_factor).min(1.0) };
        self.probability = (self.probability + alpha * above_target + beta * growth).clamp(0.0, greatest);
        self.last_wait = wait;
    }

    /// The probability by which classic packets are dropped or marked.
    fn of_classic(&self) -> f64 {
        self.probability * self.probability
    }

    /// The probability by which packets of L4S are marked, apart from the step; above 1 there is an overload.
    fn of_l4s(&self) -> f64 {
        self.probability * self.settings.coupling_factor
    }
}

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Time,
    packet: Packet,
    size: u32,
}

/// Both queues, and the order of their packets.
#[derive(Debug, Default)]
struct Queues {
    classic: VecDeque<Waiting>,
    l4s: VecDeque<Waiting>,
    bytes: u64,
    /// Bytes that classic packets have in advance, weighted: L4S goes first unless it is positive.
    credit: f64,
}

impl Queues {
    fn is_empty(&self) -> bool {
        self.classic.is_empty() && self.l4s.is_empty()
    }

    fn longest_wait(&self, now: Time) -> Duration {
        let of_first = |queue: &VecDeque<Waiting>| queue.front().map_or(Duration::ZERO, |first| now - first.since);
        of_first(&self.classic).max(of_first(&self.l4s))
    }

    /// The next packet, whether it is L4S, and the credit that it costs or gives. L4S gives a credit while classic packets wait, and they pay for
    /// each that is preferred (weighted round robin, RFC 9332, section 4.2.3).
    fn pop(&mut self, classic_share: f64) -> Option<(Waiting, bool, f64)> {
        let is_l4s = !self.l4s.is_empty() && (self.credit <= 0.0 || self.classic.is_empty());
        let (own, other) =
            if is_l4s { (&mut self.l4s, &self.classic) } else { (&mut self.classic, &self.l4s) };
        let waiting = own.pop_front()?;
        let weight = match (other.is_empty(), is_l4s) {
            (true, _) => 0.0,
            (false, true) => classic_share,
            (false, false) => classic_share - 1.0,
        };
        self.bytes -= u64::from(waiting.size);
        Some((waiting, is_l4s, weight * f64::from(waiting.size)))
    }

    /// An empty queue forgets its credit. The first packets of L4S go before the first classic ones (`dualpi2_reset_c_protection`).
    fn reset_credit(&mut self, classic_share: f64, mtu: u16) {
        self.credit = f64::from(mtu) * (2.0 * classic_share - 1.0);
    }
}

/// What happens to a packet that is dequeued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent,
    Marked,
    Dropped,
}

/// The discipline of a link.
struct DualPi2 {
    controller: Controller,
    limit: QueueLimit,
    queues: Queues,
    draws: Sequence,
}

impl DualPi2 {
    fn happens(&mut self, probability: f64) -> bool {
        self.draws.uniform() < probability
    }

    /// Decides about a packet (`must_drop`, `do_step_aqm`). Up to two full packets are no queue.
    fn judge(&mut self, is_l4s: bool, may_be_marked: bool, wait: Duration, mtu: u16) -> Fate {
        let (p_c, p_l) = (self.controller.of_classic(), self.controller.of_l4s());
        let settings = self.controller.settings;
        let is_overloaded = p_l > 1.0;
        let mut fate = Fate::Sent;
        if self.queues.bytes >= 2 * u64::from(mtu) {
            fate = match is_l4s {
                true if is_overloaded && settings.drop_on_overload && self.happens(p_c) => return Fate::Dropped,
                true if is_overloaded || self.happens(p_l) => Fate::Marked,
                false if self.happens(p_c) => match may_be_marked && !is_overloaded {
                    true => Fate::Marked,
                    false => return Fate::Dropped,
                },
                _ => Fate::Sent,
            };
        }
        if is_l4s && wait > settings.step_thresh {
            fate = Fate::Marked;
        }
        fate
    }
}

impl AtService for DualPi2 {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        self.controller.update(coming.now, &self.queues);
        let size = sizes[packet.flow() as usize].of(packet);
        let (packets, bytes) = self.backlog();
        let packets = packets + u32::from(coming.transmitting.is_some());
        let bytes = bytes + u64::from(coming.transmitting.unwrap_or(0));
        if self.limit.has_room(packets, bytes, size) { Admission::Accepted } else { Admission::Refused }
    }

    fn enqueue(&mut self, packet: Packet, size: u32, is_l4s: bool, coming: &Coming) {
        let queue = if is_l4s { &mut self.queues.l4s } else { &mut self.queues.classic };
        queue.push_back(Waiting { since: coming.now, packet, size });
        self.queues.bytes += u64::from(size);
    }

    fn pass(&mut self, _packet: Packet, _size: u32, _coming: &Coming, sizes: &FlowSizes) {
        self.queues.reset_credit(self.controller.settings.classic_protection.0, sizes.largest());
    }

    fn dequeue(&mut self, now: Time, sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        self.controller.update(now, &self.queues);
        let classic_share = self.controller.settings.classic_protection.0;
        while let Some((Waiting { since, packet, .. }, is_l4s, credit)) = self.queues.pop(classic_share) {
            let may_be_marked = sizes[packet.flow() as usize].may_be_marked(&packet);
            let fate = self.judge(is_l4s, may_be_marked, now - since, sizes.largest());
            if fate == Fate::Dropped {
                dropped.push(packet);
                continue;
            }
            self.queues.credit += credit;
            let marks = fate == Fate::Marked && may_be_marked && !packet.has(MARK);
            return Some(Dequeued { packet, since, marks });
        }
        self.queues.reset_credit(classic_share, sizes.largest());
        None
    }

    fn backlog(&self) -> (u32, u64) {
        ((self.queues.classic.len() + self.queues.l4s.len()) as u32, self.queues.bytes)
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.queues.bytes = 0;
        let Queues { classic, l4s, .. } = &mut self.queues;
        classic.drain(..).chain(l4s.drain(..)).map(|waiting| waiting.packet).collect()
    }
}
