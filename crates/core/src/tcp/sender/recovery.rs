//! Recovery: episodes after a loss, a timeout or a congestion mark, and their undo.

use super::{ForwardRto, Phase, Sender};
use crate::spec::SpuriousResponse;
use crate::tcp::detection::{Signal, Verdict};
use crate::tcp::events::{CongestionEvent, CongestionKind};
use crate::tcp::prr::ProportionalRateReduction;
use crate::tcp::receiver::Ack;
use crate::tcp::scoreboard::Delivered;
use crate::units::Time;

impl Sender {
    #[inline]
    pub(super) fn apply(&mut self, now: Time, verdict: Verdict, prior_in_flight: u32, newly_lost: u32) {
        self.probe |= verdict.probe;
        if newly_lost > 0
            && let Some(sampler) = &mut self.rate
        {
            sampler.on_lost(newly_lost);
        }
        match verdict.signal {
            Signal::None => {}
            Signal::Loss if self.is_recovering() => self.lose_again(now, prior_in_flight),
            Signal::Loss | Signal::NewLoss if self.has_nothing_to_repair() => {
                self.reduce_once(now, prior_in_flight);
            }
            Signal::Loss | Signal::NewLoss => self.enter_recovery(now, prior_in_flight),
            Signal::Timeout => self.enter_timeout(now, prior_in_flight),
        }
    }

    /// Reduces the window once after a probe has repaired a loss (RFC 8985 section 7.4.2). There is nothing to recover
    /// (`tcp_process_tlp_ack`).
    fn reduce_once(&mut self, now: Time, prior_in_flight: u32) {
        self.recoveries += 1;
        let event = CongestionEvent { now, kind: CongestionKind::Loss, prior_in_flight };
        self.congestion.update(|control| {
            control.on_congestion(&event, &self.rtt);
            control.on_recovered();
        });
        self.announce_reduction();
    }

    pub(super) fn enter_recovery(&mut self, now: Time, prior_in_flight: u32) {
        self.recoveries += 1;
        let window = self.congestion.window();
        let event = CongestionEvent { now, kind: CongestionKind::Loss, prior_in_flight };
        self.congestion.update(|control| control.on_congestion(&event, &self.rtt));
        self.announce_reduction();
        self.allow_undo();
        if self.board.outstanding() == 0 {
            self.congestion.update(|control| control.on_recovered()); // a probe had repaired the loss: there is nothing to recover
            return;
        }
        self.phase = self.reduction(self.reduces_from(window, prior_in_flight), false);
    }

    /// Fast recovery, which begins after a loss or a congestion mark, from `prior` segments in flight or of the window.
    fn reduction(&self, prior: u32, marked: bool) -> Phase {
        let transmissions = self.board.next_transmission();
        let mut prr = ProportionalRateReduction::new(prior, transmissions);
        prr.on_ack(self.board.in_flight(), transmissions, self.congestion.window(), 0, !marked);
        Phase::Fast { until: self.board.next(), prr, partial: false, marked }
    }

    fn enter_timeout(&mut self, now: Time, prior_in_flight: u32) {
        let was_unanswered = std::mem::replace(&mut self.unanswered_timeout, true);
        let (repeated, may_be_spurious) = self.judge_timeout(was_unanswered);
        self.timeouts += 1;
        self.doubt_reordering();
        if self.phase == Phase::Open {
            self.recoveries += 1;
        }
        let event = CongestionEvent { now, kind: CongestionKind::Timeout { repeated }, prior_in_flight };
        self.congestion.update(|control| control.on_congestion(&event, &self.rtt));
        self.announce_reduction();
        self.rtt.back_off();
        self.board.restart_timer(now);
        self.retransmit_now = true;
        let forward = if self.options.f_rto && may_be_spurious { ForwardRto::Retransmitted } else { ForwardRto::Off };
        self.phase = Phase::Timeout { until: self.board.next(), forward };
        if !repeated {
            self.allow_undo();
        }
    }

    fn allow_undo(&mut self) {
        if self.begin_revertible_episode(true) {
            return;
        }
        let may_undo = self.options.spurious != SpuriousResponse::None || self.options.f_rto;
        self.undo_until = if may_undo { self.board.next() } else { 0 };
        self.unreported_retransmits = 0;
    }

