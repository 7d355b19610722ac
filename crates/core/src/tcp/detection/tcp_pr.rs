//! TCP-PR, Bohacek, Hespanha, Lee, Lim and Obraczka, "TCP-PR: TCP for Persistent Packet Reordering" (2003). A segment is lost
//! when its age passes `mxrtt`, three times the greatest recent RTT. Duplicate ACKs mean nothing.
//!
//! The losses of one burst are one congestion: segments sent before a reduction are memorised, and their loss reduces nothing.
//! The loss of more than half of the memorised segments counts as a timeout. Then the window is one segment, and `mxrtt` at least
//! one second, doubled while nothing is delivered.
//!
//! This differs from the paper. A detector does not know cwnd, so the decay of ewrtt uses the segments in flight before an ACK.
//! The congestion control reduces from its present window, not from that at the lost segment's sending. A loss that nothing
//! answered, followed by another, is extreme as well; otherwise a dead path would be probed at one rate for ever. Before the
//! first sample the retransmission timeout of RFC 6298 stands in for mxrtt, and its bound is mxrtt's.

use super::{DetectorContext, LossDetector, Signal, Verdict};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard, Transmission};
use crate::units::{Duration, Time};

crate::parameters! {
    /// The paper's constants.
    pub struct Parameters {
        /// What remains of ewrtt after a round trip without a greater RTT (alpha).
        pub alpha: f64 = 0.995, in 0.0..=1.0;
        /// Age of a lost segment, in multiples of ewrtt (beta).
        pub beta: f64 = 3.0, in 1.0..=100.0;
        /// Least mxrtt after an extreme loss.
        pub extreme_mxrtt: Duration = Duration::from_secs(1);
    }
}

/// ewrtt after an ACK: the greater of the sample and of the decayed estimate, with the factor alpha^(1/cwnd).
pub fn decayed_rtt(ewrtt: Duration, sample: Duration, alpha: f64, cwnd: u32) -> Duration {
    ewrtt.scale(alpha.powf(1.0 / f64::from(cwnd.max(1)))).max(sample)
}

/// Whether `lost` of `memorised` segments are extreme: more than half.
pub fn is_extreme(lost: u32, memorised: u32) -> bool {
    2 * lost > memorised
}

/// The detector's state.
#[derive(Debug, Clone)]
pub struct TcpPr {
    parameters: Parameters,
    ewrtt: Option<Duration>,
    /// Segments sent before are memorised: their loss belongs to the last reduction.
    reduced_at: Time,
    /// Memorised segments at the last reduction, and how many of them were lost since (cburst).
    memorised: u32,
    lost: u32,
    /// The least mxrtt, after an extreme loss and until something is delivered.
    least_mxrtt: Duration,
    /// Whether anything was delivered since the last reduction.
    answered: bool,
}

impl TcpPr {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, _flow: DetectorContext) -> TcpPr {
        TcpPr {
            parameters,
            ewrtt: None,
            reduced_at: Time::ZERO,
            memorised: 0,
            lost: 0,
            least_mxrtt: Duration::ZERO,
            answered: true,
        }
    }

    /// The age of a lost segment. Each ACK that comes late, since those before it were lost, would triple it without the bound of the timeout.
    pub fn mxrtt(&self, rtt: &RttEstimate) -> Duration {
        let mxrtt = self.ewrtt.map_or(rtt.rto(), |ewrtt| ewrtt.scale(self.parameters.beta));
        mxrtt.max(self.least_mxrtt).min(rtt.max_rto())
    }

    fn expire(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let mxrtt = self.mxrtt(rtt);
        let expired: Vec<Transmission> =
            board.in_sending_order().take_while(|transmission| transmission.sent + mxrtt <= now).collect();
        let Some(latest) = expired.last() else { return Verdict::default() };
        expired.iter().for_each(|transmission| board.mark_lost(transmission.segment));
        let is_new = latest.sent >= self.reduced_at;
        if is_new && !self.answered {
            return self.begin_extreme(now, mxrtt, rtt);
        }
        if is_new {
            self.memorise(now, board.in_flight() + expired.len() as u32 - 1);
            self.lost = expired.len() as u32 - 1;
        } else {
            self.lost += expired.len() as u32;
        }
        if is_extreme(self.lost, self.memorised) {
            return self.begin_extreme(now, mxrtt, rtt);
        }
        Verdict::of(if is_new { Signal::NewLoss } else { Signal::None })
    }

    fn memorise(&mut self, now: Time, memorised: u32) {
        self.reduced_at = now;
        self.answered = false;
        (self.memorised, self.lost) = (memorised, 0);
    }

    fn begin_extreme(&mut self, now: Time, mxrtt: Duration, rtt: &RttEstimate) -> Verdict {
        let raised =
            if self.least_mxrtt > Duration::ZERO { mxrtt * 2 } else { mxrtt.max(self.parameters.extreme_mxrtt) };
        self.least_mxrtt = raised.min(rtt.max_rto());
        self.memorise(now, 0);
        self.memorised = u32::MAX; // one timeout for the list
        Verdict::of(Signal::Timeout)
    }
}

