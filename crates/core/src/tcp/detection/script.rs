//! For tests: a sender with a fixed window and a receiver, around one detector. The test decides when each segment arrives. The
//! driver records the detector's marks.

use super::shortcuts::DetectorShortcuts;
use super::{DetectionSpec, DetectorContext, Signal, Verdict};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Range, Scoreboard};
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// An instant in milliseconds.
pub fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

/// Every registered detector with its default parameters.
pub fn every_detector() -> Vec<DetectionSpec> {
    let spec = |name| serde_json::from_value(serde_json::json!({ "name": name })).expect("defaults suffice");
    DetectionSpec::describe().into_iter().map(|info| spec(info.name)).collect()
}

/// Decision of a detector at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// Segments newly marked as lost.
    pub lost: Vec<u32>,
    /// Its verdict.
    pub verdict: Verdict,
}

/// A sender without congestion control: the caller decides on sending and acknowledging.
pub struct Driver {
    pub board: Scoreboard,
    pub rtt: RttEstimate,
    pub detector: Box<dyn DetectorShortcuts>,
    pub now: Time,
    /// Every decision that was not "nothing".
    pub decisions: Vec<Decision>,
    /// Segments transmitted, in order, for the network to take.
    pub sent: Vec<u32>,
    sack: bool,
    recovery_point: Option<u32>,
    round_end: u32,
    withheld: u32,
    /// Whether predicted ACKs take the detector's short path.
    pub takes_short_path: bool,
    /// The last ACK on the short path excluded deadlines before this instant.
    quiet_until: Time,
}

impl Driver {
    /// A flow that has not sent yet. Its least RTO is 200 ms.
    pub fn new(detector: Box<dyn DetectorShortcuts>, sack: bool) -> Driver {
        Driver {
            board: Scoreboard::with_sending_order(),
            rtt: RttEstimate::new(Duration::from_millis(200), Duration::from_secs(60), Duration::from_secs(1)),
            detector,
            now: Time::ZERO,
            decisions: Vec::new(),
            sent: Vec::new(),
            sack,
            recovery_point: None,
            round_end: 0,
            withheld: 0,
            takes_short_path: false,
            quiet_until: Time::ZERO,
        }
    }

    /// Like [`Driver::new`], from a scenario's choice.
    pub fn of(spec: &DetectionSpec, sack: bool) -> Driver {
        Driver::new(spec.build(DetectorContext { sack, evidence: false, paths: 2 }), sack)
    }

    pub fn send_new(&mut self) {
        self.sent.push(self.board.next());
        self.board.send_new(self.now);
    }

    /// Retransmits the first lost segment, if there is one.
    pub fn retransmit(&mut self) -> bool {
        let Some(segment) = self.board.next_lost() else { return false };
        self.board.retransmit(segment, self.now);
        if segment == self.board.una() {
            self.board.restart_timer(self.now); // as the sender does
        }
        self.sent.push(segment);
        true
    }

    pub fn deadline(&self) -> Option<Time> {
        let deadline = self.detector.deadline(&self.board, &self.rtt);
        assert!(
            deadline.is_none_or(|deadline| deadline >= self.quiet_until),
            "{deadline:?} before {}",
            self.quiet_until
        );
        for instant in [1, 20, 200].map(|wait| self.now + Duration::from_millis(wait)) {
            let quiet = self.detector.quiet_until(instant, &self.board, &self.rtt);
            assert!(!quiet || deadline.is_none_or(|deadline| deadline >= instant), "{deadline:?} before {instant}");
        }
        deadline
    }

    /// Takes an ACK; without SACK the blocks count only as a duplicate ACK.
    pub fn acknowledge(&mut self, cumulative: u32, blocks: &[Range]) {
        self.take_ack(cumulative, blocks, None);
    }

    /// Takes an ACK, which may report that the receiver got a segment twice.
    fn take_ack(&mut self, cumulative: u32, blocks: &[Range], duplicate_of: Option<u32>) {
        if self.takes_short_path
            && self.sack
            && blocks.is_empty()
            && duplicate_of.is_none()
            && self.recovery_point.is_none()
            && let Some(sent) = self.board.pass_one_original(cumulative, self.now)
        {
            return self.on_predicted_ack(sent);
        }
        let prior_in_flight = self.board.in_flight();
        let mut delivered = self.board.acknowledge(cumulative, if self.sack { blocks } else { &[] }, self.now);
        let passed = delivered.cumulative;
        let duplicate = passed == 0 && self.board.outstanding() > 0;
        if !self.sack && duplicate {
            self.board.count_duplicate();
            delivered.count = 1;
        } else if !self.sack {
            delivered.count -= self.board.eat_duplicates(passed);
        }
        if let Some(segment) = duplicate_of {
            self.detector.on_spurious(self.now, segment, &self.board);
        }
        if let Some(rtt) = delivered.oldest_rtt() {
            self.rtt.sample(rtt);
        }
        self.recovery_point = self.recovery_point.filter(|point| self.board.una() < *point);
        let round_start = self.begins_round();
        self.judge_ack(&delivered, prior_in_flight, duplicate, round_start);
    }

