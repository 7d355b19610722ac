//! Draws with a probability.

/// A probability in units of 2^-63, so that 0 never hits and 1 always does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(probability: f64) -> Chance {
        Chance((probability * (1u64 << 63) as f64) as u64)
    }

    #[inline]
    pub(super) fn hits(self, bits: u64) -> bool {
        (bits >> 1) < self.0
    }
}

/// Refuses a value that is not a probability.
pub(super) fn check(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(format!("{name} is {value}: it must be between 0 and 1")) }
}
