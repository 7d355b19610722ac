//! PSH marks as Linux sets them (`tcp_push`, `forced_push`). The last segment that the application has written has one. So has each segment
//! that ends more than half of the largest window since the last mark.
//!
//! Linux marks segments when they are written, and this sender when they are sent.

use super::LinuxState;
use crate::tcp::sender::Sender;

/// State that determines the next mark.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp::sender) struct Push {
    /// The segment behind the last one marked (`pushed_seq`).
    since: u32,
    /// The largest window that the receiver has announced, segments (`max_window`).
    largest_window: u32,
}

impl Sender {
    /// Sets the segment behind the receiver's first window, if that grows.
    pub fn set_first_window(&mut self, edge: u32) {
        if let Some(linux) = &mut self.linux {
            linux.push.largest_window = 0;
        }
        self.set_window_edge(edge);
    }

    /// Records that a new segment is sent. Returns whether PSH marks it.
    #[inline(always)]
    pub(in crate::tcp::sender) fn is_pushed(&mut self, segment: u32) -> bool {
        let is_pushed = segment >= self.next_push;
        if is_pushed && let Some(linux) = &mut self.linux {
            linux.push.since = segment + 1;
            self.plan_push();
        }
        is_pushed
    }

    /// Plans the next mark after a write, an announced window, or a marked segment.
    #[inline(never)]
    pub(in crate::tcp::sender) fn plan_push(&mut self) {
        if let Some(LinuxState { push, .. }) = self.linux.as_deref_mut() {
            let (window, last_written) = (self.receive_window, self.available.saturating_sub(1));
            push.largest_window = push.largest_window.max(window);
            self.next_push = last_written.min(push.since.saturating_add(push.largest_window / 2));
        }
    }
}
