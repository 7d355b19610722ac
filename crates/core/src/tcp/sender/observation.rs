//! The view of the connection for a congestion control that observes it, and the values that this control may set.

use super::{Limit, Sender};
use crate::tcp::events::Connection;
use crate::units::Time;

impl Sender {
    /// Shows the connection to a congestion control that observes it.
    #[inline(always)]
    pub(super) fn show_connection(&mut self, now: Time) {
        if self.options.observed {
            self.show(now);
        }
    }

    #[inline(never)]
    fn show(&mut self, now: Time) {
        let board = &self.board;
        let connection = Connection {
            now,
            una: board.una(),
            next: board.next(),
            app_limited: self.rate.as_ref().map_or(0, |sampler| sampler.app_limited()),
            sacked: board.sacked() + board.duplicates(),
            lost: board.lost(),
            in_flight: board.in_flight(),
            marked_lost: board.marked_lost(),
            retransmits: board.next_transmission() - board.next(),
            max_outstanding: self.max_outstanding(),
            window_limited: self.limit != Limit::Other,
            last_sent: board.latest_sent(),
            next_send: self.next_send,
            rtt: &self.rtt,
        };
        self.congestion.update(|control| control.on_connection(&connection));
    }

    /// Tells a congestion control that observes the connection that a segment is sent while nothing is in flight (`tcp_event_data_sent`).
    #[inline(always)]
    pub(super) fn before_sending(&mut self, now: Time) {
        if self.options.observed && self.board.in_flight() == 0 {
            self.show(now);
            self.congestion.update(|control| control.on_start());
        }
    }

    /// Takes over the least timeout that the congestion control demands.
    #[inline(always)]
    pub(super) fn apply_min_rto(&mut self) {
        if self.options.observed
            && let Some(least) = self.congestion.algorithm().min_rto()
        {
            self.rtt.set_least_rto(least);
        }
    }
}
