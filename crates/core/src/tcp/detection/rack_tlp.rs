//! RACK-TLP, RFC 8985: recent acknowledgement and tail loss probe.
//!
//! A transmission is lost when one sent after it was delivered and it is older than that one's RTT and a reordering window. This
//! holds for retransmissions too. When ACKs stop, a probe causes one before the retransmission timer expires.
//!
//! Made for SACK; without it only the cumulative acknowledgement teaches it. A lost retransmission claims
//! [`Signal::Loss`] again, which the sender counts to the episode that it belongs to.

mod linux;

use super::shortcuts::DetectorShortcuts;
use super::{DetectorContext, EpisodeEnd, LossDetector, Signal, Verdict, timer};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};
use crate::units::{Duration, Time};
use linux::LinuxRack;

crate::parameters! {
    /// The choices that RFC 8985 leaves.
    pub struct Parameters {
        /// SACKed segments that end the wait for reordered ones, while none was ever seen (DupThresh, section 6.2 step 4: 3).
        pub threshold: u32 = 3, in 1..=1_000_000;
        /// The longest delay of an ACK that the probe of a lone segment allows for (TLP.max_ack_delay, section 7.2).
        pub max_ack_delay: Duration = Duration::from_millis(200);
        /// Whether RACK.rtt is that of the highest segment that an ACK delivers, as in Linux, and not of the last one sent. A stack with
        /// `follows = "linux"` has it so in any case.
        pub rtt_by_sequence: bool = false;
        /// Whether to probe for lost tails (TLP, section 7).
        pub probe: bool = true;
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

/// Least time until a probe, or an expiry of the retransmission timer, after either was started, once there is an RTT sample.
fn least_timeout(srtt: Duration, rtt: &RttEstimate) -> Duration {
    probe_timeout(srtt, 0, Duration::ZERO).min(rtt.least_rto())
}

/// Earliest instant of a probe or an expiry.
fn earliest_deadline(board: &Scoreboard, rtt: &RttEstimate) -> Time {
    board.timer_start() + least_timeout(rtt.smoothed().unwrap_or(Duration::ZERO), rtt)
}

/// The least RTT of the last window; of up to half a window more, so that two values suffice.
#[derive(Debug, Clone)]
struct MinimumRtt {
    half_window: Duration,
    /// When the current half began; `None` before the first sample.
    began: Option<Time>,
    current: Duration,
    previous: Duration,
}

impl MinimumRtt {
    fn new(window: Duration) -> MinimumRtt {
        let never = Duration(u64::MAX);
        MinimumRtt { half_window: window / 2, began: None, current: never, previous: never }
    }

    fn sample(&mut self, now: Time, rtt: Duration) {
        let age = now - *self.began.get_or_insert(now);
        if age < self.half_window {
            self.current = self.current.min(rtt);
        } else {
            self.previous = if age < self.half_window * 2 { self.current } else { rtt };
            (self.began, self.current) = (Some(now), rtt);
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
    /// Whether the probe was a retransmission (TLP.is_retrans); unknown until the sender has sent it and an ACK has arrived.
    retransmission: Option<bool>,
}

impl Probe {
    /// TLP.end_seq, one past the probe's segment.
    fn end(&self) -> u32 {
        if self.retransmission == Some(true) { self.next } else { self.next + 1 }
    }

    /// Recognises the sender's choice. It retransmits the highest segment, `next - 1`, only if it has no new data at once. If new
    /// data follows later, that segment is marked as sent again.
    fn recognise(&mut self, delivered: &Delivered, board: &Scoreboard) {
        self.retransmission.get_or_insert_with(|| {
            let highest = self.next - 1;
            board.next() == self.next
                || if highest < board.una() { delivered.any_retransmitted } else { board.was_retransmitted(highest) }
        });
    }
}

/// The detector's state; the names of the RFC's variables in section 5.3.
#[derive(Debug, Clone)]
pub struct RackTlp {
    parameters: Parameters,
    /// RACK.segment by RACK.xmit_ts and number: of all delivered, the transmission sent last.
    newest: (Time, u32),
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
    /// Time at which transmissions that may only be reordered count as lost.
    reordering_timer: Option<Time>,
    /// Whether the sender is in recovery, as far as this detector knows.
    recovering: bool,
    probe: Option<Probe>,
    /// RTT samples when the last probe was sent; the next one needs a newer (section 7.3).
    samples_at_probe: u32,
    linux: Option<LinuxRack>,
}

impl RackTlp {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: DetectorContext) -> RackTlp {
        RackTlp {
            parameters,
            newest: (Time::ZERO, 0),
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
            linux: LinuxRack::of(flow),
        }
    }

    /// Steps 1 to 3 of section 6.2. The delivered segment that was sent last represents an ACK. If that is a retransmission
    /// answered too soon, its original was delivered; then the last original represents the ACK.
    fn update(&mut self, now: Time, delivered: &Delivered) {
        if let Some(rtt) = delivered.newest_rtt() {
            self.min_rtt.sample(now, rtt);
        }
        self.reordering_seen |= delivered.reordered;
        let too_soon = |sent: Time| self.min_rtt.get().is_some_and(|least| now - sent < least);
        let newest = match delivered.newest() {
            Some((sent, _)) if delivered.newest_retransmitted && too_soon(sent) => {
                delivered.newest_rtt().zip(delivered.highest_original()).map(|(rtt, segment)| (now - rtt, segment))
            }
            newest => newest,
        };
        if self.linux.is_some() {
            return self.take_evidence(now, delivered);
        }
        if let Some(newest) = newest {
            let (sent, segment) = newest;
            let by_sequence = self.parameters.rtt_by_sequence && delivered.highest_original() > Some(segment);
            self.rtt = delivered.newest_rtt().filter(|_| by_sequence).unwrap_or(now - sent);
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

    /// Step 5 of section 6.2: marks lost segments, and sets the timer for segments that may be lost. Whether any was lost.
    fn detect(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> bool {
        self.reordering_timer = None;
        let newest = self.newest;
        if board.oldest_in_flight().is_none_or(|oldest| (oldest.sent, oldest.segment) >= newest) {
            return false;
        }
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
        if let Some(clock) = rtt.clock() {
            self.reordering_timer = self.reordering_timer.map(|at| linux::expiry(clock, now, at - now));
        }
        !lost.is_empty()
    }

    /// Section 6.3: when the retransmission timer expires, marks the first segment, and all others whose time has passed.
    fn expire(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let wait = self.rtt + if self.linux.is_some() { Duration::ZERO } else { self.window(board, rtt) };
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
        if self.recovering && !in_recovery && self.linux.is_none() {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
        self.recovering = in_recovery;
    }

    /// Section 7.4.2: an answer to the probe. Whether the probe repaired a loss.
    fn answer(&mut self, ack: &AckEvent, delivered: &Delivered, board: &Scoreboard) -> bool {
        let Some(probe) = &mut self.probe else { return false };
        probe.recognise(delivered, board);
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
        let excluded =
            !self.parameters.probe || self.recovering || board.sacked() > 0 || board.lost() > 0 || self.probe.is_some();
        if excluded || rtt.samples() <= self.samples_at_probe {
            return None;
        }
        let timeout = probe_timeout(rtt.smoothed()?, board.outstanding(), self.parameters.max_ack_delay);
        let start = board.latest_sent().max(board.timer_start());
        let due = match rtt.clock() {
            None => start + timeout,
            Some(_) if board.again_in_flight() > 0 => return None, // as if out of order (`tcp_try_keep_open`)
            Some(clock) if board.outstanding() > 1 => linux::expiry(clock, start, timeout),
            Some(clock) => clock.expiry(start, timeout),
        };
        Some(due.min(expiry))
    }
}

impl LossDetector for RackTlp {
    fn on_handshake(&mut self, now: Time, round_trip: Duration) {
        self.min_rtt.sample(now, round_trip);
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        if self.linux.is_some()
            && let Some(rtt) = ack.rtt
        {
            self.min_rtt.sample(ack.now, rtt); // maybe by an echoed timestamp (`tcp_update_rtt_min`)
        }
        self.update(ack.now, delivered);
        if self.recovering || ack.in_recovery {
            self.follow_recovery(ack.in_recovery);
        }
        let repaired = self.probe.is_some() && self.answer(ack, delivered, board);
        let looks = self.linux.as_mut().is_none_or(LinuxRack::take_look);
        if looks && self.detect(ack.now, board, rtt) {
            self.begin_recovery();
            return Verdict::of(Signal::Loss);
        }
        Verdict::of(if repaired { Signal::Loss } else { Signal::None })
    }

    #[inline]
    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
        let expiry = timer::deadline(board, rtt)?;
        if self.linux.is_some() && self.reordering_timer.is_some() {
            return self.reordering_timer; // one timer, for whatever comes first
        }
        let earlier = self.reordering_timer.or_else(|| self.probe_deadline(board, rtt, expiry));
        Some(earlier.map_or(expiry, |earlier| earlier.min(expiry)))
    }

    fn on_deadline(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        let Some(expiry) = timer::deadline(board, rtt) else { return Verdict::default() };
        if self.reordering_timer.is_some_and(|at| at <= now) {
            if !self.detect(now, board, rtt) {
                return Verdict::default();
            }
            if expiry <= now {
                board.restart_timer(now); // what this timer found is not left to the last resort in the same instant
            }
            self.begin_recovery();
            return Verdict::of(Signal::Loss);
        }
        if self.reordering_timer.is_none() && self.probe_deadline(board, rtt, expiry).is_some_and(|at| at <= now) {
            self.probe = Some(Probe { next: board.next(), retransmission: None });
            self.samples_at_probe = rtt.samples();
            board.restart_timer(now); // section 7.3: the retransmission timer is the last resort
            return Verdict { probe: true, ..Verdict::default() };
        }
        if expiry <= now { self.expire(now, board, rtt) } else { Verdict::default() }
    }

    fn on_spurious(&mut self, _now: Time, segment: u32, board: &Scoreboard) {
        if let Some(linux) = &mut self.linux {
            let answers_probe =
                self.probe.is_some_and(|probe| probe.retransmission != Some(false) && segment + 1 == probe.next);
            linux.on_duplicate(self.reordering_seen && !answers_probe);
        } else if self.dsack_round.is_none_or(|round| board.una() >= round) {
            self.dsack_round = Some(board.next());
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSIST;
        }
        if self.probe.is_some_and(|probe| probe.retransmission != Some(false) && board.una() >= probe.next) {
            self.probe = None; // section 7.4.2: both copies of the probed segment arrived
        }
    }

    fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    fn on_episode_end(&mut self, end: EpisodeEnd) {
        match end {
            EpisodeEnd::Repaired => self.persist = self.persist.saturating_sub(1),
            EpisodeEnd::Duplicates => self.persist = (self.persist + 1).min(PERSIST),
            EpisodeEnd::Spurious => {}
        }
        if let Some(linux) = &mut self.linux {
            linux.on_episode_end(end);
        }
    }

    fn needs_sending_order(&self) -> bool {
        true
    }
}

impl DetectorShortcuts for RackTlp {
    /// Fast path: all segments in flight were sent in order. If the passed segment was sent last of all delivered ones, none was
    /// overtaken.
    fn on_predicted_ack(
        &mut self,
        now: Time,
        sent: Time,
        _round_start: bool,
        board: &Scoreboard,
        rtt: &RttEstimate,
    ) -> Option<Time> {
        let newest = (sent, board.una() - 1);
        let has_news = self.linux.is_some_and(|linux| linux.has_news() || self.persist == 0 && self.multiplier > 1);
        if self.recovering || self.probe.is_some() || newest < self.newest || has_news {
            return None;
        }
        self.newest = newest;
        self.rtt = now - sent;
        self.min_rtt.sample(now, self.rtt);
        self.reordering_timer = None;
        Some(earliest_deadline(board, rtt))
    }

    fn quiet_until(&self, instant: Time, board: &Scoreboard, rtt: &RttEstimate) -> bool {
        self.reordering_timer.is_none() && rtt.samples() > 0 && earliest_deadline(board, rtt) >= instant
    }
}

#[cfg(test)]
mod tests;
