//! FastRTO, MPRC's loss detection (Chang 2024, section 4.1): time alone, no duplicate ACKs.
//!
//! A segment is lost when the age of its last transmission passes FastRTO, whatever was delivered around it. So segments
//! may overtake each other by any number, if only their RTTs stay below FastRTO.
//!
//! The source gives the equations and no values. What it leaves open is chosen here:
//! - Before the first sample, the retransmission timeout of RFC 6298 stands in for FastRTO.
//! - Every ACK that delivers something gives one sample to SRTT and RTTVAR, because paths alternate from segment to
//!   segment: the longest RTT among its segments, or the shortest if it delivers a retransmission as well and may have
//!   waited for it.
//! - While nothing at all is delivered, a segment that expires again doubles the timeout of what is sent from then on,
//!   up to the greatest RTO, or a dead path would be flooded.
//! - It never claims a timeout.
//!
//! A receiver that delays its ACKs adds its timer to the RTT of a lone segment; use it with immediate ACKs.

use super::{DetectorContext, LossDetector, Signal, Verdict};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard, Transmission};
use crate::units::{Duration, Time};

crate::parameters! {
    /// The constants of equations 4.1 to 4.3. The source gives none but the bound of 500 ms. The defaults suit two or three
    /// paths whose RTTs differ by a full queue: 60 and 180 ms in turn give 60 + 2.67 * 120 = 380 ms, and seven ACKs
    /// of the short path in a row still leave 60 + 1.15 * 120 = 198 ms for the long one.
    pub struct Parameters {
        /// How far RTTmin may rise per round trip, and the least distance of the timeout from it (gamma > 1, equations 4.1, 4.2).
        pub gamma: f64 = 1.5, in 1.000_001..=100.0;
        /// Weight of the old SRTT against a sample (alpha; RFC 6298: 7/8, here less, to follow the paths).
        pub srtt_factor: f64 = 0.8, in 0.0..=1.0;
        /// Weight of the old RTTVAR against a sample (beta; RFC 6298: 3/4, here less, to follow the paths).
        pub rttvar_factor: f64 = 0.7, in 0.0..=1.0;
        /// Deviations between SRTT and the timeout (K of equation 4.2; RFC 6298: 4).
        pub k: f64 = 4.0, in 0.0..=1000.0;
        /// Greatest FastRTO (RTOmax, equation 4.3). Must exceed every path's RTT, or each segment there expires.
        pub max_rto: Duration = Duration::from_millis(500);
    }
}

/// Equation 4.1: RTTmin after a round trip in which `rtt` was measured.
pub fn least_rtt(least: Duration, rtt: Duration, gamma: f64) -> Duration {
    least.scale(gamma).min(rtt)
}

/// Equation 4.2: RTOest.
pub fn estimated_rto(least: Duration, srtt: Duration, rttvar: Duration, gamma: f64, k: f64) -> Duration {
    least.scale(gamma).max(srtt + rttvar.scale(k))
}

/// Equation 4.3: FastRTO.
pub fn fast_rto(estimated: Duration, max_rto: Duration) -> Duration {
    estimated.min(max_rto)
}

/// An exponential filter: what `smoothed` becomes by a sample, when the old value has weight `factor`.
pub fn smooth(smoothed: Duration, sample: Duration, factor: f64) -> Duration {
    smoothed.scale(factor) + sample.scale(1.0 - factor)
}

/// The signal for losses (thesis section 4.2): the window shrinks once per window of data, so only for segments first sent
/// after the last reduction, when `reduced_at` was the next segment to send.
pub fn signal_of(lost: impl IntoIterator<Item = u32>, reduced_at: u32) -> Signal {
    if lost.into_iter().any(|segment| segment >= reduced_at) { Signal::NewLoss } else { Signal::None }
}

#[derive(Debug, Clone, Copy)]
struct Estimate {
    least: Duration,
    srtt: Duration,
    rttvar: Duration,
}

impl Estimate {
    /// As RFC 6298 section 2.2.
    fn first(rtt: Duration, least: Duration) -> Estimate {
        Estimate { least, srtt: rtt, rttvar: rtt / 2 }
    }

