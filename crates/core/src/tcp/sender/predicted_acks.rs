//! The short path of [predicted ACKs](crate::tcp::detection::shortcuts).

use super::limits::LimitedBy;
use super::options::Prediction;
use super::{Episode, Limit, Phase, Sender};
use crate::tcp::events::AckEvent;
use crate::units::Time;

/// A sender whose next ACKs are predicted: nothing is lost, sacked or retransmitted, and it only sends new segments. Its methods are
/// [`Sender::on_ack`] and [`Sender::poll_burst`] with fewer checks. They are valid until another kind of ACK arrives or a timer fires.
pub struct PredictedAcks<'sender, const LEARNS: bool> {
    sender: &'sender mut Sender,
    event: AckEvent,
    /// The limit after the last ACK was not the window.
    is_unfilled: bool,
}

impl Sender {
    /// Whether the sender can process bursts: it is connected, and pacing, a rate sampler or ECN do not need each segment.
    #[inline(always)]
    pub fn takes_bursts(&self) -> bool {
        self.options.bursts && !self.is_opening()
    }

    /// Whether predicted ACKs concern the detector, and no rate sampler.
    #[inline(always)]
    pub fn detector_learns(&self) -> bool {
        self.options.prediction == Prediction::Detected
    }

    /// The short path for this ACK and those after it; `None` if the ACK is not predicted, or if `LEARNS` differs from
    /// [`Self::detector_learns`].
    #[inline(always)]
    pub fn predict_acks<const LEARNS: bool>(&mut self, cumulative: u32) -> Option<PredictedAcks<'_, LEARNS>> {
        let prediction = if LEARNS { Prediction::Detected } else { Prediction::Growth };
        let is_predicted = self.options.prediction == prediction
            && self.phase == Phase::Open
            && self.board.has_only_originals()
            && self.board.una() >= self.undo_until
            && cumulative == self.board.una() + 1
            && self.board.outstanding() > 0
            && !self.probe
            && !self.retransmit_now
            && self.withheld == 0
            && self.board.next() != self.closing;
        self.unanswered_timeout &= !is_predicted;
        is_predicted.then_some(PredictedAcks { sender: self, event: AckEvent::PREDICTED, is_unfilled: false })
    }

    /// Gives a predicted ACK to the detector. Returns whether the detector lost nothing and has no deadline before `until`.
    #[inline(never)]
    fn learn(&mut self, event: &mut AckEvent, sent: Time, until: Time) -> bool {
        let AckEvent { now, round_start, .. } = *event;
        let quiet_until = self.detector.on_predicted_ack(now, sent, round_start, &self.board, &self.rtt);
        if quiet_until.is_some() {
            self.grow(event);
        } else {
            self.judge(*event, &self.predicted_delivery(sent, now), Episode::Open);
        }
        quiet_until.is_some_and(|instant| instant >= until)
    }

    #[inline(always)]
    fn grow(&mut self, event: &mut AckEvent) {
        event.growth = u32::from(self.is_window_limited(event.prior_in_flight));
        self.congestion.on_ack(event, &self.rtt);
    }
}

impl<const LEARNS: bool> PredictedAcks<'_, LEARNS> {
    /// Processes the next predicted ACK. Returns whether the fast path stays valid, without a deadline of the detector before `until`. If
    /// not, the caller must ask the sender for its segments and its deadline.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, until: Time) -> bool {
        let (sender, event) = (&mut *self.sender, &mut self.event);
        let Some(sent) = sender.board.pass_first(now) else { return false };
        let outstanding = sender.board.outstanding();
        sender.describe_predicted(event, now, sent, outstanding);
        if LEARNS {
            return sender.learn(event, sent, until);
        }
        sender.grow(event);
        true
    }

    /// Number of segments to send now.
    #[inline(always)]
    pub fn to_send(&mut self) -> u32 {
        let sender = &mut *self.sender;
        let by_window = sender.congestion.window().saturating_sub(sender.board.outstanding());
        let by_data = sender.new_within_receive_window();
        self.is_unfilled = by_window > by_data;
        let count = if self.is_unfilled {
            sender.leave_window();
            by_data
        } else {
            sender.limit = Limit::Window;
            (by_window + sender.beyond_window(by_window)).min(by_data)
        };
        let limit = if count < by_data { LimitedBy::CongestionWindow } else { sender.limit_of_data() };
        sender.limits.enter(limit, self.event.now);
        count
    }

    /// Sends the next segment. Returns the segment, the number of its transmission, and whether PSH marks it.
    #[inline(always)]
    pub fn send(&mut self, now: Time) -> (u32, u32, bool) {
        let segment = self.sender.board.next();
        (segment, self.sender.board.send_new(now), self.sender.is_pushed(segment))
    }

    /// Ends the sending after an ACK.
    #[inline(always)]
    pub fn stop(&mut self) {
        if self.is_unfilled {
            self.sender.stop_unfilled();
        }
    }
}
