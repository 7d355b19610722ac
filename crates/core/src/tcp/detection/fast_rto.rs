//! FastRTO, MPRC's loss detection (Chang 2024, chapter 4): time alone, no duplicate ACKs.
//!
//! A segment is lost when the age of its last transmission exceeds FastRTO, whatever was delivered around it. So any number of
//! segments may overtake it, as long as its RTT stays below FastRTO.
//!
//! The source has equations but no values. The defaults come from the experiment in docs/models/fast-rto.md. These are our other
//! choices:
//! - K "varies with RTT diversity": it grows with the number of deviations between SRTT and the longest recent RTT.
//! - Before the first sample, the retransmission timeout of RFC 6298 stands in for FastRTO.
//! - Every ACK that delivers segments gives one sample to SRTT and RTTVAR, because paths alternate from segment to segment. It is
//!   the longest RTT among its segments. If it delivers a retransmission as well, the others may have waited for it, and the
//!   sample is the shortest RTT.
//! - A segment that expired although it was only late gives its RTT as well, as with timestamps (RFC 7323). The sign is an ACK
//!   sooner after the retransmission than any RTT, or a DSACK. Otherwise a path that once seems too slow would never be measured
//!   again, because its segments would all be retransmitted first.
//! - A segment that expires a third time was lost twice although the window had shrunk. It reduces the window once more, unless
//!   nothing at all is delivered (RFC 5681 section 4.3 does so at the second loss). The thesis, read strictly, ignores it. Then a
//!   flow whose window just fills all queues can repeat a repair for ever.
//! - While nothing at all is delivered, a segment that expires again doubles the timeout of later transmissions, up to the
//!   greatest RTO. Otherwise a dead path would be flooded.
//! - It never claims a timeout.
//!
//! A receiver that delays its ACKs adds its timer to the RTT of a lone segment; use it with immediate ACKs.

use super::shortcuts::DetectorShortcuts;
use super::{DetectorContext, LossDetector, Signal, Verdict};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard, Transmission};
use crate::units::{Duration, Time, nearest_whole, nearest_whole_plus};
use std::collections::VecDeque;

crate::choice! {
    /// Effect on the window of a segment that was sent before the last reduction and expires repeatedly.
    pub enum RepeatedExpiry {
        /// Nothing, however often (thesis, chapter 4, read strictly).
        Ignored = "ignored",
        /// The second expiry does nothing; the third and each further one reduces the window.
        ThirdReduces = "third-reduces",
    }
}

crate::parameters! {
    /// The constants of equations 4.1 to 4.3. The source gives none but the bound of 500 ms; the defaults come from an
    /// experiment (docs/models/fast-rto.md).
    pub struct Parameters {
        /// How far RTTmin may rise per round trip, and the least distance of the timeout from it (gamma > 1, equations 4.1, 4.2).
        pub gamma: f64 = 2.0, in 1.000_001..=100.0;
        /// Weight of the old SRTT against a sample (alpha; RFC 6298: 7/8, here less, to follow the paths).
        pub srtt_factor: f64 = 0.85, in 0.0..=1.0;
        /// Weight of the old RTTVAR against a sample (beta; RFC 6298: 3/4, here less, to follow the paths).
        pub rttvar_factor: f64 = 0.7, in 0.0..=1.0;
        /// Deviations between SRTT and the timeout (K of equation 4.2; RFC 6298: 4).
        pub k: f64 = 4.0, in 0.0..=1000.0;
        /// What K gains by RTT diversity: times the deviations between SRTT and the longest RTT of late (K of equation 4.2,
        /// which "varies with RTT diversity").
        pub k_diversity: f64 = 1.5, in 0.0..=1000.0;
        /// Greatest FastRTO (RTOmax, equation 4.3). Must exceed every path's RTT, or each segment there expires.
        pub max_rto: Duration = Duration::from_millis(500);
        /// Effect of a segment that expires repeatedly. The third expiry and each further one reduces the window once more, or
        /// all are ignored. The latter is the strict reading of the thesis; then flows can stall.
        pub repeated_expiry: RepeatedExpiry = RepeatedExpiry::ThirdReduces;
    }
}

