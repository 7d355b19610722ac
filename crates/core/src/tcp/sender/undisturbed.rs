//! A sender that nothing disturbs, and the ACKs that come to it one behind the other.

use super::{Limit, Phase, Sender};
use crate::tcp::events::AckEvent;
use crate::units::Time;

/// A sender whose next ACKs are ordinary as long as each passes one more segment: nothing is lost, sacked or was sent again,
/// and none of what a burst must look at can change before another kind of ACK, or a timer.
pub struct Undisturbed<'sender> {
    sender: &'sender mut Sender,
    event: AckEvent,
    is_unfilled: bool,
}

impl Sender {
    /// `None` if the sender is disturbed, or if this ACK does not pass just the next segment.
    #[inline(always)]
    pub fn undisturbed(&mut self, cumulative: u32) -> Option<Undisturbed<'_>> {
        let is_undisturbed = self.options.runs
            && self.phase == Phase::Open
            && self.board.is_undisturbed()
            && self.board.una() >= self.undo_until
            && cumulative == self.board.una() + 1
            && self.board.outstanding() > 0
            && !self.probe
            && !self.retransmit_now
            && self.withheld == 0;
        if !is_undisturbed {
            return None;
        }
        self.unanswered_timeout = false;
        let event = AckEvent {
            now: Time::ZERO,
            delivered: 1,
            growth: 0,
            advanced: true,
            duplicate: false,
            newly_lost: 0,
            prior_in_flight: 0,
            in_flight: 0,
            rtt: None,
            rate: None,
            round_start: false,
            in_recovery: false,
            ecn_echo: false,
        };
        Some(Undisturbed { sender: self, event, is_unfilled: false })
    }
}

impl Undisturbed<'_> {
    /// The next ACK comes. Returns how many segments may be sent then.
    #[inline(always)]
    pub fn take_ack(&mut self, now: Time) -> u32 {
        let (sender, event) = (&mut *self.sender, &mut self.event);
        let Some(sent) = sender.board.pass_undisturbed(now) else { return 0 };
        let rtt = now - sent;
        sender.rtt.sample(rtt);
        let outstanding = sender.board.outstanding();
        let una = sender.board.una();
        event.round_start = una > sender.round_end;
        if event.round_start {
            sender.round_end = sender.board.next();
        }
        event.now = now;
        event.rtt = Some(rtt);
        event.in_flight = outstanding;
        event.prior_in_flight = outstanding + 1;
        event.growth = u32::from(sender.is_window_limited(outstanding + 1));
        sender.congestion.on_ack(event, &sender.rtt);
        let by_window = sender.congestion.window().saturating_sub(outstanding);
        let by_data = sender.receive_window.min(sender.available - una).saturating_sub(outstanding);
        if by_window <= by_data {
            sender.limit = Limit::Window;
            by_window
        } else {
            self.is_unfilled = true;
            by_data
        }
    }

    /// Sends the next segment. Returns it, and the number of its transmission.
    #[inline(always)]
    pub fn send(&mut self, now: Time) -> (u32, u32) {
        let segment = self.sender.board.next();
        (segment, self.sender.board.send_new(now))
    }

    /// All that may be sent is.
    #[inline(always)]
    pub fn stop(&mut self) {
        if self.is_unfilled {
            self.sender.stop_unfilled();
        }
    }
}
