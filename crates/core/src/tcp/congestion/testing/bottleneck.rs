//! A path for tests of congestion controls: one bottleneck of fixed rate with a drop-tail queue, and a propagation delay. The
//! sender always has data, knows dropped segments at once, and reports the events of a real sender.

use crate::rng::{Purpose, Stream};
use crate::tcp::congestion::slow_start::{SlowStartSpec, classic};
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind, RateSample};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Bytes of a segment on the wire in these tests.
pub const WIRE_BYTES: u32 = 1250;

const CLASSIC: SlowStartSpec = SlowStartSpec::Classic(classic::Parameters {});

/// A flow that starts with ten segments.
pub fn flow(seed: u64) -> FlowContext {
    FlowContext {
        initial_window: 10,
        slow_start: CLASSIC,
        payload: WIRE_BYTES - 40,
        wire_bytes: WIRE_BYTES,
        pacing: false,
        hz: 250,
        random: Stream::new(seed, Purpose::Congestion, 0),
        coupling: None,
    }
}

/// An RTT estimate without samples.
pub fn rtt_estimate() -> RttEstimate {
    RttEstimate::new(Duration::from_millis(200), Duration::from_secs(60), Duration::from_secs(1))
}

/// The path's effects on segments.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Segments per second.
    pub rate: f64,
    /// RTT without queue.
    pub delay: Duration,
    /// Segments that fit in the queue.
    pub buffer: f64,
    /// Probability that a segment is lost before the queue.
    pub loss: f64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    number: u64,
    sent: Time,
    arrives: Option<Time>,
    marked: bool,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    in_flight: u32,
    lost: u64,
}

/// Measurements over a time span.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observed {
    /// Segments delivered per second.
    pub goodput: f64,
    /// Mean RTT, seconds.
    pub mean_rtt: f64,
    /// Least number of segments in flight just after an ACK.
    pub min_in_flight: u32,
    /// Segments lost, per segment delivered.
    pub loss_ratio: f64,
}

/// The sender and its path.
pub struct Bench<C> {
    /// The congestion control under test.
    pub control: C,
    /// May be changed between runs.
    pub path: Path,
    /// Segments that find as many in the queue are marked.
    pub mark_above: f64,
    /// The clock.
    pub now: Time,
    rtt: RttEstimate,
    outstanding: VecDeque<Segment>,
    next_number: u64,
    next_send: Time,
    busy_until: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    recovery_until: Option<u64>,
    /// Marks of segments below are answered.
    answered_until: u64,
    round_end: u64,
    random: Stream,
}

impl<C: CongestionControl> Bench<C> {
    /// A flow that starts now.
    pub fn new(control: C, path: Path) -> Bench<C> {
        Bench {
            control,
            path,
            mark_above: f64::INFINITY,
            now: Time::ZERO,
            rtt: rtt_estimate(),
            outstanding: VecDeque::new(),
            next_number: 0,
            next_send: Time::ZERO,
            busy_until: Time::ZERO,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            recovery_until: None,
            answered_until: 0,
            round_end: 0,
            random: Stream::new(1, Purpose::Loss, 0),
        }
    }

    /// Runs for `seconds`.
    pub fn run(&mut self, seconds: f64) -> Observed {
        let end = self.now + Duration::from_secs_f64(seconds);
        let (delivered, lost) = (self.delivered, self.lost);
        let (mut rtt_sum, mut acks, mut min_in_flight) = (0.0, 0u32, u32::MAX);
        loop {
            let open = (self.outstanding.len() as f64) < self.control.cwnd().floor().max(1.0);
            let send = if open { self.next_send.max(self.now) } else { Time::NEVER };
            let timeout = self.now + Duration::from_secs(1);
            let ack = self.outstanding.iter().find_map(|segment| segment.arrives).unwrap_or(timeout);
            if send.min(ack) >= end {
                break;
            }
            if send < ack {
                self.now = send;
                self.send();
            } else if self.outstanding.iter().any(|segment| segment.arrives.is_some()) {
                self.now = ack;
                rtt_sum += self.receive_ack();
                acks += 1;
                min_in_flight = min_in_flight.min(self.outstanding.len() as u32);
            } else {
                self.now = ack;
                self.time_out();
            }
        }
        self.now = end;
        let span = (self.delivered - delivered) as f64;
        Observed {
            goodput: span / seconds,
            mean_rtt: rtt_sum / f64::from(acks.max(1)),
            min_in_flight,
            loss_ratio: (self.lost - lost) as f64 / span.max(1.0),
        }
    }

