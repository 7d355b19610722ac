//! An ideal path for tests of window laws: every window is acknowledged over one RTT of 100 ms, without a queue. The test decides
//! on losses.

use super::bottleneck::rtt_estimate;
use crate::tcp::congestion::CongestionControl;
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

/// The path's round-trip time.
pub const RTT: Duration = Duration::from_millis(100);

/// Asserts that `actual` is `expected`, give or take `tolerance`.
pub fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

/// A congestion control and its path.
pub struct Ideal<C> {
    /// The congestion control under test.
    pub control: C,
    /// The RTT estimate that it reads.
    pub rtt: RttEstimate,
    /// The clock.
    pub now: Time,
    /// Segments that every ACK leaves selectively acknowledged, as if an earlier one was late.
    pub sacked: u32,
    round_end: Time,
}

impl<C: CongestionControl> Ideal<C> {
    /// A flow that starts now.
    pub fn new(control: C) -> Ideal<C> {
        let mut rtt = rtt_estimate();
        rtt.sample(RTT);
        Ideal { control, rtt, now: Time::ZERO, sacked: 0, round_end: Time::ZERO }
    }

    /// Acknowledges one segment, which counts as `growth`.
    pub fn ack(&mut self, growth: u32) {
        self.ack_after(RTT, growth);
    }

    /// Acknowledges one segment that took `rtt`. The window determines when the next one follows.
    pub fn ack_after(&mut self, rtt: Duration, growth: u32) {
        let in_flight = self.control.cwnd() as u32;
        let round_start = self.now >= self.round_end;
        if round_start {
            self.round_end = self.now + RTT;
        }
        let ack = AckEvent {
            now: self.now,
            delivered: 1,
            cumulative: 1,
            growth,
            may_grow: growth,
            advanced: true,
            duplicate: false,
            newly_lost: 0,
            prior_in_flight: in_flight,
            in_flight: in_flight - 1 - self.sacked,
            outstanding: in_flight - 1,
            rtt: Some(rtt),
            rate: None,
            round_start,
            in_recovery: false,
            ecn_echo: false,
            marked: 0,
        };
        self.control.on_ack(&ack, &self.rtt);
        self.now += RTT.scale(1.0 / self.control.cwnd());
    }

    /// A congestion with a full window in flight.
    pub fn congestion(&mut self, kind: CongestionKind) {
        let prior_in_flight = self.control.cwnd() as u32;
        self.control.on_congestion(&CongestionEvent { now: self.now, kind, prior_in_flight }, &self.rtt);
    }

    /// ACKs until the window is at least `cwnd`.
    pub fn grow_to(&mut self, cwnd: f64) {
        while self.control.cwnd() < cwnd {
            self.ack(1);
        }
    }

    /// Delivers ACKs for this time.
    pub fn acks_for(&mut self, seconds: f64) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.ack(1);
        }
    }

    /// Mean window over the second half of `periods`, each of 1/p packets and a loss, from a first loss at `start`.
    pub fn average(&mut self, p: f64, start: f64, periods: u32) -> f64 {
        self.grow_to(start);
        let mut measured = (0.0, Time::ZERO);
        for period in 0..periods {
            if period == periods / 2 {
                measured = (0.0, self.now);
            }
            self.congestion(CongestionKind::Loss);
            (0..(1.0 / p) as u32).for_each(|_| self.ack(1));
            measured.0 += 1.0 / p;
        }
        measured.0 / (self.now.since(measured.1).as_secs() / RTT.as_secs())
    }
}
