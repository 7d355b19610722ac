//! Proportional integral controller enhanced, RFC 8033: drops packets that come, with a probability that follows the delay of those that leave.
//!
//! [`Pie`] is the algorithm in Linux's fixed-point numbers (`sch_pie.c`), [`PieQueue`] has one queue for it. Delays are those of packets, by their time stamps.
//! Linux's options for an estimate of the rate (`dq_rate_estimator`) and for probabilities by size (`bytemode`), off by default, do not exist here.

use super::line::{Held, Line};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::rng::Sequence;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The delay that is acceptable, and the gains.
    pub struct Parameters {
        /// Acceptable wait.
        pub target: Duration = Duration::from_millis(15);
        /// How often the probability is computed.
        pub tupdate: Duration as "positive duration" = Duration::from_millis(15);
        /// Gain for the distance of the wait to target, in units of 1/16 a second.
        pub alpha: u32 = 2, in 0..=32;
        /// Gain for the change of the wait, in units of 1/16 a second.
        pub beta: u32 = 20, in 0..=32;
        /// Marks ECN-capable packets while the probability is 10 % or less.
        pub ecn: bool = false;
    }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        let control = Control::new(self.target, self.tupdate, self.alpha, self.beta);
        Discipline::AtService(Box::new(PieQueue {
            control,
            pie: Pie::default(),
            marks_up_to: if self.ecn { Some(MAX_PROB / 10) } else { None },
            limit: place.limit,
            line: Line::default(),
            draws: Sequence::new(place.draws),
        }))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(1000)
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// A queue whose packets the algorithm decides about when they come.
struct PieQueue {
    control: Control,
    pie: Pie,
    /// The greatest probability at which ECN-capable packets are marked.
    marks_up_to: Option<u64>,
    limit: QueueLimit,
    line: Line,
    draws: Sequence,
}

impl AtService for PieQueue {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        let flow = &sizes[packet.flow() as usize];
        let has_room = coming.has_room(self.limit, self.backlog(), flow.of(packet));
        self.pie.update_until(coming.now, &self.control, self.line.bytes());
        let mtu = u64::from(sizes.largest());
        let marks_up_to = self.marks_up_to.filter(|_| flow.may_be_marked(packet));
        self.pie.admit(&self.control, self.line.bytes(), mtu, has_room, marks_up_to, &mut self.draws)
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.line.push(Held { packet, since: coming.now, size });
    }

    fn pass(&mut self, packet: Packet, size: u32, coming: &Coming, sizes: &FlowSizes) {
        self.enqueue(packet, size, coming);
        self.dequeue(coming.now, sizes, &mut Vec::new());
    }

    fn dequeue(&mut self, now: Time, _sizes: &FlowSizes, _dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        self.pie.update_until(now, &self.control, self.line.bytes());
        let Held { packet, since, .. } = self.line.pop()?;
        self.pie.on_dequeue(now, now - since, self.line.bytes());
        Some(Dequeued { packet, since, marks: false })
    }

    fn backlog(&self) -> (u32, u64) {
        (self.line.packets(), self.line.bytes())
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.pie = Pie { updates: self.pie.updates, ..Pie::default() };
        self.line.drain().collect()
    }
}

/// The probability 1.
pub const MAX_PROB: u64 = u64::MAX >> 8;
/// Linux's unit of delays: 64 ns.
const TICK: Duration = Duration(64_000);
const TICKS_PER_SECOND: u64 = 1_000_000_000 / 64;
/// The time in which an idle queue may grow without drops (`pie_vars_init`).
const BURST: u64 = TICKS_PER_SECOND * 150 / 1000;
/// When the probability is computed first.
const FIRST_UPDATE: Duration = Duration::from_millis(500);

fn ticks(duration: Duration) -> u64 {
    duration.0 / TICK.0
}

/// The settings, in ticks.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    target: u64,
    tupdate: Duration,
    /// The gains: probability per tick.
    alpha: u64,
    beta: u64,
}

impl Control {
    /// See [`Parameters`].
    pub fn new(target: Duration, tupdate: Duration, alpha: u32, beta: u32) -> Control {
        let gain = |units: u32| (u64::from(units) * (MAX_PROB / TICKS_PER_SECOND)) >> 4;
        Control { target: ticks(target), tupdate, alpha: gain(alpha), beta: gain(beta) }
    }

    /// How often the probability has been computed by this time.
    fn updates_by(&self, now: Time) -> u64 {
        now.0.checked_sub(FIRST_UPDATE.0).map_or(0, |after| after / self.tupdate.0 + 1)
    }
}