    fn send(&mut self) {
        if let Some(rate) = self.control.pacing_rate() {
            self.next_send = self.now + rate.serialization_delay(u64::from(WIRE_BYTES));
        }
        if self.outstanding.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        let queued = self.busy_until.since(self.now).as_secs() * self.path.rate;
        let dropped = queued >= self.path.buffer || self.random.uniform(self.next_number) < self.path.loss;
        let arrives = (!dropped).then(|| {
            self.busy_until = self.busy_until.max(self.now) + Duration::from_secs_f64(1.0 / self.path.rate);
            self.busy_until + self.path.delay
        });
        self.outstanding.push_back(Segment {
            number: self.next_number,
            sent: self.now,
            arrives,
            marked: queued >= self.mark_above,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight: self.outstanding.len() as u32 + 1,
            lost: self.lost,
        });
        self.next_number += 1;
    }

    /// Receives the next ACK and returns its RTT in seconds.
    fn receive_ack(&mut self) -> f64 {
        let prior_in_flight = self.outstanding.len() as u32;
        let mut newly_lost = 0;
        let segment = loop {
            let segment = self.outstanding.pop_front().expect("an ACK is for an outstanding segment");
            if segment.arrives.is_some() {
                break segment;
            }
            newly_lost += 1;
        };
        self.lost += u64::from(newly_lost);
        self.delivered += 1;
        self.delivered_at = self.now;
        self.first_sent = segment.sent;
        let rtt = self.now - segment.sent;
        self.rtt.sample(rtt);
        let round_start = segment.number >= self.round_end;
        if round_start {
            self.round_end = self.next_number;
        }
        let cwnd_limited = f64::from(prior_in_flight) >= self.control.cwnd().floor();
        if self.recovery_until.is_some_and(|end| segment.number >= end) {
            self.recovery_until = None;
            self.control.on_recovered();
        }
        if newly_lost > 0 && self.recovery_until.is_none() {
            self.recovery_until = Some(self.next_number);
            let event = CongestionEvent { now: self.now, kind: CongestionKind::Loss, prior_in_flight };
            self.control.on_congestion(&event, &self.rtt);
        }
        let in_recovery = self.recovery_until.is_some();
        if segment.marked && !in_recovery && segment.number >= self.answered_until {
            self.answered_until = self.next_number;
            let event = CongestionEvent { now: self.now, kind: CongestionKind::EcnEcho, prior_in_flight };
            self.control.on_congestion(&event, &self.rtt);
        }
        let ack = AckEvent {
            now: self.now,
            delivered: 1,
            cumulative: 1,
            growth: u32::from(cwnd_limited && !in_recovery && !segment.marked),
            may_grow: u32::from(cwnd_limited && !in_recovery && !segment.marked),
            advanced: true,
            duplicate: false,
            newly_lost,
            prior_in_flight,
            in_flight: self.outstanding.len() as u32,
            outstanding: self.outstanding.len() as u32,
            rtt: Some(rtt),
            rate: Some(RateSample {
                delivered: (self.delivered - segment.delivered) as u32,
                interval: segment.sent.since(segment.first_sent).max(self.now.since(segment.delivered_at)),
                prior_delivered: segment.delivered,
                total_delivered: self.delivered,
                app_limited: false,
                sent_in_flight: segment.in_flight,
                lost: (self.lost - segment.lost) as u32,
                total_lost: self.lost as u32,
            }),
            round_start,
            in_recovery,
            ecn_echo: segment.marked,
            marked: u32::from(segment.marked),
        };
        self.control.on_ack(&ack, &self.rtt);
        rtt.as_secs()
    }

    fn time_out(&mut self) {
        let prior_in_flight = self.outstanding.len() as u32;
        self.lost += u64::from(prior_in_flight);
        self.outstanding.clear();
        self.recovery_until = Some(self.next_number);
        let kind = CongestionKind::Timeout { repeated: false };
        self.control.on_congestion(&CongestionEvent { now: self.now, kind, prior_in_flight }, &self.rtt);
    }
}

