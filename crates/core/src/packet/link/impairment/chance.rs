//! Draws with a probability.

use crate::parameters::Share;

/// A probability in units of 2^-63, so that 0 never hits and 1 always does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(probability: Share) -> Chance {
        Chance((probability.0 * (1u64 << 63) as f64) as u64)
    }

    #[inline]
    pub(super) fn hits(self, bits: u64) -> bool {
        (bits >> 1) < self.0
    }
}