/// The state of one queue; the names of its fields are those of Linux's `struct pie_vars`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pie {
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    dq_tstamp: Option<Time>,
    prob: u64,
    accu_prob: u64,
    /// How often [`Self::prob`] has been computed.
    updates: u64,
}

impl Default for Pie {
    fn default() -> Pie {
        Pie { qdelay: 0, qdelay_old: 0, burst_time: BURST, dq_tstamp: None, prob: 0, accu_prob: 0, updates: 0 }
    }
}

impl Pie {
    /// Computes the probability as often as it was due, with `backlog` bytes in the queue all the time.
    pub fn update_until(&mut self, now: Time, control: &Control, backlog: u64) {
        let due = control.updates_by(now);
        while self.updates < due {
            let before = self.clone();
            self.update(control, backlog);
            self.updates += 1;
            if *self == (Pie { updates: self.updates, ..before }) {
                self.updates = due;
            }
        }
    }

    /// Decides about a packet that comes to a queue of `backlog` bytes. It may be marked up to a probability.
    pub fn admit(
        &mut self,
        control: &Control,
        backlog: u64,
        mtu: u64,
        has_room: bool,
        marks_up_to: Option<u64>,
        draws: &mut Sequence,
    ) -> Admission {
        if has_room && !self.drops_early(control, backlog, mtu, draws) {
            return Admission::Accepted;
        }
        if has_room && marks_up_to.is_some_and(|most| self.prob <= most) {
            return Admission::AcceptedAndMarked;
        }
        self.accu_prob = 0;
        Admission::Refused
    }

    /// `pie_drop_early`. The sum of the probabilities since the last drop keeps drops from being too close together, or too far apart.
    fn drops_early(&mut self, control: &Control, backlog: u64, mtu: u64, draws: &mut Sequence) -> bool {
        let is_calm = self.qdelay < control.target / 2 && self.prob < MAX_PROB / 5;
        if self.burst_time > 0 || is_calm || backlog < 2 * mtu {
            return false;
        }
        self.accu_prob = if self.prob == 0 { 0 } else { self.accu_prob.saturating_add(self.prob) };
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let drops = draws.below(MAX_PROB + 1) < self.prob;
        if drops {
            self.accu_prob = 0;
        }
        drops
    }

    /// A packet leaves after this wait, with `backlog` bytes behind it (`pie_process_dequeue`).
    pub fn on_dequeue(&mut self, now: Time, wait: Duration, backlog: u64) {
        self.qdelay = if backlog > 0 { ticks(wait) } else { 0 };
        let since_last = self.dq_tstamp.map_or(0, |last| ticks(now - last));
        self.dq_tstamp = Some(now);
        self.burst_time = self.burst_time.saturating_sub(since_last);
    }

    /// `pie_calculate_probability`, RFC 8033 section 4.2.
    fn update(&mut self, control: &Control, backlog: u64) {
        let (qdelay, qdelay_old) = (self.qdelay, self.qdelay_old);
        let mut may_decay = qdelay > 0 || backlog == 0;
        let (mut alpha, mut beta) = (control.alpha, control.beta);
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while power <= 1_000_000 && self.prob < MAX_PROB / power {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        let distance = qdelay.wrapping_sub(control.target);
        let change = qdelay.wrapping_sub(qdelay_old);
        let mut delta = alpha.wrapping_mul(distance).wrapping_add(beta.wrapping_mul(change)) as i64;
        let two_per_cent = (MAX_PROB / 50) as i64;
        if delta > two_per_cent && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > TICKS_PER_SECOND / 4 {
            delta = delta.saturating_add(two_per_cent);
        }
        // Like Linux, it stops at 2^64 instead of MAX_PROB.
        self.prob = match (self.prob.checked_add_signed(delta), delta > 0) {
            (Some(prob), _) => prob,
            (None, true) => {
                may_decay = false;
                MAX_PROB
            }
            (None, false) => 0,
        };
        if qdelay == 0 && qdelay_old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        if qdelay < control.target / 2 && qdelay_old < control.target / 2 && self.prob == 0 {
            (self.burst_time, self.dq_tstamp, self.accu_prob) = (BURST, None, 0);
        }
        self.qdelay_old = qdelay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};

    const MS: Duration = Duration::from_millis(1);

    fn control() -> Control {
        Control::new(MS * 15, MS * 15, 2, 20)
    }

    fn probability(pie: &Pie) -> f64 {
        pie.prob as f64 / MAX_PROB as f64
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} instead of {expected}");
    }

