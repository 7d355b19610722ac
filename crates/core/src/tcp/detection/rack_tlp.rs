//! RACK-TLP, RFC 8985: recent acknowledgement and tail loss probe.
//!
//! A transmission is lost when one sent after it was delivered and it is older than that one's RTT and a reordering window.
//! This holds for retransmissions too. When ACKs stop, a probe asks for one before the retransmission timer expires.
//!
//! Made for SACK; without it only the cumulative acknowledgement teaches it. A lost retransmission claims
//! [`Signal::Loss`] again, which the sender counts to the episode that it belongs to.

use super::{DetectorContext, LossDetector, Signal, Verdict, timer};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};
use crate::units::{Duration, Time};

crate::parameters! {
    /// What RFC 8985 leaves to choose.
    pub struct Parameters {
        /// SACKed segments that end the wait for reordered ones, while none was ever seen (DupThresh, section 6.2 step 4: 3).
        pub threshold: u32 = 3, in 1..=1_000_000;
        /// The longest delay of an ACK that the probe of a lone segment allows for (TLP.max_ack_delay, section 7.2).
        pub max_ack_delay: Duration = Duration::from_millis(200);
        /// How long a minimum RTT counts (section 6.2 step 1 leaves the window open; Linux: 300 s).
        pub min_rtt_window: Duration = Duration::from_secs(300);
    }
}

/// Recoveries without a DSACK after which the reordering window shrinks back (RACK.reo_wnd_persist, section 6.2 step 4).
const PERSIST: u32 = 16;

/// The reordering window (section 6.2 step 4): `multiplier` quarters of the minimum RTT, at most SRTT.
pub fn reordering_window(multiplier: u32, min_rtt: Duration, srtt: Duration) -> Duration {
    Duration((min_rtt.0 / 4).saturating_mul(u64::from(multiplier))).min(srtt)
}

/// The wait before a probe (PTO, section 7.2), without its bound by the retransmission timer.
pub fn probe_timeout(srtt: Duration, flight: u32, max_ack_delay: Duration) -> Duration {
    srtt * 2 + if flight == 1 { max_ack_delay } else { Duration::ZERO }
}

/// The least RTT of the last window; of up to half a window more, so that two values suffice.
#[derive(Debug, Clone)]
struct MinimumRtt {
    half_window: Duration,
    began: Time,
    current: Duration,
    previous: Duration,
}

impl MinimumRtt {
    fn new(window: Duration) -> MinimumRtt {
        let never = Duration(u64::MAX);
        MinimumRtt { half_window: window / 2, began: Time::ZERO, current: never, previous: never }
    }

    fn sample(&mut self, now: Time, rtt: Duration) {
        let age = now - self.began;
        if age < self.half_window {
            self.current = self.current.min(rtt);
        } else {
            self.previous = if age < self.half_window * 2 { self.current } else { rtt };
            (self.began, self.current) = (now, rtt);
        }
    }

    fn get(&self) -> Option<Duration> {
        let least = self.current.min(self.previous);
        (least.0 < u64::MAX).then_some(least)
    }
}

/// A loss probe that is not answered yet.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// The next segment to send before the probe was sent: new data if the probe is new data.
    next: u32,
    /// Whether it was a retransmission (TLP.is_retrans); unknown until the sender has sent it and an ACK came.
    retransmission: Option<bool>,
}

impl Probe {
    /// TLP.end_seq, one past the probe's segment.
    fn end(&self) -> u32 {
        if self.retransmission == Some(true) { self.next } else { self.next + 1 }
    }

    /// Finds out what the sender chose. It retransmits the highest segment, `next - 1`, only if it has no new data at once;
    /// new data that follows later is told apart by that segment, which is marked as sent again.
    fn recognise(&mut self, board: &Scoreboard) {
        self.retransmission.get_or_insert_with(|| {
            let highest = self.next - 1;
            board.next() == self.next
                || if highest < board.una() {
                    board.last_delivered().any_retransmitted
                } else {
                    board.was_retransmitted(highest)
                }
        });
    }
}

/// The detector's state; the names of the RFC's variables in section 5.3.
#[derive(Debug, Clone)]
pub struct RackTlp {
    parameters: Parameters,
    /// RACK.segment by RACK.xmit_ts and number: of all delivered, the transmission sent last.
    newest: Option<(Time, u32)>,
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.min_RTT.
    min_rtt: MinimumRtt,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.dsack_round: until this is acknowledged, a DSACK widens the window no further.
    dsack_round: Option<u32>,
    /// RACK.reo_wnd_mult.
    multiplier: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// When the transmissions that may be only reordered count as lost.
    reordering_timer: Option<Time>,
    /// Whether the sender is in recovery, as far as this detector knows.
    recovering: bool,
    probe: Option<Probe>,
    /// RTT samples when the last probe was sent; the next one needs a newer (section 7.3).
    samples_at_probe: u32,
}

