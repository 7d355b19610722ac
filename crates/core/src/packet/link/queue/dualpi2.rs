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

use super::line::{Held, Line};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::{MARK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::parameters::Share;
use crate::rng::Sequence;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The defaults are those of Linux 6.17, but for `min_qlen_step`.
    pub struct Parameters {
        /// The wait of classic packets at which the controller aims.
        pub target: Duration = Duration::from_millis(15);
        /// Time between two updates of the probability.
        pub tupdate: Duration as "positive duration" = Duration::from_millis(16);
        /// Growth of the probability in an update, for each second by which the wait exceeds the target.
        pub alpha: f64 = 0.16, in 0.0..=1000.0;
        /// Growth of the probability in an update, for each second by which the wait has grown.
        pub beta: f64 = 3.2, in 0.0..=1000.0;
        /// The coupling factor k: packets of L4S are marked with k times the probability whose square classic packets have.
        pub coupling_factor: f64 = 2.0, in 0.1..=100.0;
        /// Packets of L4S that have waited for longer are marked.
        pub step_thresh: Duration = Duration::from_millis(1);
        /// Packets of L4S that must wait behind a packet for that. RFC 9332 has one (`Th_len`), so that a slow link does not mark every packet; Linux has none.
        pub min_qlen_step: u32 = 1;
        /// The least share of the link that classic packets get while they wait.
        pub classic_protection: Share = Share(0.1), in 0.0..=1.0;
        /// Drops packets of both queues by the classic probability while that of L4S would exceed 1. Otherwise it only marks them.
        pub drop_on_overload: bool = true;
    }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(DualPi2 {
            controller: Controller::new(*self),
            limit: place.limit,
            queues: Queues::default(),
            is_l4s: false,
            draws: Sequence::new(place.draws),
        }))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(10_000)
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
                self.next_update += self.settings.tupdate * updates;
                return;
            }
            let wait = queues.longest_wait(self.next_update);
            self.step(wait);
            self.next_update += self.settings.tupdate;
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

/// Both queues, and the order of their packets.
#[derive(Debug, Default)]
struct Queues {
    classic: Line,
    l4s: Line,
    /// Bytes that classic packets have in advance, weighted: L4S goes first unless it is positive.
    credit: f64,
}

impl Queues {
    fn is_empty(&self) -> bool {
        self.classic.is_empty() && self.l4s.is_empty()
    }

    fn longest_wait(&self, now: Time) -> Duration {
        let of_first = |line: &Line| line.first().map_or(Duration::ZERO, |first| now - first.since);
        of_first(&self.classic).max(of_first(&self.l4s))
    }

    fn bytes(&self) -> u64 {
        self.classic.bytes() + self.l4s.bytes()
    }

    /// The next packet, whether it is L4S, and the credit that it costs or gives. L4S gives a credit while classic packets wait, and they pay for
    /// each that is preferred (weighted round robin, RFC 9332, section 4.2.3).
    fn pop(&mut self, classic_share: f64) -> Option<(Held, bool, f64)> {
        let is_l4s = !self.l4s.is_empty() && (self.credit <= 0.0 || self.classic.is_empty());
        let (own, other) = if is_l4s { (&mut self.l4s, &self.classic) } else { (&mut self.classic, &self.l4s) };
        let held = own.pop()?;
        let weight = match (other.is_empty(), is_l4s) {
            (true, _) => 0.0,
            (false, true) => classic_share,
            (false, false) => classic_share - 1.0,
        };
        Some((held, is_l4s, weight * f64::from(held.size)))
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
    /// Whether the packet that came last is L4S.
    is_l4s: bool,
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
        if self.queues.bytes() >= 2 * u64::from(mtu) {
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
        if is_l4s && wait > settings.step_thresh && self.queues.l4s.packets() >= settings.min_qlen_step {
            fate = Fate::Marked;
        }
        fate
    }
}

impl AtService for DualPi2 {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        self.controller.update(coming.now, &self.queues);
        let flow = &sizes[packet.flow() as usize];
        self.is_l4s = flow.is_l4s(packet);
        let has_room = coming.has_room(self.limit, self.backlog(), flow.of(packet));
        if has_room { Admission::Accepted } else { Admission::Refused }
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        let line = if self.is_l4s { &mut self.queues.l4s } else { &mut self.queues.classic };
        line.push(Held { packet, since: coming.now, size });
    }

