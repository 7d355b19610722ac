//! A draw in proportion to the members' weights; all members alike without weights.

use super::{Choice, Choose, NextHopSet};

crate::parameters! {
    /// None.
    pub struct Parameters {}
}

impl Choose for Parameters {
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32 {
        let bits = choice.bits();
        if set.cumulative.is_empty() {
            return set.uniform(bits);
        }
        let point = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        (set.cumulative.partition_point(|sum| *sum <= point) as u32).min(set.members.len() as u32 - 1)
    }

    fn reads_weights(&self) -> bool {
        true
    }
}