    fn sample(&mut self, rtt: Duration, parameters: &Parameters) {
        let deviation = Duration(self.srtt.0.abs_diff(rtt.0));
        self.rttvar = smooth(self.rttvar, deviation, parameters.rttvar_factor);
        self.srtt = smooth(self.srtt, rtt, parameters.srtt_factor);
    }
}

/// Expiries that no delivery answered.
#[derive(Debug, Clone, Copy)]
struct Silence {
    /// The last expiry that doubled the timeout, or the first one.
    since: Time,
    /// How often the timeout of transmissions from `since` on is doubled.
    doublings: u32,
}

/// The detector's state.
#[derive(Debug, Clone)]
pub struct FastRto {
    parameters: Parameters,
    estimate: Option<Estimate>,
    /// A round trip began whose RTT is not known yet.
    round_began: bool,
    /// The next segment to send at the last reduction.
    reduced_at: u32,
    silence: Option<Silence>,
}

impl FastRto {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, _flow: DetectorContext) -> FastRto {
        FastRto { parameters, estimate: None, round_began: false, reduced_at: 0, silence: None }
    }

    /// FastRTO now, without backoff.
    pub fn timeout(&self, rtt: &RttEstimate) -> Duration {
        let Parameters { gamma, k, max_rto, .. } = self.parameters;
        self.estimate.map_or(rtt.rto(), |Estimate { least, srtt, rttvar }| {
            fast_rto(estimated_rto(least, srtt, rttvar, gamma, k), max_rto)
        })
    }

    fn expiry(&self, transmission: Transmission, timeout: Duration, max_rto: Duration) -> Time {
        let doublings = self.silence.map_or(0, |silence| {
            if transmission.sent >= silence.since { silence.doublings } else { silence.doublings.saturating_sub(1) }
        });
        let backed_off = Duration(timeout.0.saturating_mul(1 << doublings)).min(max_rto.max(timeout));
        transmission.sent + backed_off
    }

    fn measure(&mut self, delivered: &Delivered) {
        let (Some(longest), Some(shortest)) = (delivered.oldest_rtt, delivered.newest_rtt) else { return };
        let sample = if delivered.any_retransmitted { shortest } else { longest };
        match &mut self.estimate {
            None => self.estimate = Some(Estimate::first(sample, shortest)),
            Some(estimate) => {
                estimate.sample(sample, &self.parameters);
                if self.round_began {
                    estimate.least = least_rtt(estimate.least, shortest, self.parameters.gamma);
                }
            }
        }
        self.round_began = false;
    }

    fn expire(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let timeout = self.timeout(rtt);
        let expired: Vec<Transmission> = board
            .in_sending_order()
            .take_while(|transmission| self.expiry(*transmission, timeout, rtt.max_rto()) <= now)
            .collect();
        let Some(latest) = expired.last() else { return Verdict::default() };
        for transmission in &expired {
            board.mark_lost(transmission.segment);
        }
        let repeated = self.count_silence(now, latest.sent);
        let signal = signal_of(expired.iter().map(|transmission| transmission.segment), self.reduced_at);
        if signal == Signal::NewLoss {
            self.reduced_at = board.next();
        } else if repeated && board.in_flight() == 0 {
            return Verdict::of(Signal::Loss);
        }
        Verdict::of(signal)
    }

    /// Counts an expiry of transmissions up to one sent at `latest`; whether one of them answers an expiry before.
    fn count_silence(&mut self, now: Time, latest: Time) -> bool {
        match &mut self.silence {
            None => self.silence = Some(Silence { since: now, doublings: 1 }),
            Some(silence) if latest >= silence.since => {
                *silence = Silence { since: now, doublings: (silence.doublings + 1).min(16) };
                return true;
            }
            Some(_) => {}
        }
        false
    }
}

impl LossDetector for FastRto {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        self.round_began |= ack.round_start;
        let delivered = board.last_delivered();
        if delivered.count > 0 {
            self.silence = None;
            self.measure(delivered);
        }
        self.expire(ack.now, board, rtt)
    }

    #[inline]
    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
        let oldest = board.oldest_in_flight()?;
        Some(self.expiry(oldest, self.timeout(rtt), rtt.max_rto()))
    }

    fn on_deadline(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        self.expire(now, board, rtt)
    }
}
