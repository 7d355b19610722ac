//! A sender that nothing disturbs, and the ACKs that come to it one behind the other.

use super::{Burst, Limit, Phase, Sender};
use crate::tcp::events::AckEvent;
use crate::units::{Duration, Time};

/// A sender whose next ACKs are ordinary as long as each passes one more segment: nothing is lost, sacked or was sent again,
/// and none of what a burst must look at can change before another kind of ACK, or a timer.
pub struct Undisturbed<'sender> {
    sender: &'sender mut Sender,
    event: AckEvent,
}

impl Sender {
    /// `None` if the sender is disturbed, if this ACK does not pass the next segment, or if a deadline may come within this
    /// time after it.
    #[inline(always)]
    pub fn undisturbed(&mut self, cumulative: u32, within: Duration) -> Option<Undisturbed<'_>> {
        let options = &*self.options;
        let is_undisturbed = options.runs
            && self.phase == Phase::Open
            && self.board.is_undisturbed()
            && self.board.una() >= self.undo_until
            && cumulative == self.board.una() + 1
            && self.board.outstanding() > 0
            && !self.probe
            && !self.retransmit_now
            && self.withheld == 0
            && self.rtt.least_rto() >= within;
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
        Some(Undisturbed { sender: self, event })
    }
}

impl Undisturbed<'_> {
    /// The next ACK comes. Returns what may be sent then.
    #[inline(always)]
    pub fn take_ack(&mut self, now: Time) -> Burst {
        let (sender, event) = (&mut *self.sender, &mut self.event);
        let Some(sent) = sender.board.pass_undisturbed(now) else { return Burst { segment: 0, number: 0, count: 0 } };
        let rtt = now - sent;
        sender.rtt.sample(rtt);
        let in_flight = sender.board.outstanding();
        let (una, next) = (sender.board.una(), sender.board.next());
        event.round_start = una > sender.round_end;
        if event.round_start {
            sender.round_end = next;
        }
        event.now = now;
        event.rtt = Some(rtt);
        event.in_flight = in_flight;
        event.prior_in_flight = in_flight + 1;
        event.growth = u32::from(sender.is_window_limited(in_flight + 1));
        sender.congestion.on_ack(event, &sender.rtt);
        let number = sender.board.next_transmission();
        let by_window = sender.congestion.window().saturating_sub(in_flight);
        let by_receiver = sender.receive_window.saturating_sub(in_flight);
        let by_data = by_receiver.min(sender.available.saturating_sub(next));
        let count = by_window.min(by_data);
        if count > 0 {
            sender.board.send_burst(now, count);
        }
        if by_window <= by_data {
            sender.limit = Limit::Window;
        } else {
            sender.stop_unfilled();
        }
        Burst { segment: next, number, count }
    }
}