/// Equation 4.1: RTTmin after a round trip in which `rtt` was measured.
pub fn least_rtt(least: Duration, rtt: Duration, gamma: f64) -> Duration {
    least.scale(gamma).min(rtt)
}

/// The longest RTT of late, after a round trip in which `rtt` was the longest: equation 4.1 turned over.
pub fn longest_rtt(longest: Duration, rtt: Duration, gamma: f64) -> Duration {
    longest.scale(1.0 / gamma).max(rtt)
}

/// RTT diversity: the deviations between SRTT and the longest RTT of late. Paths of one RTT have none; of n that differ
/// equally seldom, one that is slower than all others lies n / 2 deviations away.
pub fn diversity(longest: Duration, srtt: Duration, rttvar: Duration) -> f64 {
    let above = longest.0.saturating_sub(srtt.0);
    if above == 0 { 0.0 } else { above as f64 / rttvar.0.max(1) as f64 }
}

/// Equation 4.2: RTOest.
pub fn estimated_rto(least: Duration, srtt: Duration, rttvar: Duration, gamma: f64, k: f64) -> Duration {
    least.scale(gamma).max(srtt + rttvar.scale(k))
}

/// Equation 4.3: FastRTO.
pub fn fast_rto(estimated: Duration, max_rto: Duration) -> Duration {
    estimated.min(max_rto)
}

/// An exponential filter: the value of `smoothed` after a sample, with weight `factor` for the old value. All in whole picoseconds.
#[inline]
pub fn smooth(smoothed: f64, sample: f64, factor: f64) -> f64 {
    nearest_whole_plus(smoothed * factor, nearest_whole(sample * (1.0 - factor)))
}

/// The signal for losses (thesis, chapter 4): the window shrinks once per window of data. So only segments count that were first
/// sent after the last reduction, when `reduced_at` was the next segment to send.
pub fn signal_of(lost: impl IntoIterator<Item = u32>, reduced_at: u32) -> Signal {
    if lost.into_iter().any(|segment| segment >= reduced_at) { Signal::NewLoss } else { Signal::None }
}

#[derive(Debug, Clone, Copy)]
struct Estimate {
    least: Duration,
    longest: Duration,
    /// Whole picoseconds, as for rttvar: both are multiplied for every sample, and read seldom.
    srtt: f64,
    rttvar: f64,
}

impl Estimate {
    /// First estimate (RFC 6298 section 2.2).
    fn first(rtt: Duration, least: Duration) -> Estimate {
        Estimate { least, longest: rtt, srtt: rtt.0 as f64, rttvar: (rtt / 2).0 as f64 }
    }

    #[inline]
    fn sample(&mut self, rtt: Duration, parameters: &Parameters) {
        self.longest = self.longest.max(rtt);
        let rtt = rtt.0 as i64 as f64;
        self.rttvar = smooth(self.rttvar, (self.srtt - rtt).abs(), parameters.rttvar_factor);
        self.srtt = smooth(self.srtt, rtt, parameters.srtt_factor);
    }

    fn srtt(&self) -> Duration {
        Duration(self.srtt as u64)
    }

    fn rttvar(&self) -> Duration {
        Duration(self.rttvar as u64)
    }