    /// RFC 8033, section 4.2, with alpha 1/8 and beta 5/4 a second: both are divided by 2048 while the probability is below 10^-6, and by 2 while it
    /// is between 1 % and 10 %.
    #[test]
    fn the_probability_follows_the_equation_of_the_rfc() {
        let mut pie = Pie::default();
        pie.on_dequeue(Time::ZERO, MS * 20, 10_000);
        pie.update(&control(), 10_000);
        let first = (0.125 * 0.005 + 1.25 * 0.020) / 2048.0;
        close(probability(&pie), first);
        // Between 10^-5 and 10^-4 the divisor is 128. The wait has not changed.
        pie.update(&control(), 10_000);
        close(probability(&pie), first + 0.125 * 0.005 / 128.0);
        pie.prob = MAX_PROB / 20;
        pie.on_dequeue(Time::ZERO, MS * 30, 10_000);
        pie.update(&control(), 10_000);
        close(probability(&pie), 0.05 + (0.125 * 0.015 + 1.25 * 0.010) / 2.0);
    }

    #[test]
    fn a_wait_beyond_a_quarter_of_a_second_adds_two_per_cent_each_time() {
        let mut pie = Pie { prob: MAX_PROB / 5, qdelay_old: ticks(MS * 300), ..Pie::default() };
        pie.on_dequeue(Time::ZERO, MS * 300, 10_000);
        pie.update(&control(), 10_000);
        // The equation's own step is limited to two per cent as well.
        close(probability(&pie), 0.2 + f64::min(0.125 * 0.285, 0.02) + 0.02);
    }

    #[test]
    fn an_empty_queue_forgets_its_probability_by_a_64th_each_time() {
        let mut pie = Pie { prob: MAX_PROB / 2, ..Pie::default() };
        pie.update(&control(), 0);
        close(probability(&pie), (0.5 - 0.125 * 0.015) * 63.0 / 64.0);
    }

    #[test]
    fn nothing_is_dropped_in_the_first_150_ms_of_a_burst() {
        let mut pie = Pie { prob: MAX_PROB, qdelay: ticks(MS * 100), ..Pie::default() };
        let mut draws = Sequence::new(Stream::new(1, Purpose::QueueManagement, 0));
        let mut drops = |pie: &mut Pie| pie.drops_early(&control(), 100_000, 1500, &mut draws);
        pie.on_dequeue(Time::ZERO, MS * 100, 100_000);
        pie.on_dequeue(Time::ZERO + MS * 149, MS * 100, 100_000);
        assert!((0..100).all(|_| !drops(&mut pie)));
        pie.on_dequeue(Time::ZERO + MS * 150, MS * 100, 100_000);
        assert!(drops(&mut pie));
    }

    /// After a drop, the sum of the probabilities must reach 0.85 before the next one, and at 8.5 it comes for certain.
    #[test]
    fn drops_are_neither_close_together_nor_far_apart() {
        let settings = Pie { prob: MAX_PROB / 100, qdelay: ticks(MS * 20), burst_time: 0, ..Pie::default() };
        let mut draws = Sequence::new(Stream::new(2, Purpose::QueueManagement, 0));
        let mut pie = settings;
        let mut distances = vec![0];
        for _ in 0..200_000 {
            *distances.last_mut().unwrap() += 1;
            if pie.admit(&control(), 100_000, 1500, true, None, &mut draws) == Admission::Refused {
                distances.push(0);
            }
        }
        distances.pop();
        assert!(distances.iter().all(|distance| (85..=850).contains(distance)), "{distances:?}");
        // 84 packets, and from there on one of 100.
        let mean = f64::from(distances.iter().sum::<u32>()) / distances.len() as f64;
        assert!((mean / 184.0 - 1.0).abs() < 0.05, "{mean}");
    }

    /// The probability is computed at 500 ms, and every 15 ms from there on, also while no packet comes.
    #[test]
    fn updates_that_were_due_are_made_up() {
        let (mut late, mut prompt) =
            (Pie { prob: MAX_PROB / 2, ..Pie::default() }, Pie { prob: MAX_PROB / 2, ..Pie::default() });
        late.update_until(Time::ZERO + MS * 560, &control(), 0);
        for _ in 0..5 {
            prompt.update(&control(), 0);
            prompt.updates += 1;
        }
        assert_eq!(late, prompt);
        assert_eq!(late.updates, 5);
    }
}