impl LossDetector for TcpPr {
    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        if delivered.count > 0 {
            self.answered = true;
            self.least_mxrtt = Duration::ZERO;
            // Other segments that an ACK passes with a retransmission may have waited for it.
            if let Some(sample) = delivered.oldest_rtt().filter(|_| !delivered.any_retransmitted) {
                let ewrtt = self.ewrtt.unwrap_or(sample);
                self.ewrtt = Some(decayed_rtt(ewrtt, sample, self.parameters.alpha, ack.prior_in_flight));
            }
        }
        self.expire(ack.now, board, rtt)
    }

    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
        board.oldest_in_flight().map(|oldest| oldest.sent + self.mxrtt(rtt))
    }

    fn on_deadline(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        self.expire(now, board, rtt)
    }

    fn needs_sending_order(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::DetectionSpec;
    use super::super::script::{Driver, ms, transfer};
    use super::*;

    fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn driver() -> Driver {
        Driver::of(&DetectionSpec::TcpPr(Parameters::default()), true)
    }

    /// A flow whose ewrtt is 100 ms at 100 ms, all acknowledged.
    fn acquainted() -> Driver {
        let mut driver = driver();
        driver.send_new();
        driver.now = ms(100);
        driver.acknowledge(1, &[]);
        driver
    }

    /// After a round trip, 0.995 of ewrtt remains for any window: here ten ACKs of a window of ten.
    #[test]
    fn ewrtt_falls_by_alpha_a_round_trip_and_rises_at_once() {
        let after = (0..10).fold(millis(200), |ewrtt, _| decayed_rtt(ewrtt, millis(50), 0.995, 10));
        assert!((after.as_secs() - 0.199).abs() < 1e-9, "{after}");
        assert_eq!(decayed_rtt(millis(100), millis(180), 0.995, 10), millis(180));
    }

    #[test]
    fn more_than_half_of_the_memorised_is_extreme() {
        assert_eq!(
            [(0, 0), (1, 2), (2, 3), (5, 9), (5, 10)].map(|(lost, of)| is_extreme(lost, of)),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn a_segment_is_lost_at_three_times_the_greatest_rtt_whatever_is_sacked() {
        let mut driver = acquainted();
        (0..10).for_each(|_| driver.send_new());
        driver.now = ms(200);
        driver.acknowledge(1, &[(2, 11)]);
        assert_eq!(driver.decisions, []);
        driver.pass_until(ms(500));
        let [decision] = &driver.decisions[..] else { panic!("{:?}", driver.decisions) };
        assert_eq!((decision.at, &decision.lost[..]), (ms(400), &[1][..])); // 100 + 3 * 100
        assert_eq!(decision.verdict, Verdict::of(Signal::NewLoss));
    }

    #[test]
    fn persistent_reordering_is_no_loss() {
        let mut driver = driver();
        let two_paths = |segment: u32, _| Some(millis(60 + 110 * u64::from(segment % 2)));
        transfer(&mut driver, 500, 40, two_paths, 5_000);
        assert_eq!(driver.decisions, []);
    }

    /// Twenty segments are sent, one per 2 ms. Four are lost and the others delivered. The first loss reduces the window and memorises three
    /// segments. The second of these makes more than half of them lost. The last one waits for the longer mxrtt.
    #[test]
    fn a_burst_of_more_than_half_of_the_memorised_is_as_bad_as_a_timeout() {
        let mut driver = acquainted();
        for index in 0..20 {
            driver.pass_until(ms(100 + 2 * index));
            driver.send_new();
        }
        driver.now = ms(200); // the RTT of segment 1 is 100 ms
        driver.acknowledge(6, &[(10, 21)]);
        driver.pass_until(ms(1200));
        let signals: Vec<Signal> = driver.decisions.iter().map(|decision| decision.verdict.signal).collect();
        assert_eq!(driver.decisions[0].at, ms(410)); // sent at 110
        assert_eq!(
            driver.decisions.iter().flat_map(|decision| decision.lost.clone()).collect::<Vec<_>>(),
            [6, 7, 8, 9]
        );
        assert_eq!(signals, [Signal::NewLoss, Signal::None, Signal::Timeout, Signal::None]);
        assert_eq!(driver.decisions[3].at, ms(1116));
    }

    #[test]
    fn the_loss_of_few_of_the_memorised_reduces_once() {
        let mut driver = acquainted();
        for index in 0..20 {
            driver.pass_until(ms(100 + 2 * index));
            driver.send_new();
        }
        driver.now = ms(200);
        driver.acknowledge(6, &[(10, 21)]);
        (0..10).for_each(|_| driver.send_new());
        driver.pass_until(ms(430));
        let signals: Vec<Signal> = driver.decisions.iter().map(|decision| decision.verdict.signal).collect();
        assert_eq!(signals, [Signal::NewLoss, Signal::None, Signal::None, Signal::None]);
    }

    /// Everything is lost: a second at least, and then twice as long each time.
    #[test]
    fn a_dead_path_is_asked_after_a_second_and_then_ever_later() {
        let mut driver = acquainted();
        driver.send_new();
        let mut expiries = Vec::new();
        for _ in 0..5 {
            driver.serve(driver.deadline().expect("in flight"));
            expiries.push((driver.now, driver.decisions.last().expect("a decision").verdict.signal));
            driver.retransmit();
        }
        let expected =
            [(400, Signal::NewLoss), (700, Signal::Timeout), (1700, Signal::Timeout), (3700, Signal::Timeout)];
        assert_eq!(expiries[..4], expected.map(|(at, signal)| (ms(at), signal)));
        assert_eq!(expiries[4].0, ms(7700));
        driver.now = ms(7800);
        driver.acknowledge(2, &[]);
        driver.send_new();
        assert_eq!(driver.deadline(), Some(ms(8100)));
    }

    #[test]
    fn before_a_sample_mxrtt_is_the_retransmission_timeout() {
        let mut driver = driver();
        driver.send_new();
        assert_eq!(driver.deadline(), Some(ms(1000)));
    }
}
