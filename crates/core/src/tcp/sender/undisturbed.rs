//! A sender that nothing disturbs, and the ACKs that come to it.

use super::{Limit, OrdinaryAcks, Phase, Sender};
use crate::tcp::events::AckEvent;
use crate::tcp::scoreboard::Delivered;
use crate::units::Time;

/// A sender in which nothing is lost, sacked or was sent again, and which has nothing to do but to let out new segments. So it
/// stays while every ACK passes just the next segment and no timer fires: each is shorter than [`Sender::on_ack`] and
/// [`Sender::poll_burst`], and to the same effect.
pub struct Undisturbed<'sender, const LEARNS: bool> {
    sender: &'sender mut Sender,
    event: AckEvent,
    /// After the last ACK, not the window was the limit.
    is_unfilled: bool,
}

impl Sender {
    /// Whether it takes ACKs, and lets out segments, without more ado: once connected, and neither paced nor looked at segment by segment.
    #[inline(always)]
    pub fn takes_bursts(&self) -> bool {
        self.options.bursts && !self.is_opening()
    }

    /// Whether its detector learns from the ACKs of an undisturbed flow, and nobody else does.
    #[inline(always)]
    pub fn detector_learns(&self) -> bool {
        self.options.ordinary_acks == OrdinaryAcks::Learnt
    }

    /// `None` if the sender is disturbed, if this ACK does not pass just the next segment, or if its detector does otherwise.
    #[inline(always)]
    pub fn undisturbed<const LEARNS: bool>(&mut self, cumulative: u32) -> Option<Undisturbed<'_, LEARNS>> {
        let ordinary_acks = if LEARNS { OrdinaryAcks::Learnt } else { OrdinaryAcks::Unjudged };
        let is_undisturbed = self.options.ordinary_acks == ordinary_acks
            && self.phase == Phase::Open
            && self.board.is_undisturbed()
            && self.board.una() >= self.undo_until
            && cumulative == self.board.una() + 1
            && self.board.outstanding() > 0
            && !self.probe
            && !self.retransmit_now
            && self.withheld == 0;
        self.unanswered_timeout &= !is_undisturbed;
        is_undisturbed.then_some(Undisturbed { sender: self, event: AckEvent::ORDINARY, is_unfilled: false })
    }

    /// The detector learns from an ordinary ACK. Whether the sender is undisturbed by what it says.
    #[inline(never)]
    fn learn(&mut self, event: &mut AckEvent, sent: Time, until: Time) -> bool {
        let AckEvent { now, round_start, .. } = *event;
        let rests = self.detector.take_ordinary_ack(now, sent, round_start, &self.board, &self.rtt);
        if rests.is_some() {
            self.grow(event);
        } else {
            self.judge(*event, &Delivered::one_original(self.board.una() - 1, sent, now), false);
        }
        rests.is_some_and(|rests| rests >= until)
    }

    #[inline(always)]
    fn grow(&mut self, event: &mut AckEvent) {
        event.growth = u32::from(self.is_window_limited(event.prior_in_flight));
        self.congestion.on_ack(event, &self.rtt);
    }
}

impl<const LEARNS: bool> Undisturbed<'_, LEARNS> {
    /// The next ACK comes. Whether the sender is undisturbed still, and no timer but that for retransmissions can be due before
    /// this instant; else it must be asked for all that it has to say.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, until: Time) -> bool {
        let (sender, event) = (&mut *self.sender, &mut self.event);
        let Some(sent) = sender.board.pass_first(now) else { return false };
        let outstanding = sender.board.outstanding();
        sender.note_ordinary(event, now, sent, outstanding);
        if LEARNS {
            return sender.learn(event, sent, until);
        }
        sender.grow(event);
        true
    }

    /// How many segments are to be sent now.
    #[inline(always)]
    pub fn to_send(&mut self) -> u32 {
        let sender = &mut *self.sender;
        let by_window = sender.congestion.window().saturating_sub(sender.board.outstanding());
        let by_data = sender.new_within_receive_window();
        self.is_unfilled = by_window > by_data;
        if self.is_unfilled {
            by_data
        } else {
            sender.limit = Limit::Window;
            by_window
        }
    }

    /// Sends the next segment. Returns it, and the number of its transmission.
    #[inline(always)]
    pub fn send(&mut self, now: Time) -> (u32, u32) {
        let segment = self.sender.board.next();
        (segment, self.sender.board.send_new(now))
    }

    /// All that is to be sent now is sent.
    #[inline(always)]
    pub fn stop(&mut self) {
        if self.is_unfilled {
            self.sender.stop_unfilled();
        }
    }
}
