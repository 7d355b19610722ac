//! What one TCP flow is predicted to send over a path, from its round-trip time and its loss ratio alone.
//!
//! Pure functions, formulas as their sources print them; [`models`] has them by name, with what they take and where they hold.
//! They expect arguments in the domains that [`models`] names, and check nothing.

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
    /// Ratio of packets lost, from 0 to below 1. At 0 nothing but `max_window` bounds a flow.
    pub loss: f64,
    /// The receiver's window: most segments in flight. Infinite if it never limits.
    pub max_window: f64,
}

impl Flow {
    /// The rate of a mean window, bit/s; never above `max_window` a round trip.
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