    fn on_predicted_ack(&mut self, sent: Time) {
        self.rtt.sample(self.now - sent);
        let round_start = self.begins_round();
        let quiet_until = self.detector.on_predicted_ack(self.now, sent, round_start, &self.board, &self.rtt);
        if let Some(instant) = quiet_until {
            assert_eq!(self.withheld, 0, "a detector that takes ordinary ACKs withholds nothing");
            self.quiet_until = instant;
        } else {
            let delivered = Delivered::one_original(self.board.una() - 1, sent, self.now, true);
            self.judge_ack(&delivered, self.board.in_flight() + 1, false, round_start);
        }
    }

    fn begins_round(&mut self) -> bool {
        let round_start = self.board.una() > self.round_end;
        if round_start {
            self.round_end = self.board.next();
        }
        round_start
    }

    fn judge_ack(&mut self, delivered: &Delivered, prior_in_flight: u32, duplicate: bool, round_start: bool) {
        let event = AckEvent {
            now: self.now,
            delivered: delivered.count,
            cumulative: delivered.count,
            growth: 0,
            may_grow: 0,
            advanced: delivered.cumulative > 0,
            duplicate,
            newly_lost: 0,
            prior_in_flight,
            in_flight: self.board.in_flight(),
            outstanding: self.board.in_flight(),
            rtt: delivered.newest_rtt(),
            rate: None,
            round_start,
            in_recovery: self.recovery_point.is_some(),
            ecn_echo: false,
            marked: 0,
        };
        self.judge(|driver| driver.detector.on_ack(&event, delivered, &mut driver.board, &driver.rtt));
    }

    /// Advances the time, and serves every deadline on the way.
    pub fn pass_until(&mut self, time: Time) {
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline <= time) {
            self.serve(deadline);
        }
        self.now = self.now.max(time);
    }

    /// Serves the deadline, and checks the progress: a mark, a probe, or a later deadline. Afterwards no deadline is due.
    pub fn serve(&mut self, deadline: Time) {
        self.now = self.now.max(deadline);
        let lost = self.board.lost();
        let verdict = self.judge(|driver| driver.detector.on_deadline(driver.now, &mut driver.board, &driver.rtt));
        let next = self.deadline();
        let progress =
            self.board.lost() > lost || verdict != Verdict::default() || next.is_none_or(|next| next > deadline);
        assert!(progress, "a deadline at {deadline} that did nothing");
        assert!(next.is_none_or(|next| next > self.now), "deadline {next:?} is due again at {}", self.now);
    }

    /// Segments that count against the window, as the sender counts them.
    pub fn counted_in_flight(&self) -> u32 {
        let undecided = self.recovery_point.is_none() && self.board.lost() == 0 && self.board.in_flight() > 0;
        self.board.in_flight() + if undecided { self.withheld } else { 0 }
    }

    fn lost(&self) -> BTreeSet<u32> {
        (self.board.una()..self.board.next()).filter(|segment| self.board.is_lost(*segment)).collect()
    }

    fn judge(&mut self, decide: impl FnOnce(&mut Driver) -> Verdict) -> Verdict {
        self.quiet_until = Time::ZERO;
        let (lost_before, sacked_before) = (self.lost(), self.board.sacked());
        let verdict = decide(self);
        self.board.check_marks();
        assert_eq!(self.board.sacked(), sacked_before, "a detector marks only what is in flight");
        assert!(
            self.board.in_flight() == 0 || self.deadline().is_some(),
            "data is in flight and nothing would find its loss"
        );
        let lost: Vec<u32> = self.lost().difference(&lost_before).copied().collect();
        if !lost.is_empty() || verdict.signal != Signal::None || verdict.probe {
            self.decisions.push(Decision { at: self.now, lost, verdict });
        }
        self.withheld = verdict.withheld;
        match verdict.signal {
            Signal::None => {}
            Signal::Loss => self.recovery_point = self.recovery_point.or(Some(self.board.next())),
            Signal::NewLoss => self.recovery_point = Some(self.board.next()),
            Signal::Timeout => {
                self.recovery_point = Some(self.board.next());
                self.rtt.back_off();
                self.board.restart_timer(self.now);
            }
        }
        verdict
    }

    /// Sends the probe that the last verdict requested: new data, or the highest segment again.
    pub fn probe(&mut self, new_data: bool) {
        if new_data {
            self.send_new();
        } else {
            let highest = self.board.next() - 1;
            self.board.mark_lost(highest);
            self.board.retransmit(highest, self.now);
            self.sent.push(highest);
        }
    }
}