    fn pass(&mut self, _packet: Packet, _size: u32, _coming: &Coming, sizes: &FlowSizes) {
        self.queues.reset_credit(self.controller.settings.classic_protection.0, sizes.largest());
    }

    fn dequeue(&mut self, now: Time, sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        self.controller.update(now, &self.queues);
        let classic_share = self.controller.settings.classic_protection.0;
        while let Some((Held { since, packet, .. }, is_l4s, credit)) = self.queues.pop(classic_share) {
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
        (self.queues.classic.packets() + self.queues.l4s.packets(), self.queues.bytes())
    }

    fn drain(&mut self) -> Vec<Packet> {
        let Queues { classic, l4s, .. } = &mut self.queues;
        classic.drain().chain(l4s.drain()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::link::packet_sizes::{IpEcn, PacketSizes};
    use crate::packet::link::queue::FlowKey;
    use crate::rng::{Purpose, Stream};

    const MTU: u16 = 1500;
    /// Flow 0 is L4S, flow 1 classic with ECN, flow 2 without.
    const FIELDS: [IpEcn; 3] = [IpEcn::Ect1, IpEcn::Ect0, IpEcn::NotEct];

    fn sizes() -> FlowSizes {
        FlowSizes::new(FIELDS.iter().map(|ecn| PacketSizes::new(MTU, MTU, 40, *ecn, u32::MAX)).collect())
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn queue(settings: Parameters) -> DualPi2 {
        DualPi2 {
            controller: Controller::new(settings),
            limit: QueueLimit::Packets(10_000),
            queues: Queues::default(),
            is_l4s: false,
            draws: Sequence::new(Stream::new(1, Purpose::QueueManagement, 1)),
        }
    }

    fn put(queue: &mut DualPi2, at: Time, flow: u32) {
        let mut packet = Packet::new(flow, 0, 0, 0);
        let coming = Coming { now: at, flow: FlowKey::of(&packet), transmitting: Some(1500), at_last_hop: false };
        assert_eq!(queue.admit(&mut packet, &coming, &sizes(), &mut Vec::new()), Admission::Accepted);
        queue.enqueue(packet, u32::from(MTU), &coming);
    }

    /// RFC 9332, equation 1: with k = 2, classic drops of 1 % go with marks of 20 % for L4S, and all is marked where a quarter is dropped.
    #[test]
    fn rfc9332_equation_1_the_classic_probability_is_the_square_of_half_the_other() {
        let mut controller = Controller::new(Parameters::default());
        for (p, p_c, p_l) in [(0.1, 0.01, 0.2), (0.5, 0.25, 1.0), (0.02, 0.0004, 0.04)] {
            controller.probability = p;
            assert!((controller.of_classic() - p_c).abs() < 1e-12 && (controller.of_l4s() - p_l).abs() < 1e-12);
            assert!((controller.of_classic() - (controller.of_l4s() / 2.0).powi(2)).abs() < 1e-12);
        }
    }

    /// A wait of 25 ms: 0.16 x 10 ms for the distance to the target and 3.2 x 25 ms for the growth are 0.0816; then 0.0016 for each update.
    #[test]
    fn the_probability_moves_by_the_distance_and_by_the_growth() {
        let mut controller = Controller::new(Parameters::default());
        controller.step(ms(25));
        assert!((controller.probability - 0.0816).abs() < 1e-12);
        controller.step(ms(25));
        assert!((controller.probability - 0.0832).abs() < 1e-12);
        controller.step(ms(0));
        assert!((controller.probability - (0.0832 - 0.0024 - 0.08)).abs() < 1e-12);
    }

    /// Updates that are made late, by the next packet, are those of a timer: the wait at each update is that of the first packet then.
    #[test]
    fn late_updates_are_those_of_a_timer() {
        let mut late = queue(Parameters::default());
        put(&mut late, Time::ZERO + ms(10), 1);
        late.controller.update(Time::ZERO + ms(100), &late.queues);
        let mut timer = Controller::new(Parameters::default());
        (1..=6).for_each(|update| timer.step(ms(16 * update - 10)));
        assert_eq!((late.controller.probability, late.controller.last_wait), (timer.probability, timer.last_wait));
        assert_eq!(late.controller.next_update, Time::ZERO + ms(112));
    }

    /// Of 100000 packets behind a standing queue: L4S is marked in 20 %, classic traffic in 1 %, or dropped without ECN. The step is out of reach.
    #[test]
    fn packets_are_marked_and_dropped_by_the_coupled_probabilities() {
        let settings = Parameters { step_thresh: Duration::from_secs(1), ..Parameters::default() };
        for (flow, share, drops) in [(0, 0.2, false), (1, 0.01, false), (2, 0.01, true)] {
            let mut queue = queue(settings);
            (0..100).for_each(|_| put(&mut queue, Time::ZERO, flow));
            let mut found = 0;
            for _ in 0..100_000 {
                queue.controller.probability = 0.1;
                put(&mut queue, Time::ZERO, flow);
                let mut dropped = Vec::new();
                let dequeued = queue.dequeue(Time::ZERO, &sizes(), &mut dropped).expect("a packet");
                assert!(if drops { !dequeued.marks } else { dropped.is_empty() });
                found += dropped.len() + usize::from(dequeued.marks);
                (0..dropped.len()).for_each(|_| put(&mut queue, Time::ZERO, flow));
            }
            let found = found as f64 / 100_000.0;
            assert!((found / share - 1.0).abs() < 0.1, "flow {flow}: {found}");
        }
    }

    /// At p' = 0.6 all of L4S would be marked: DualPI2 drops 36 % of both, also of what may be marked. Without `drop_on_overload`, p' ends at 1/2.
    #[test]
    fn an_overload_drops_of_both_queues() {
        for flow in 0..3 {
            let mut queue = queue(Parameters::default());
            (0..100).for_each(|_| put(&mut queue, Time::ZERO, flow));
            let (mut lost, mut sent) = (0, 0);
            while sent < 20_000 {
                queue.controller.probability = 0.6;
                put(&mut queue, Time::ZERO, flow);
                let mut dropped = Vec::new();
                let dequeued = queue.dequeue(Time::ZERO, &sizes(), &mut dropped).expect("a packet");
                assert_eq!(dequeued.marks, flow == 0);
                (lost, sent) = (lost + dropped.len(), sent + 1);
                (0..dropped.len()).for_each(|_| put(&mut queue, Time::ZERO, flow));
            }
            let share = lost as f64 / (lost + sent) as f64;
            assert!((share - 0.36).abs() < 0.02, "flow {flow}: {share}");
        }
        let mut controller = Controller::new(Parameters { drop_on_overload: false, ..Parameters::default() });
        controller.step(Duration::from_secs(10));
        assert_eq!((controller.probability, controller.of_l4s()), (0.5, 1.0));
    }

    /// Both queues always wait: after the first packets, every tenth is classic.
    #[test]
    fn classic_packets_get_a_tenth_of_the_link_beside_l4s() {
        let settings = Parameters { alpha: 0.0, beta: 0.0, ..Parameters::default() };
        let mut queue = queue(settings);
        (0..2).for_each(|flow| put(&mut queue, Time::ZERO, flow));
        let mut classic = 0;
        for _ in 0..10_000 {
            let packet = queue.dequeue(Time::ZERO, &sizes(), &mut Vec::new()).expect("a packet").packet;
            classic += packet.flow();
            put(&mut queue, Time::ZERO, packet.flow());
        }
        assert!((999..=1001).contains(&classic), "{classic}");
    }

    /// A packet of L4S that has waited for more than 1 ms is marked, though the probability is zero, if another waits behind it; a classic one never is.
    #[test]
    fn the_step_marks_what_has_waited_for_longer() {
        let marks = |flow, wait, packets: u32| {
            let mut queue = queue(Parameters::default());
            (0..packets).for_each(|_| put(&mut queue, Time::ZERO, flow));
            queue.dequeue(Time::ZERO + wait, &sizes(), &mut Vec::new()).expect("a packet").marks
        };
        assert!(!marks(0, ms(1), 2) && marks(0, ms(1) + Duration(1), 2) && !marks(1, ms(10), 2));
        assert!(!marks(0, ms(10), 1));
    }
}