    /// Equations 4.2 and 4.3.
    fn timeout(&self, parameters: &Parameters) -> Duration {
        let Parameters { gamma, k, k_diversity, max_rto, .. } = *parameters;
        let (srtt, rttvar) = (self.srtt(), self.rttvar());
        let k = k + k_diversity * diversity(self.longest, srtt, rttvar);
        fast_rto(estimated_rto(self.least, srtt, rttvar, gamma, k), max_rto)
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

/// A segment that expired.
#[derive(Debug, Clone, Copy)]
struct Expired {
    segment: u32,
    /// When it was sent first.
    sent: Time,
    /// How often it expired.
    times: u32,
}

/// The detector's state.
#[derive(Debug, Clone)]
pub struct FastRto {
    parameters: Parameters,
    estimate: Option<Estimate>,
    /// Lower bound of FastRTO for any deviation: FastRTO is computed only when a segment is older than this.
    least_timeout: Duration,
    /// A round trip began whose RTT is not known yet.
    round_began: bool,
    /// The next segment to send at the last reduction.
    reduced_at: u32,
    /// When the last reduction was.
    reduced: Time,
    silence: Option<Silence>,
    /// Segments that expired, in ascending order, until they are cumulatively acknowledged.
    expired: VecDeque<Expired>,
    /// The last time from a first transmission to the delivery of its segment that may have been its RTT.
    candidate: Option<Duration>,
}

impl FastRto {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, _flow: DetectorContext) -> FastRto {
        FastRto {
            parameters,
            estimate: None,
            least_timeout: Duration::ZERO,
            round_began: false,
            reduced_at: 0,
            reduced: Time::ZERO,
            silence: None,
            expired: VecDeque::new(),
            candidate: None,
        }
    }

    /// FastRTO now, without backoff.
    pub fn timeout(&self, rtt: &RttEstimate) -> Duration {
        self.estimate.map_or_else(|| rtt.rto(), |estimate| estimate.timeout(&self.parameters))
    }

    fn expiry(&self, transmission: Transmission, timeout: Duration, max_rto: Duration) -> Time {
        let doublings = self.silence.map_or(0, |silence| {
            if transmission.sent >= silence.since { silence.doublings } else { silence.doublings.saturating_sub(1) }
        });
        let backed_off = Duration(timeout.0.saturating_mul(1 << doublings)).min(max_rto.max(timeout));
        transmission.sent + backed_off
    }

    fn measure(&mut self, delivered: &Delivered) {
        let (Some(longest), Some(shortest)) = (delivered.oldest_rtt(), delivered.newest_rtt()) else { return };
        let sample = if delivered.any_retransmitted { shortest } else { longest };
        match &mut self.estimate {
            None => self.estimate = Some(Estimate::first(sample, shortest)),
            Some(estimate) => {
                estimate.sample(sample, &self.parameters);
                if !self.round_began {
                    return;
                }
                estimate.least = least_rtt(estimate.least, shortest, self.parameters.gamma);
                estimate.longest = longest_rtt(estimate.longest, sample, self.parameters.gamma);
            }
        }
        self.end_round();
    }

    #[inline(never)]
    fn end_round(&mut self) {
        self.round_began = false;
        if let Some(estimate) = &self.estimate {
            self.least_timeout = fast_rto(estimate.least.scale(self.parameters.gamma), self.parameters.max_rto);
        }
    }

    /// Measures a segment that was delivered after it expired, if that was its first transmission.
    fn measure_expired(&mut self, now: Time, delivered: &Delivered, board: &Scoreboard, rtt: &RttEstimate) {
        if let Some((again, segment)) = delivered.newest().filter(|_| delivered.newest_retransmitted)
            && let Some(expired) = self.expired(segment)
        {
            self.candidate = Some(now - expired.sent);
            if rtt.minimum().is_some_and(|least| now - again < least) {
                self.take_candidate();
            }
        }
        while self.expired.front().is_some_and(|expired| expired.segment < board.una()) {
            self.expired.pop_front();
        }
    }

    fn expired(&mut self, segment: u32) -> Option<&mut Expired> {
        let index = self.expired.binary_search_by_key(&segment, |expired| expired.segment).ok()?;
        self.expired.get_mut(index)
    }

    fn take_candidate(&mut self) {
        if let Some((estimate, rtt)) = self.estimate.as_mut().zip(self.candidate.take()) {
            estimate.sample(rtt, &self.parameters);
        }
    }

    #[inline]
    fn expire(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        match board.oldest_in_flight() {
            Some(oldest) if oldest.sent + self.least_timeout <= now => self.expire_oldest(now, board, rtt),
            _ => Verdict::default(),
        }
    }

    #[inline(never)]
    fn expire_oldest(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let timeout = self.timeout(rtt);
        let expired: Vec<Transmission> = board
            .in_sending_order()
            .take_while(|transmission| self.expiry(*transmission, timeout, rtt.max_rto()) <= now)
            .collect();
        let Some(latest) = expired.last() else { return Verdict::default() };
        let mut was_lost_thrice = false;
        for Transmission { segment, sent } in &expired {
            if !board.was_retransmitted(*segment) {
                let first = Expired { segment: *segment, sent: *sent, times: 1 };
                match self.expired.binary_search_by_key(segment, |expired| expired.segment) {
                    Ok(index) => self.expired[index] = first, // an undo had unmarked it
                    Err(index) => self.expired.insert(index, first),
                }
            } else if let Some(expired) = self.expired(*segment) {
                expired.times += 1;
                let is_third = expired.times >= 3;
                was_lost_thrice |= is_third && *sent >= self.reduced;
            }
            board.mark_lost(*segment);
        }
        let is_unanswered = self.count_silence(now, latest.sent);
        let reduces_again = self.parameters.repeated_expiry == RepeatedExpiry::ThirdReduces;
        let signal = signal_of(expired.iter().map(|transmission| transmission.segment), self.reduced_at);
        if signal == Signal::NewLoss || reduces_again && was_lost_thrice && !is_unanswered {
            (self.reduced_at, self.reduced) = (board.next(), now);
            return Verdict::of(Signal::NewLoss);
        }
        if is_unanswered && board.in_flight() == 0 {
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
    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        self.round_began |= ack.round_start;
        if delivered.count > 0 {
            self.silence = None;
            self.measure(delivered);
            if !self.expired.is_empty() {
                self.measure_expired(ack.now, delivered, board, rtt);
            }
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

    fn on_spurious(&mut self, _now: Time, _segment: u32, _board: &Scoreboard) {
        self.take_candidate();
    }

    fn needs_sending_order(&self) -> bool {
        true
    }
}

impl DetectorShortcuts for FastRto {
    fn on_predicted_ack(
        &mut self,
        now: Time,
        sent: Time,
        round_start: bool,
        board: &Scoreboard,
        _rtt: &RttEstimate,
    ) -> Option<Time> {
        let ends_round = self.round_began || round_start;
        let quiet_until = board.first_in_order()? + self.least_timeout;
        match &mut self.estimate {
            Some(estimate) if !ends_round && self.expired.is_empty() && quiet_until > now => {
                estimate.sample(now - sent, &self.parameters);
                self.silence = None;
                Some(quiet_until)
            }
            _ => None,
        }
    }

    #[inline]
    fn quiet_until(&self, instant: Time, board: &Scoreboard, _rtt: &RttEstimate) -> bool {
        board.oldest_in_flight().is_some_and(|oldest| oldest.sent + self.least_timeout >= instant)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Driver, ms, transfer};
    use super::super::{DetectionSpec, dup_ack};
    use super::*;
    use proptest::prelude::*;

    fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// The parameters of the worked numbers below.
    const WORKED: Parameters = Parameters {
        gamma: 1.5,
        srtt_factor: 0.8,
        rttvar_factor: 0.7,
        k: 4.0,
        k_diversity: 0.0,
        max_rto: Duration::from_millis(500),
        repeated_expiry: RepeatedExpiry::ThirdReduces,
    };

    fn driver() -> Driver {
        Driver::of(&DetectionSpec::FastRto(WORKED), true)
    }

    #[test]
    fn equation_4_1_rises_by_gamma_at_most_and_falls_at_once() {
        assert_eq!(least_rtt(millis(60), millis(180), 1.5), millis(90));
        assert_eq!(least_rtt(millis(90), millis(100), 1.5), millis(100));
        assert_eq!(least_rtt(millis(100), millis(60), 1.5), millis(60));
    }

    #[test]
    fn the_longest_rtt_rises_at_once_and_falls_by_gamma_at_most() {
        assert_eq!(longest_rtt(millis(90), millis(180), 1.5), millis(180));
        assert_eq!(longest_rtt(millis(180), millis(60), 1.5), millis(120));
        assert_eq!(longest_rtt(millis(180), millis(150), 1.5), millis(150));
    }

    /// An undo unmarks three segments that have expired. Their first transmissions expire once more, and are stored once.
    #[test]
    fn what_expires_again_after_an_undo_is_remembered_once() {
        let mut detector = FastRto::new(WORKED, DetectorContext { sack: true, evidence: false, paths: 2 });
        let mut board = Scoreboard::with_sending_order();
        let rtt = RttEstimate::new(millis(200), millis(60_000), millis(1000));
        for _ in 0..3 {
            board.send_new(ms(0));
        }
        for at in [1000, 1100] {
            detector.expire(ms(at), &mut board, &rtt);
            assert_eq!(board.lost(), 3);
            board.unmark_lost();
        }
        assert_eq!(detector.expired.iter().map(|expired| expired.segment).collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// Of n paths in turn, one has an RTT of 180 ms and the others of 60 ms: SRTT is 60 + 120 / n, the mean deviation 2 (n - 1) / n *
    /// 120 / n.
    #[test]
    fn diversity_is_half_the_number_of_paths_if_one_is_slow() {
        assert_eq!(diversity(millis(180), millis(120), millis(60)), 1.0);
        assert_eq!(diversity(millis(180), millis(90), millis(45)), 2.0);
        assert_eq!(diversity(millis(60), millis(60), Duration::ZERO), 0.0);
    }

    #[test]
    fn equations_4_2_and_4_3_take_the_deviation_the_floor_or_the_bound() {
        let estimate = |srtt, rttvar| estimated_rto(millis(60), millis(srtt), millis(rttvar), 1.5, 4.0);
        assert_eq!(estimate(70, 20), millis(150));
        assert_eq!(estimate(62, 1), millis(90));
        assert_eq!(fast_rto(estimate(300, 100), millis(500)), millis(500));
        assert_eq!(fast_rto(estimate(70, 20), millis(500)), millis(150));
    }

    #[test]
    fn a_filter_of_factor_seven_eighths_is_rfc6298s() {
        assert_eq!(smooth(100e9, 180e9, 0.875), 110e9);
        assert_eq!(smooth(50e9, 80e9, 0.75), 57.5e9);
    }

    #[test]
    fn thesis_only_segments_sent_after_the_last_reduction_reduce_again() {
        assert_eq!(signal_of([3, 9], 10), Signal::None);
        assert_eq!(signal_of([3, 10], 10), Signal::NewLoss);
    }

    /// Paths of 60 and 180 ms in turn, then only the short one. With K fixed, 60 + 2.67 * 120 = 380 ms falls below 180 ms after seven
    /// ACKs. Diversity adds 1.5 (180 - SRTT), which grows as SRTT falls.
    #[test]
    fn diversity_keeps_room_for_the_long_path_while_only_the_short_one_answers() {
        let timeout = |estimate: &Estimate, k_diversity: f64| {
            let Estimate { least, longest, .. } = *estimate;
            let (srtt, rttvar) = (estimate.srtt(), estimate.rttvar());
            let k = WORKED.k + k_diversity * diversity(longest, srtt, rttvar);
            estimated_rto(least, srtt, rttvar, WORKED.gamma, k).as_secs()
        };
        let mut estimate = Estimate::first(millis(60), millis(60));
        for sample in [180, 60].repeat(100) {
            estimate.sample(millis(sample), &WORKED);
        }
        assert!((timeout(&estimate, 0.0) - 0.380).abs() < 0.001, "{}", timeout(&estimate, 0.0));
        (1..8).for_each(|_| estimate.sample(millis(60), &WORKED));
        assert!(timeout(&estimate, 0.0) < 0.180, "{}", timeout(&estimate, 0.0));
        let added = timeout(&estimate, 1.5) - timeout(&estimate, 0.0);
        assert!((added - 1.5 * (0.180 - estimate.srtt().as_secs())).abs() < 1e-6, "{added}");
        assert!(timeout(&estimate, 1.5) > 0.300, "{}", timeout(&estimate, 1.5));
    }

    /// Ten segments at once, RTT 100 ms, the fourth lost: nine equal samples leave SRTT = 100 ms and
    /// RTTVAR = 50 ms * 0.7^8 = 2.88 ms, so that the floor rules, 1.5 * 100 ms.
    #[test]
    fn a_lost_segment_expires_after_fast_rto_whatever_is_delivered_above_it() {
        let mut driver = driver();
        transfer(&mut driver, 10, 10, |segment, nth| (segment != 3 || nth > 0).then_some(millis(100)), 100);
        let [decision] = &driver.decisions[..] else { panic!("{:?}", driver.decisions) };
        assert_eq!((decision.at, &decision.lost[..]), (ms(150), &[3][..]));
        assert_eq!(decision.verdict, Verdict::of(Signal::NewLoss));
    }

    /// Every second segment takes a path `longer` ms longer than 60 ms, overtaken by tens of segments.
    fn two_paths(longer: u64) -> impl Fn(u32, u32) -> Option<Duration> {
        move |segment, _| Some(millis(60 + longer * u64::from(segment % 2)))
    }

    #[test]
    fn reordering_within_the_floor_is_no_loss() {
        let mut fast_rto = driver();
        transfer(&mut fast_rto, 500, 40, two_paths(25), 5_000);
        assert_eq!(fast_rto.decisions, []);
        let mut dup_ack = Driver::of(&DetectionSpec::DupAck(dup_ack::Parameters::default()), true);
        transfer(&mut dup_ack, 500, 40, two_paths(25), 5_000);
        assert!(dup_ack.decisions.len() > 10, "{}", dup_ack.decisions.len());
    }

    /// In the first burst, all ACKs of the short path arrive first and hide the long path. The segments that expired too early must
    /// correct the estimate: by their early answer (100 ms), or by the DSACK (180 ms: after a retransmission could have been
    /// answered). For 180 ms the window is small, so that ACKs of the long path are frequent enough for the filter.
    #[test]
    fn a_path_longer_than_the_floor_is_learnt_from_spurious_expiries() {
        for (longer, window) in [(40, 40), (120, 6)] {
            let mut driver = driver();
            transfer(&mut driver, 2_000, window, two_paths(longer), 50_000);
            let end = driver.now;
            let late = driver.decisions.iter().filter(|decision| end - decision.at < (end - Time::ZERO) / 2).count();
            assert_eq!(late, 0, "of {} decisions with {longer} ms", driver.decisions.len());
        }
    }

    /// A lost retransmission expires again, FastRTO later. The second expiry reduces nothing, as the segment was first sent before the
    /// reduction; by default the third and the fourth do.
    #[test]
    fn a_lost_retransmission_is_found_and_reduces_from_the_third_expiry_on() {
        for (repeated_expiry, again) in
            [(RepeatedExpiry::Ignored, Signal::None), (RepeatedExpiry::ThirdReduces, Signal::NewLoss)]
        {
            let mut driver = Driver::of(&DetectionSpec::FastRto(Parameters { repeated_expiry, ..WORKED }), true);
            let fate = |segment, nth| (segment != 3 || nth > 3).then_some(millis(100));
            transfer(&mut driver, 100, 10, fate, 1_000);
            let signals: Vec<Signal> = driver.decisions.iter().map(|decision| decision.verdict.signal).collect();
            assert_eq!(signals, [Signal::NewLoss, Signal::None, again, again], "{repeated_expiry:?}");
            for pair in driver.decisions.windows(2) {
                assert_eq!(pair[1].lost, [3]);
                assert!(pair[1].at >= pair[0].at + millis(150));
            }
        }
    }

    /// Two segments of successive windows are lost three times each. The second one's last retransmission was sent before the
    /// reduction for the first one. So both cost one reduction at their first expiry and one at their third.
    #[test]
    fn retransmissions_sent_before_a_reduction_do_not_reduce_again() {
        let mut driver = driver();
        let fate = |segment, nth| (!matches!(segment, 3 | 11) || nth > 2).then_some(millis(100));
        transfer(&mut driver, 100, 10, fate, 1_000);
        let reductions = driver.decisions.iter().filter(|decision| decision.verdict.signal == Signal::NewLoss).count();
        assert_eq!((driver.decisions.len(), reductions), (6, 2), "{:?}", driver.decisions);
    }

    /// Segment 1 is sent at 100 ms, expires at 400 (100 + 4 * 50 later) and is delivered at 520. That is 120 ms after its
    /// retransmission and more than the least RTT, so the ACK may answer either copy. A DSACK shows that both arrived: the first took
    /// 420 ms. SRTT = 0.8 * 100 + 0.2 * 420 = 164, RTTVAR = 0.7 * 50 + 0.3 * 320 = 131, FastRTO = 164 + 4 * 131.
    #[test]
    fn a_dsack_gives_the_rtt_of_the_segment_that_expired() {
        for (with_dsack, fast_rto) in [(false, 300), (true, 688)] {
            let parameters = Parameters { max_rto: Duration::from_secs(10), ..WORKED };
            let mut driver = Driver::of(&DetectionSpec::FastRto(parameters), true);
            driver.send_new();
            driver.now = ms(100);
            driver.acknowledge(1, &[]);
            driver.send_new();
            driver.serve(ms(400));
            driver.retransmit();
            driver.now = ms(520);
            driver.acknowledge(2, &[]);
            if with_dsack {
                driver.detector.on_spurious(ms(600), 1, &driver.board);
            }
            driver.now = ms(600);
            driver.send_new();
            assert_eq!(driver.deadline(), Some(ms(600 + fast_rto)), "with DSACK: {with_dsack}");
        }
    }

    #[test]
    fn a_dead_path_gets_one_retransmission_per_doubled_timeout() {
        let mut driver = driver();
        driver.send_new();
        driver.now = ms(100);
        driver.acknowledge(1, &[]); // FastRTO = 100 + 4 * 50
        driver.send_new();
        let mut expiries = Vec::new();
        for _ in 0..5 {
            driver.serve(driver.deadline().expect("in flight"));
            expiries.push(driver.now);
            driver.retransmit();
        }
        assert_eq!(expiries, [400, 1000, 2200, 4600, 9400].map(ms)); // after 300, 600, 1200, 2400, 4800 ms
        assert_eq!(driver.decisions[0].verdict.signal, Signal::NewLoss);
        assert!(driver.decisions[1..].iter().all(|decision| decision.verdict.signal == Signal::Loss));
        driver.now = ms(9500);
        driver.acknowledge(2, &[]);
        driver.send_new();
        assert_eq!(driver.deadline(), Some(ms(9800)));
    }

    /// After a sample of 100 ms, segments sent at 100, 110 and 120 ms.
    fn three_in_flight() -> Driver {
        let mut driver = driver();
        driver.send_new();
        driver.now = ms(100);
        driver.acknowledge(1, &[]);
        for at in [100, 110, 120] {
            driver.now = ms(at);
            driver.send_new();
        }
        driver
    }

    #[test]
    fn a_window_lost_at_once_expires_at_one_age() {
        let mut driver = three_in_flight();
        driver.pass_until(ms(450));
        let expiries: Vec<Time> = driver.decisions.iter().map(|decision| decision.at).collect();
        assert_eq!(expiries, [400, 410, 420].map(ms));
    }

    #[test]
    fn before_a_sample_the_timeout_is_rfc6298s() {
        let mut driver = driver();
        driver.send_new();
        assert_eq!(driver.deadline(), Some(ms(1000)));
    }

    proptest! {
        /// No segment expires younger than FastRTO, and none in flight is older after an ACK or a deadline.
        #[test]
        fn nothing_expires_young(steps in prop::collection::vec((0u8..4, 0u32..20, 0u32..5, 0u64..100), 1..100)) {
            let flow = DetectorContext { sack: true, evidence: false, paths: 2 };
            let mut detector = FastRto::new(Parameters::default(), flow);
            let mut board = Scoreboard::with_sending_order();
            let rtt = RttEstimate::new(millis(200), Duration::from_secs(60), Duration::from_secs(1));
            let mut now = ms(0);
            for (action, position, length, pause) in steps {
                now += millis(pause);
                let una = board.una();
                let mut delivered = Delivered::default();
                match action {
                    0 => (0..length).for_each(|_| { board.send_new(now); }),
                    1 => delivered = board.acknowledge(una + length, &[], now),
                    2 => delivered = board.acknowledge(una, &[(una + position, una + position + length)], now),
                    _ => if let Some(lost) = board.next_lost() { board.retransmit(lost, now); },
                }
                if delivered.count > 0 {
                    detector.silence = None;
                    detector.measure(&delivered);
                }
                let before: Vec<Transmission> = board.in_sending_order().collect();
                let timeout = detector.timeout(&rtt);
                detector.expire(now, &mut board, &rtt);
                for transmission in before {
                    let expired = board.is_lost(transmission.segment);
                    prop_assert!(!expired || now - transmission.sent >= timeout);
                }
                prop_assert!(detector.deadline(&board, &rtt).is_none_or(|deadline| deadline > now));
            }
        }
    }

    /// Two segments go out at 100 ms; RTT 100 ms, so that FastRTO is no less than 150 ms.
    fn two_at_100() -> (FastRto, Scoreboard, RttEstimate) {
        let mut detector = FastRto::new(WORKED, DetectorContext { sack: true, evidence: false, paths: 1 });
        let mut board = Scoreboard::with_sending_order();
        board.send_new(ms(0));
        let delivered = board.acknowledge(1, &[], ms(100));
        detector.measure(&delivered);
        board.send_new(ms(100));
        board.send_new(ms(110));
        (detector, board, RttEstimate::new(millis(200), Duration::from_secs(60), Duration::from_secs(1)))
    }

    #[test]
    fn equation_4_2_nothing_expires_before_the_floor() {
        let (mut detector, mut board, rtt) = two_at_100();
        assert_eq!([250, 251].map(|at| detector.quiet_until(ms(at), &board, &rtt)), [true, false]);
        board.pass_one_original(2, ms(200)).expect("a predicted ACK");
        assert_eq!(detector.on_predicted_ack(ms(200), ms(100), false, &board, &rtt), Some(ms(260)));
        assert_eq!([260, 261].map(|at| detector.quiet_until(ms(at), &board, &rtt)), [true, false]);
        assert_eq!(detector.on_predicted_ack(ms(260), ms(100), false, &board, &rtt), None, "the next may have expired");
    }

    /// Equation 4.1 moves RTTmin once a round trip. K is zero and SRTT the last sample, so that gamma times RTTmin is the timeout.
    #[test]
    fn equation_4_1_counts_round_trips_and_not_acks() {
        let parameters = Parameters { k: 0.0, srtt_factor: 0.0, ..WORKED };
        let mut driver = Driver::of(&DetectionSpec::FastRto(parameters), true);
        let mut round = |rtts: &[u64]| {
            let (start, una) = (driver.now, driver.board.una());
            rtts.iter().for_each(|_| driver.send_new());
            for (index, rtt) in (1..).zip(rtts) {
                driver.now = start + millis(*rtt);
                driver.acknowledge(una + index, &[]);
            }
            driver.detector.deadline(
                &{
                    let mut board = Scoreboard::with_sending_order();
                    board.send_new(ms(0));
                    board
                },
                &driver.rtt,
            )
        };
        assert_eq!(round(&[60]), Some(ms(90)));
        assert_eq!(round(&[80]), Some(ms(120)), "1.5 * 60 ms allow 80");
        assert_eq!(round(&[85, 86]), Some(ms(128) - Duration::from_micros(500)), "of two, the first");
        assert_eq!(round(&[120]), Some(ms(180)), "1.5 * 85 ms allow 120");
    }

    /// Three segments on a dead path. Each is retransmitted when it expires. While another segment is in flight, a further expiry
    /// gives no information about the path.
    #[test]
    fn a_repeated_expiry_claims_a_loss_only_if_nothing_else_is_in_flight() {
        let mut driver = three_in_flight();
        while driver.decisions.len() < 6 {
            driver.serve(driver.deadline().expect("in flight"));
            driver.retransmit();
        }
        let signals: Vec<Signal> = driver.decisions.iter().map(|decision| decision.verdict.signal).collect();
        assert_eq!(signals, [Signal::NewLoss, Signal::None, Signal::None, Signal::None, Signal::None, Signal::None]);
    }

    #[test]
    fn an_expired_segment_is_remembered_until_it_is_acknowledged() {
        let (mut detector, mut board, rtt) = two_at_100();
        detector.expire(ms(500), &mut board, &rtt);
        assert_eq!(detector.expired.iter().map(|expired| expired.segment).collect::<Vec<_>>(), [1, 2]);
        board.retransmit(1, ms(500));
        board.retransmit(2, ms(500));
        for (cumulative, left) in [(2, 1), (3, 0)] {
            let delivered = board.acknowledge(cumulative, &[], ms(600));
            detector.measure_expired(ms(600), &delivered, &board, &rtt);
            assert_eq!(detector.expired.len(), left);
        }
    }
}