    pub(super) fn continue_recovery(&mut self, advanced: bool, duplicate: bool, delivered: &Delivered) {
        match self.phase {
            Phase::Opening { .. } | Phase::Open => {}
            Phase::Fast { until, .. } => {
                if self.board.una() >= until {
                    self.end_recovery(until);
                } else if advanced && self.options.ends_recovery_at_partial_ack {
                    self.end_recovery(0); // later duplicates reveal the window's next loss
                }
            }
            Phase::Timeout { until, forward } => {
                if self.board.una() >= until {
                    self.end_recovery(until);
                } else if forward != ForwardRto::Off {
                    self.continue_forward_rto(until, forward, advanced, duplicate, delivered);
                }
            }
        }
    }

    pub(super) fn end_recovery(&mut self, until: u32) {
        self.phase = Phase::Open;
        self.recover = until;
        self.board.reset_duplicates();
        self.release_memory();
        self.congestion.update(|control| control.on_recovered());
    }

    pub(super) fn continue_forward_rto(
        &mut self,
        until: u32,
        forward: ForwardRto,
        advanced: bool,
        duplicate: bool,
        delivered: &Delivered,
    ) {
        // Without SACK, other segments that a retransmission's ACK passes may have arrived before the timeout.
        let is_news = self.options.sack || !delivered.any_retransmitted;
        let original_arrived = is_news && delivered.lowest_original().is_some_and(|segment| segment < until);
        let forward = if original_arrived {
            return self.undo_timeout(); // RFC 5682 section 3.1 step 3.b: data sent before the timeout, and never since, arrived
        } else if forward == ForwardRto::ProbingNew {
            if duplicate || delivered.count > 0 {
                self.retransmit_now = true; // step 3.a: the loss was real, and the hole is sent whatever is in flight
                ForwardRto::Off
            } else {
                forward
            }
        } else if advanced {
            ForwardRto::ProbingNew // step 2.b
        } else if duplicate {
            ForwardRto::Off // step 2.a
        } else {
            forward
        };
        self.phase = Phase::Timeout { until, forward };
    }

    pub(super) fn on_duplicate_report(&mut self, now: Time, segment: u32) {
        self.detector.on_spurious(now, segment, &self.board);
        if self.options.spurious != SpuriousResponse::None
            && segment < self.undo_until
            && self.unreported_retransmits > 0
        {
            self.unreported_retransmits -= 1;
            if self.unreported_retransmits == 0 && self.board.lost() == 0 {
                self.undo(); // RFC 3708: every retransmission of the episode was unnecessary
            }
        }
    }

    /// RFC 3522: the first acknowledgement of a retransmitted segment echoes its original transmission.
    pub(super) fn detect_spurious_by_echo(&mut self, ack: &Ack, passed_retransmission: bool) {
        if self.options.spurious == SpuriousResponse::Eifel && passed_retransmission {
            if ack.echoes_retransmission {
                self.undo_until = 0; // the retransmission was needed
            } else {
                self.undo();
            }
        }
    }

    pub(super) fn undo(&mut self) {
        self.undone += 1;
        self.congestion.update(|control| control.undo());
        self.board.unmark_lost();
        self.detector.on_unmarked(&self.board);
        self.undo_until = 0;
        self.phase = Phase::Open;
    }

    pub(super) fn on_ecn_echo(&mut self, now: Time, prior_in_flight: u32) {
        if self.phase == Phase::Open && self.board.una() > self.ecn_until {
            self.reduce_without_loss(now, prior_in_flight);
        }
    }

    /// Reduces the window after a congestion mark, or at the request of the congestion control (`tcp_enter_cwr`).
    pub(super) fn reduce_without_loss(&mut self, now: Time, prior_in_flight: u32) {
        let window = self.congestion.window();
        let event = CongestionEvent { now, kind: CongestionKind::EcnEcho, prior_in_flight };
        self.congestion.update(|control| control.on_congestion(&event, &self.rtt));
        self.announce_reduction();
        if self.options.rules.spreads_reductions && self.board.outstanding() > 0 {
            self.phase = self.reduction(window, true);
        } else {
            self.congestion.update(|control| control.on_recovered()); // the whole reduction came at once
        }
    }

    /// RFC 3168 section 6.1.2: the window shrinks at most once per window of data, for any reason. The next new segment
    /// announces the reduction (CWR). Echoes of older marks arrive until that segment is acknowledged.
    fn announce_reduction(&mut self) {
        if self.options.ecn {
            self.ecn_until = self.board.next();
            self.window_reduced = self.options.answers_marks;
        }
    }
}
