//! The rules of Linux's receiver: its window opens step by step, and it checks the timestamps of segments (PAWS, RFC 7323, section 5).

pub(super) mod timestamps;
pub(super) mod window;

use super::Receiver;
use crate::spec::{Follows, StackSpec};
use timestamps::Timestamps;
use window::ReceiveWindow;

impl Receiver {
    /// The receiver with the state that the rules of its stack need.
    pub(super) fn with_rules(mut self, stack: &StackSpec) -> Receiver {
        if stack.follows != Follows::Linux {
            return self;
        }
        self.delaying().window = ReceiveWindow::of_stack(stack).map(Box::new);
        if stack.sack { self.with_timestamps() } else { self }
    }

    /// The receiver, changed so that it rejects segments by their timestamps.
    pub(super) fn with_timestamps(mut self) -> Receiver {
        self.delaying().timestamps = Some(Timestamps::default());
        self
    }
}
