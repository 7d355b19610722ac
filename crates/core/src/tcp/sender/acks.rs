//! Acknowledgements: the steps from the scoreboard to the congestion control.

use super::options::{Growth, Prediction};
use super::{Episode, Limit, Phase, Sender};
use crate::tcp::detection::{Signal, Verdict};
use crate::tcp::events::AckEvent;
use crate::tcp::kernel_clock::round_trip_by_timestamp;
use crate::tcp::receiver::Ack;
use crate::tcp::scoreboard::Delivered;
use crate::units::{Duration, Time};

impl Sender {
    /// Takes an ACK.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.on_ack_reporting(now, ack, None);
    }

    /// Processes an ACK, and writes the delivered segments to `report`. A predicted ACK without a rate sampler writes nothing.
    #[inline(always)]
    pub fn on_ack_reporting(&mut self, now: Time, ack: &Ack, report: Option<&mut Delivered>) {
        let is_cumulative_only = ack.sack.is_empty() && !ack.ecn_echo && ack.accecn.is_none();
        if is_cumulative_only && let Some(mut predicted) = self.predict_acks::<false>(ack.cumulative) {
            predicted.on_ack(now, now);
        } else if is_cumulative_only && let Some(mut predicted) = self.predict_acks::<true>(ack.cumulative) {
            predicted.on_ack(now, now);
        } else if is_cumulative_only && let Some(sent) = self.take_predicted(now, ack.cumulative) {
            self.judge_predicted(now, sent, report);
        } else {
            self.take_any_ack(now, ack, report);
        }
    }

    /// The short path of a predicted ACK if a rate sampler needs it as well. Returns when its segment was sent; `None` without
    /// any change if the ACK is not predicted.
    #[inline(always)]
    fn take_predicted(&mut self, now: Time, cumulative: u32) -> Option<Time> {
        let is_predicted = self.options.prediction == Prediction::Sampled
            && self.phase == Phase::Open
            && self.board.una() >= self.undo_until;
        if is_predicted { self.board.pass_one_original(cumulative, now) } else { None }
    }

    #[inline(never)]
    fn judge_predicted(&mut self, now: Time, sent: Time, report: Option<&mut Delivered>) {
        let delivered = self.predicted_delivery(sent, now);
        let mut event = AckEvent::PREDICTED;
        self.describe_predicted(&mut event, now, sent, self.board.in_flight());
        event.prior_in_flight += self.withheld;
        self.unanswered_timeout = false;
        self.judge(event, &delivered, Episode::Open);
        if let Some(report) = report {
            *report = delivered;
        }
    }

    /// Fills in the event of a predicted ACK, after the scoreboard: its segment was sent at `sent`.
    #[inline(always)]
    pub(super) fn describe_predicted(&mut self, event: &mut AckEvent, now: Time, sent: Time, in_flight: u32) {
        let rtt = now - sent;
        self.begin_event();
        self.rtt.sample(rtt);
        self.rtt.follow_rounds(self.board.una(), self.board.next());
        event.round_start = self.board.una() > self.round_end;
        if event.round_start {
            self.round_end = self.board.next();
        }
        event.now = now;
        event.rtt = Some(rtt);
        event.in_flight = in_flight;
        event.outstanding = in_flight;
        event.prior_in_flight = in_flight + 1;
    }

    #[inline(never)]
    fn take_any_ack(&mut self, now: Time, ack: &Ack, report: Option<&mut Delivered>) {
        let has_evidence = self.has_evidence();
        let prior_una = self.board.una();
        let is_old = has_evidence && ack.cumulative < prior_una;
        if is_old && self.is_too_old(ack) {
            self.answers |= self.objects_to(now, ack);
            return;
        }
        if has_evidence {
            self.set_doubt(now, ack);
        }
        let prior_in_flight = self.board.in_flight() + self.withheld;
        let first_sent = (self.board.outstanding() > 0).then(|| self.board.sent(prior_una));
        let episode = self.episode();
        let prior_timer_start = self.board.timer_start();
        let mut delivered = self.board.acknowledge(ack.cumulative, ack.sack.held(), now);
        self.board.doubt(None);
        let advanced = self.board.una() > prior_una;
        let duplicate = !advanced && ack.cumulative == prior_una && self.board.outstanding() > 0;
        if !self.options.sack {
            self.account_without_sack(advanced, duplicate, prior_timer_start, &mut delivered);
        }
        let round_start = delivered.newest().is_some_and(|(_, segment)| segment >= self.round_end);
        let rtt = if is_old { None } else { self.sample_rtt(now, advanced, first_sent, &delivered) };
        if advanced {
            self.unanswered_timeout = false;
        }
        if has_evidence {
            self.judge_episode(now, ack, prior_una, duplicate, &delivered);
        } else {
            self.take_reports(now, ack, prior_una, &delivered);
            if self.is_recovering() {
                self.show_connection(now);
                self.continue_recovery(advanced, duplicate, &delivered);
            }
        }
        if round_start {
            self.round_end = self.board.next();
        }
        let count = delivered.count + self.reported_duplicates();
        let marked = match ack.accecn {
            Some(feedback) => self.known_marks.take(feedback, count, self.options.payload),
            None => count * u32::from(ack.ecn_echo),
        };
        let event = AckEvent {
            now,
            delivered: count,
            cumulative: delivered.cumulative,
            growth: 0,
            may_grow: 0,
            advanced,
            duplicate,
            newly_lost: 0,
            prior_in_flight,
            in_flight: self.board.in_flight(),
            outstanding: self.board.outstanding(),
            rtt,
            rate: None,
            round_start,
            in_recovery: self.is_recovering(),
            ecn_echo: ack.ecn_echo || ack.accecn.is_some() && marked > 0,
            marked,
        };
        if is_old {
            self.detect_losses(event, &delivered); // only its blocks count (`tcp_ack`)
        } else {
            self.judge(event, &delivered, episode);
        }
        if let Some(report) = report {
            *report = delivered;
        }
    }

    /// Takes an RTT sample of an ACK, which came while the first outstanding segment was last sent at `first_sent`. Returns the RTT of the
    /// newest delivered segment that was sent only once, or else the RTT by the echoed timestamp.
    #[inline]
    fn sample_rtt(
        &mut self,
        now: Time,
        advanced: bool,
        first_sent: Option<Time>,
        delivered: &Delivered,
    ) -> Option<Duration> {
        // Without SACK, an ACK that fills a retransmitted hole delivers segments that had arrived long before.
        let is_clean = self.options.sack || !delivered.any_retransmitted;
        let by_segment = delivered.oldest_rtt().filter(|_| is_clean);
        let has_evidence = self.has_evidence();
        let echoed = if by_segment.is_none() && has_evidence && advanced { self.echoed() } else { None };
        let by_timestamp = echoed.map(|sent| round_trip_by_timestamp(sent, now));
        if let Some(sample) = by_segment.or(by_timestamp) {
            self.rtt.sample(sample);
            self.rtt.follow_rounds(self.board.una(), self.board.next());
            if has_evidence && !advanced && first_sent.is_some_and(|sent| now - sent < sample) {
                self.board.restart_timer(now); // the head was sent again after what has arrived now (`tcp_clean_rtx_queue`)
            }
        }
        delivered.newest_rtt().filter(|_| is_clean).or(by_timestamp)
    }

    /// Processes the reports of an ACK about spurious retransmissions.
    fn take_reports(&mut self, now: Time, ack: &Ack, prior_una: u32, delivered: &Delivered) {
        if let Some((segment, _)) = ack.sack.duplicate() {
            self.on_duplicate_report(now, segment);
        }
        if self.board.una() > prior_una && prior_una < self.undo_until {
            self.detect_spurious_by_echo(ack, delivered.any_retransmitted);
        }
    }

    /// Gives an ACK to the rate sampler, the detector, the congestion control and PRR, after the scoreboard. It came in this episode.
    #[inline(always)]
    pub(super) fn judge(&mut self, event: AckEvent, delivered: &Delivered, episode: Episode) {
        let AckEvent { now, prior_in_flight, .. } = event;
        let mut event = self.detect_losses(event, delivered);
        if event.ecn_echo {
            self.congestion.update(|control| control.on_echo(&event));
            self.on_ecn_echo(now, prior_in_flight);
        }
        event.in_flight = self.board.in_flight();
        event.in_recovery = self.is_recovering();
        event.may_grow = self.growth_by(&event, delivered, episode);
        event.growth = if event.may_grow > 0 && self.is_window_limited(prior_in_flight) { event.may_grow } else { 0 };
        if event.delivered > 0 || self.options.observed {
            self.congestion.on_ack(&event, &self.rtt);
            self.apply_min_rto();
        }
        let is_bold = !self.options.rules.safe_acks;
        if is_bold || event.delivered > 0 {
            let is_safe = event.advanced && event.newly_lost == 0; // SafeACK of RFC 9937 section 6.2
            self.reduce_proportionally(event.delivered, is_bold || is_safe);
        }
        let may_back_off = self.options.backs_off && self.phase == Phase::Open;
        if may_back_off && self.congestion.algorithm().backs_off() == Some(true) {
            self.reduce_without_loss(now, prior_in_flight);
        }
    }

    /// Gives an ACK to the rate sampler and the detector. Returns the event with what they find.
    #[inline(always)]
    fn detect_losses(&mut self, mut event: AckEvent, delivered: &Delivered) -> AckEvent {
        let AckEvent { now, prior_in_flight, .. } = event;
        if let Some(sampler) = &mut self.rate {
            event.rate = sampler.on_ack(now, event.delivered, delivered, self.board.una(), self.rtt.minimum());
        }
        let (marked_before, again_before) = (self.board.marked_lost(), self.board.again_in_flight());
        let verdict = if self.waits_for_late_originals() {
            Verdict::default()
        } else {
            self.detector.on_ack(&event, delivered, &mut self.board, &self.rtt)
        };
        event.newly_lost = self.board.marked_lost().wrapping_sub(marked_before);
        if self.has_evidence() && self.board.again_in_flight() < again_before {
            self.note_lost_again();
        }
        self.show_connection(now);
        let verdict = if self.must_recover_again() { Verdict { signal: Signal::Loss, ..verdict } } else { verdict };
        if verdict != Verdict::default() || event.newly_lost > 0 {
            self.apply(now, verdict, prior_in_flight, event.newly_lost);
        }
        self.withhold(verdict.withheld);
        event
    }

    /// Segments by which an ACK that came in this episode may grow the window.
    #[inline(always)]
    fn growth_by(&self, event: &AckEvent, delivered: &Delivered, episode: Episode) -> u32 {
        let was_in_fast_recovery = matches!(episode, Episode::Reduction | Episode::Recovery);
        let growth = self.options.rules.growth;
        let may_grow = (!was_in_fast_recovery || growth == Growth::Reported)
            && !matches!(self.phase, Phase::Fast { .. })
            // RFC 3168 section 6.1.2: an echo of congestion does not open the window.
            && (!event.ecn_echo || self.options.grows_beside_marks);
        if !may_grow {
            return 0;
        }
        // RFC 5681 section 3.1: growth counts the segments that the cumulative acknowledgement passes. So duplicate ACKs do
        // not open the window (RFC 3042 section 2). The ACK that ends fast recovery passes segments that were delivered before.
        match growth {
            Growth::Passed if episode != Episode::Timeout => delivered.cumulative,
            Growth::Passed | Growth::OnePerAck => delivered.cumulative.min(1),
            Growth::Reported => self.newly_reported(event.advanced, delivered),
        }
    }

    /// Updates the window of PRR in fast recovery, after an ACK that delivers this number of segments.
    #[inline(always)]
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, slow_start: bool) {
        if !self.owns_recovery
            && let Phase::Fast { prr, .. } = &mut self.phase
        {
            let window = self.congestion.window();
            let (in_flight, transmissions) = (self.board.in_flight(), self.board.next_transmission());
            prr.on_ack(in_flight, transmissions, window, delivered, slow_start);
        }
    }

    fn account_without_sack(
        &mut self,
        advanced: bool,
        duplicate: bool,
        prior_timer_start: Time,
        delivered: &mut Delivered,
    ) {
        if duplicate {
            // After a timeout all segments count as lost, though most of those sent again had arrived. Their duplicates must
            // neither open the window nor make room in it (RFC 5681 section 3.1, RFC 6582 section 3.2).
            let of_new_data = match self.phase {
                Phase::Opening { .. } | Phase::Open => self.board.una() > self.recover || self.recover == 0,
                Phase::Fast { .. } => true,
                Phase::Timeout { .. } => false,
            };
            if of_new_data {
                self.board.count_duplicate();
                delivered.count = 1;
            }
        } else if advanced {
            delivered.count -= self.board.eat_duplicates(delivered.cumulative);
            match &mut self.phase {
                Phase::Open => self.board.reset_duplicates(),
                Phase::Fast { until, partial, .. }
                    if self.board.una() < *until && !self.options.ends_recovery_at_partial_ack =>
                {
                    self.retransmit_now = true; // the next hole, whatever PRR allows
                    if std::mem::replace(partial, true) && self.options.rules.restarts_timer_once {
                        self.board.restart_timer(prior_timer_start);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the window was the limit, and not the application (RFC 7661). In slow start, twice the flight is allowed, so that
    /// a paced sender can double.
    pub(super) fn is_window_limited(&self, prior_in_flight: u32) -> bool {
        if self.limit != Limit::Other {
            return true;
        }
        let cwnd = self.congestion.cwnd();
        let used = prior_in_flight.max(self.max_outstanding());
        cwnd < self.congestion.ssthresh() && cwnd < 2.0 * f64::from(used)
    }
}