/// A call that a sender may make, for property tests.
#[derive(Debug, Clone)]
pub enum Call {
    /// An ACK after a pause; numbers are reduced to plausible ones.
    Ack {
        /// Time since the previous call.
        pause: Duration,
        /// RTT, if it shows one.
        rtt: Option<Duration>,
        /// Segments delivered.
        delivered: u32,
        /// Segments lost.
        lost: u32,
        /// Segments still in flight.
        in_flight: u32,
        /// Whether the window may grow, a round starts, the sender recovers, the application was the limit.
        flags: [bool; 4],
    },
    /// A congestion event with this number of segments in flight.
    Congestion(CongestionKind, u32),
    /// The last reduction was spurious.
    Undo,
    /// Recovery ended.
    Recovered,
    /// An idle time of this length, with nothing in flight.
    Idle(Duration),
}

/// Any sequence of calls.
pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    let duration = |longest_ms: u64| (0..longest_ms * 1000).prop_map(Duration::from_micros);
    let kind = prop_oneof![
        Just(CongestionKind::Loss),
        Just(CongestionKind::EcnEcho),
        any::<bool>().prop_map(|repeated| CongestionKind::Timeout { repeated }),
    ];
    let ack = (duration(300), proptest::option::of(duration(500)), 0..100u32, 0..10u32, 0..2000u32, any::<[bool; 4]>());
    let call = prop_oneof![
        20 => ack.prop_map(|(pause, rtt, delivered, lost, in_flight, flags)| Call::Ack { pause, rtt, delivered, lost, in_flight, flags }),
        1 => (kind, 0..2000u32).prop_map(|(kind, in_flight)| Call::Congestion(kind, in_flight)),
        1 => Just(Call::Undo),
        1 => Just(Call::Recovered),
        1 => duration(20_000).prop_map(Call::Idle),
    ];
    proptest::collection::vec(call, 1..400)
}

/// Makes the calls and checks after each that the window is finite and at least 1, and the pacing rate positive.
pub fn check_calls(mut control: impl CongestionControl, calls: &[Call]) -> Result<(), TestCaseError> {
    check_calls_of(&mut control, calls)
}

/// [`check_calls`] of any congestion control.
pub fn check_calls_of(control: &mut dyn CongestionControl, calls: &[Call]) -> Result<(), TestCaseError> {
    let (mut now, mut total, mut rtt_estimate) = (Time::ZERO, 0u64, rtt_estimate());
    for call in calls {
        match *call {
            Call::Ack {
                pause,
                rtt,
                delivered,
                lost,
                in_flight,
                flags: [grows, round_start, in_recovery, app_limited],
            } => {
                now += pause;
                if let Some(rtt) = rtt {
                    rtt_estimate.sample(rtt);
                }
                let prior_delivered = total.saturating_sub(u64::from(in_flight));
                total += u64::from(delivered);
                let rate = (delivered > 0).then_some(RateSample {
                    delivered: (total - prior_delivered) as u32,
                    interval: rtt.unwrap_or(pause),
                    prior_delivered,
                    total_delivered: total,
                    app_limited,
                    sent_in_flight: in_flight,
                    lost,
                    total_lost: lost,
                });
                let ack = AckEvent {
                    now,
                    delivered,
                    cumulative: delivered,
                    growth: if grows && !in_recovery { delivered } else { 0 },
                    may_grow: if grows && !in_recovery { delivered } else { 0 },
                    advanced: delivered > 0,
                    duplicate: delivered == 0,
                    newly_lost: lost,
                    prior_in_flight: in_flight + delivered + lost,
                    in_flight,
                    outstanding: in_flight,
                    rtt,
                    rate,
                    round_start,
                    in_recovery,
                    ecn_echo: false,
                    marked: 0,
                };
                control.on_ack(&ack, &rtt_estimate);
            }
            Call::Congestion(kind, prior_in_flight) => {
                control.on_congestion(&CongestionEvent { now, kind, prior_in_flight }, &rtt_estimate);
            }
            Call::Undo => control.undo(),
            Call::Recovered => control.on_recovered(),
            Call::Idle(idle) => {
                now += idle;
                control.on_idle(now, idle, 10, &rtt_estimate);
            }
        }
        prop_assert!(control.cwnd().is_finite() && control.cwnd() >= 1.0, "cwnd {} after {call:?}", control.cwnd());
        prop_assert!(control.ssthresh() >= 1.0, "ssthresh {} after {call:?}", control.ssthresh());
        prop_assert!(
            control.pacing_rate().is_none_or(|rate| rate.0 > 0 && rate.0 < u64::MAX),
            "{:?}",
            control.pacing_rate()
        );
    }
    Ok(())
}
