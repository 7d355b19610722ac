//! Slow start: how the window grows below ssthresh, by the stack's choice, for every window-based control.

use crate::tcp::events::AckEvent;

pub mod classic;
pub mod hystart;

crate::algorithm_registry! {
    /// A slow start by name, with its parameters.
    pub enum SlowStartSpec {
        /// A segment for every segment acknowledged, until a loss (RFC 5681 section 3.1).
        Classic = "classic": classic,
        /// Ends before a loss when the RTT rises, through a phase of slower growth (HyStart++, RFC 9406).
        HyStart = "hystart++": hystart,
    }
}

/// Slow start's state.
#[derive(Debug, Clone)]
pub enum SlowStart {
    /// It has none.
    Classic,
    /// Rounds and their minimum RTTs; boxed, because it serves a flow's beginning only.
    HyStart(Box<hystart::HyStart>),
}

impl SlowStart {
    /// The state of a flow that has not sent yet.
    pub fn new(spec: SlowStartSpec) -> SlowStart {
        match spec {
            SlowStartSpec::Classic(_) => SlowStart::Classic,
            SlowStartSpec::HyStart(parameters) => SlowStart::HyStart(Box::new(hystart::HyStart::new(parameters))),
        }
    }

    /// Takes an ACK while `cwnd` is below `ssthresh`, changes both, and returns the segments acknowledged beyond
    /// `ssthresh`, which are congestion avoidance's to count.
    ///
    /// HyStart++ is for the initial slow start only, while `ssthresh` is infinite (RFC 9406 section 4.3).
    #[inline]
    pub fn on_ack(&mut self, cwnd: &mut f64, ssthresh: &mut f64, ack: &AckEvent) -> u32 {
        match self {
            SlowStart::HyStart(state) if *ssthresh == f64::INFINITY => {
                state.on_ack(cwnd, ssthresh, ack);
                0
            }
            _ => {
                let left;
                (*cwnd, left) = classic::grow(*cwnd, *ssthresh, ack.growth);
                left
            }
        }
    }
}
