//! Formulas that predict the rate of one TCP flow over a path from its round-trip time and its loss ratio.
//!
//! All functions are pure and follow the formulas as their sources print them. [`models`] lists the formulas by name, with
//! their arguments and the range of losses in which they hold. The functions expect arguments in the domains that [`models`]
//! names. They check nothing.

mod bulk;
pub mod goodput;
pub mod models;
pub mod network;
pub mod overtaking;
pub mod padhye;
pub mod path;
pub mod response;

/// A bulk flow and the path that it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Payload of a full segment, bytes.
    pub mss_bytes: f64,
    /// Round-trip time, seconds.
    pub rtt_s: f64,
    /// Ratio of lost packets, from 0 to below 1. At 0, only `max_window` limits a flow.
    pub loss: f64,
    /// The receiver's window: the greatest number of segments in flight. Infinite if it never limits.
    pub max_window: f64,
}

impl Flow {
    /// Rate of a mean window, bit/s; at most `max_window` per round trip.
    fn rate_of_window(&self, segments: f64) -> f64 {
        segments.min(self.max_window) / self.rtt_s * self.bits()
    }

    /// Bits of payload of a full segment.
    fn bits(&self) -> f64 {
        8.0 * self.mss_bytes
    }
}

#[cfg(test)]
mod properties;
