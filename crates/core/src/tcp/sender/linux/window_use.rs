//! How much of its window a sender used that the application, or the receiver, held back (`tcp_cwnd_validate`).

use super::LinuxState;
use crate::tcp::sender::{Limit, Sender};

/// How much of the window was used while it was not the limit.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp::sender) struct Unfilled {
    /// The most segments outstanding in the round trip that ends when this one is acknowledged.
    max_outstanding: u32,
    round_end: u32,
    /// Transmissions until the last stop.
    transmissions: u32,
}

impl Sender {
    /// The most segments outstanding in this round trip while the window was not the limit; zero for a sender that does not count them.
    #[inline(always)]
    pub(in crate::tcp::sender) fn max_outstanding(&self) -> u32 {
        self.linux.as_ref().map_or(0, |linux| linux.unfilled.max_outstanding)
    }

    /// Records, before a new segment is sent, that the window may not be the limit any more.
    #[inline]
    pub(in crate::tcp::sender) fn leave_window(&mut self) {
        if self.limit == Limit::Window
            && let Some(linux) = &mut self.linux
        {
            self.limit = Limit::WindowLately;
            (linux.unfilled.round_end, linux.unfilled.transmissions) =
                (self.board.next(), self.board.next_transmission());
        }
    }

    /// Records that the application, or the receiver's window, was the limit when the sender stopped sending (`tcp_cwnd_validate`).
    pub(in crate::tcp::sender) fn stop_unfilled(&mut self) {
        if self.linux.is_none() {
            self.limit = Limit::Other;
            return;
        }
        self.leave_window();
        let (outstanding, una, next) = (self.board.outstanding(), self.board.una(), self.board.next());
        let transmissions = self.board.next_transmission();
        let Some(LinuxState { unfilled, .. }) = self.linux.as_deref_mut() else { return };
        let has_sent = std::mem::replace(&mut unfilled.transmissions, transmissions) != transmissions;
        if !has_sent || self.limit == Limit::WindowLately && una < unfilled.round_end {
            return;
        }
        self.limit = Limit::Other;
        if una >= unfilled.round_end || outstanding > unfilled.max_outstanding {
            unfilled.max_outstanding = outstanding;
            unfilled.round_end = next;
        }
    }
}