/// Segments on their way, and arrived ones. `fate(segment, n)` is the RTT of a segment's n-th transmission (from 0), `None` if it
/// is lost. The receiver acknowledges each segment at once; the fate includes the way of the ACK.
struct Network<F> {
    fate: F,
    arrivals: BTreeMap<(Time, usize), u32>,
    transmissions: BTreeMap<u32, u32>,
    received: BTreeSet<u32>,
    taken: usize,
}

impl<F: Fn(u32, u32) -> Option<Duration>> Network<F> {
    fn new(fate: F) -> Network<F> {
        Network { fate, arrivals: BTreeMap::new(), transmissions: BTreeMap::new(), received: BTreeSet::new(), taken: 0 }
    }

    /// Fetches the segments sent since the last call.
    fn carry(&mut self, driver: &Driver) {
        for (index, segment) in driver.sent.iter().enumerate().skip(self.taken) {
            let nth = self.transmissions.entry(*segment).or_default();
            if let Some(rtt) = (self.fate)(*segment, *nth) {
                self.arrivals.insert((driver.now + rtt, index), *segment);
            }
            *nth += 1;
        }
        self.taken = driver.sent.len();
    }

    /// Processes the next ACK or deadline, if it comes by `until`. Returns whether there was one.
    fn step(&mut self, driver: &mut Driver, until: Time) -> bool {
        let deadline = driver.deadline().filter(|deadline| *deadline <= until);
        let arrival = self.arrivals.first_key_value().map(|(key, segment)| (*key, *segment));
        match arrival.filter(|((time, _), _)| *time <= until) {
            Some((key, segment)) if deadline.is_none_or(|deadline| key.0 < deadline) => {
                self.arrivals.remove(&key);
                let twice = !self.received.insert(segment);
                let first_hole = (0..).find(|segment| !self.received.contains(segment)).expect("received is finite");
                let blocks: Vec<Range> =
                    self.received.range(first_hole..).map(|segment| (*segment, segment + 1)).collect();
                driver.now = key.0;
                driver.take_ack(first_hole, &blocks, (twice && driver.sack).then_some(segment));
            }
            _ => match deadline {
                Some(deadline) => driver.serve(deadline),
                None => return false,
            },
        }
        true
    }
}

/// A bulk transfer of `total` segments with `window` in flight, each sent as soon as the window allows; see [`Network`].
pub fn transfer(
    driver: &mut Driver,
    total: u32,
    window: u32,
    fate: impl Fn(u32, u32) -> Option<Duration>,
    steps: usize,
) {
    let mut network = Network::new(fate);
    let mut probed = 0;
    for _ in 0..steps {
        let asked = driver.decisions.iter().filter(|decision| decision.verdict.probe).count();
        if asked > probed {
            probed = asked;
            driver.probe(driver.board.next() < total);
        }
        while driver.counted_in_flight() < window {
            if !driver.retransmit() {
                if driver.board.next() == total {
                    break;
                }
                driver.send_new();
            }
        }
        network.carry(driver);
        if !network.step(driver, Time::NEVER) {
            break;
        }
    }
    assert_eq!(driver.board.una(), total, "not delivered in {steps} steps");
}

/// A stream of `total` segments, one sent each `spacing`, and again at once when marked lost; see [`Network`]. Without probes.
pub fn stream(driver: &mut Driver, total: u32, spacing: Duration, fate: impl Fn(u32, u32) -> Option<Duration>) {
    let mut network = Network::new(fate);
    let start = driver.now;
    for index in 0..=total {
        let next = if index < total { start + spacing * u64::from(index) } else { Time::NEVER };
        while network.step(driver, next) {
            while driver.retransmit() {}
            network.carry(driver);
        }
        if index < total {
            driver.now = next;
            driver.send_new();
            network.carry(driver);
        }
    }
    assert_eq!(driver.board.una(), total, "not delivered");
}