impl RackTlp {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, _flow: DetectorContext) -> RackTlp {
        RackTlp {
            parameters,
            newest: None,
            rtt: Duration::ZERO,
            min_rtt: MinimumRtt::new(parameters.min_rtt_window),
            reordering_seen: false,
            dsack_round: None,
            multiplier: 1,
            persist: PERSIST,
            reordering_timer: None,
            recovering: false,
            probe: None,
            samples_at_probe: 0,
        }
    }

    /// Steps 1 to 3 of section 6.2. Of the segments that one ACK delivers, the one sent last speaks for all; if it is a
    /// retransmission that was answered too soon, its original was delivered, and the last one sent only once speaks.
    fn update(&mut self, now: Time, delivered: &Delivered) {
        if let Some(rtt) = delivered.newest_rtt {
            self.min_rtt.sample(now, rtt);
        }
        self.reordering_seen |= delivered.reordered;
        let too_soon = |sent: Time| self.min_rtt.get().is_some_and(|least| now - sent < least);
        let newest = match delivered.newest {
            Some((sent, _)) if delivered.newest_retransmitted && too_soon(sent) => {
                delivered.newest_rtt.zip(delivered.highest_original).map(|(rtt, segment)| (now - rtt, segment))
            }
            newest => newest,
        };
        if let Some((sent, _)) = newest {
            self.rtt = now - sent;
            self.newest = self.newest.max(newest);
        }
    }

    /// Step 4 of section 6.2, but the DSACK, which `on_spurious` reports.
    fn window(&self, board: &Scoreboard, rtt: &RttEstimate) -> Duration {
        if !self.reordering_seen && (self.recovering || board.sacked() >= self.parameters.threshold) {
            return Duration::ZERO;
        }
        let srtt = rtt.smoothed().unwrap_or(Duration::ZERO);
        reordering_window(self.multiplier, self.min_rtt.get().unwrap_or(Duration::ZERO), srtt)
    }

    /// Step 5 of section 6.2: marks what is lost, and sets the timer for what may be. Whether any was lost.
    fn detect(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> bool {
        self.reordering_timer = None;
        let Some(newest) = self.newest else { return false };
        let wait = self.rtt + self.window(board, rtt);
        let mut lost = Vec::new();
        for transmission in board.in_sending_order() {
            if (transmission.sent, transmission.segment) >= newest {
                break;
            }
            if transmission.sent + wait <= now {
                lost.push(transmission.segment);
            } else {
                self.reordering_timer = Some(transmission.sent + wait); // the latest: later ones follow
            }
        }
        for segment in &lost {
            board.mark_lost(*segment);
        }
        !lost.is_empty()
    }

    /// Section 6.3: the retransmission timer takes the first segment for lost, and others that had their time.
    fn expire(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let wait = self.rtt + self.window(board, rtt);
        let late: Vec<u32> = board
            .in_sending_order()
            .take_while(|transmission| transmission.sent + wait <= now)
            .map(|transmission| transmission.segment)
            .collect();
        board.mark_lost(board.una());
        for segment in late {
            board.mark_lost(segment);
        }
        self.begin_recovery();
        self.reordering_timer = None;
        Verdict::of(Signal::Timeout)
    }

    fn begin_recovery(&mut self) {
        self.recovering = true;
        self.probe = None;
    }

    fn follow_recovery(&mut self, in_recovery: bool) {
        if self.recovering && !in_recovery {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
        self.recovering = in_recovery;
    }

    /// Section 7.4.2: an answer to the probe. Whether the probe repaired a loss.
    fn answer(&mut self, ack: &AckEvent, board: &Scoreboard) -> bool {
        let Some(probe) = &mut self.probe else { return false };
        probe.recognise(board);
        let probe = *probe;
        if board.una() < probe.end() {
            return false;
        }
        let repaired = probe.retransmission == Some(true) && board.una() > probe.end();
        let duplicate = !ack.advanced && board.sacked() == 0; // both copies arrived, and the receiver has no DSACK
        if probe.retransmission == Some(false) || repaired || duplicate {
            self.probe = None;
        }
        repaired
    }

    /// When to probe, if at all (sections 7.2, 7.3).
    fn probe_deadline(&self, board: &Scoreboard, rtt: &RttEstimate, expiry: Time) -> Option<Time> {
        let excluded = self.recovering || board.sacked() > 0 || board.lost() > 0 || self.probe.is_some();
        if excluded || rtt.samples() <= self.samples_at_probe {
            return None;
        }
        let timeout = probe_timeout(rtt.smoothed()?, board.outstanding(), self.parameters.max_ack_delay);
        Some((board.latest_sent().max(board.timer_start()) + timeout).min(expiry))
    }
}

impl LossDetector for RackTlp {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        self.update(ack.now, board.last_delivered());
        if self.recovering || ack.in_recovery {
            self.follow_recovery(ack.in_recovery);
        }
        let repaired = self.probe.is_some() && self.answer(ack, board);
        if self.detect(ack.now, board, rtt) {
            self.begin_recovery();
            return Verdict::of(Signal::Loss);
        }
        Verdict::of(if repaired { Signal::Loss } else { Signal::None })
    }

    #[inline]
    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
        let expiry = timer::deadline(board, rtt)?;
        let earlier = self.reordering_timer.or_else(|| self.probe_deadline(board, rtt, expiry));
        Some(earlier.map_or(expiry, |earlier| earlier.min(expiry)))
    }

    fn on_deadline(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let Some(expiry) = timer::deadline(board, rtt) else { return Verdict::default() };
        if self.reordering_timer.is_some_and(|at| at <= now) {
            if !self.detect(now, board, rtt) {
                return Verdict::default();
            }
            self.begin_recovery();
            return Verdict::of(Signal::Loss);
        }
        if self.reordering_timer.is_none() && self.probe_deadline(board, rtt, expiry).is_some_and(|at| at <= now) {
            self.probe = Some(Probe { next: board.next(), retransmission: None });
            self.samples_at_probe = rtt.samples();
            board.restart_timer(now); // section 7.3: the retransmission timer is the last resort
            return Verdict { signal: Signal::None, probe: true };
        }
        if expiry <= now { self.expire(now, board, rtt) } else { Verdict::default() }
    }

    fn on_spurious(&mut self, _now: Time, board: &Scoreboard) {
        if self.dsack_round.is_none_or(|round| board.una() >= round) {
            self.dsack_round = Some(board.next());
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSIST;
        }
        if self.probe.is_some_and(|probe| probe.retransmission != Some(false) && board.una() >= probe.next) {
            self.probe = None; // section 7.4.2: both copies of the probed segment arrived
        }
    }
}
