//! Adaptive: the member with the shortest queue.

use super::{Choice, Choose, NextHopSet};
use crate::rng::hash_words;

crate::parameters! {
    /// None.
    pub struct Parameters {}
}

impl Choose for Parameters {
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32 {
        let bits = choice.bits();
        let (mut shortest, mut equal, mut best) = (u64::MAX, 0_u64, 0);
        for (index, member) in (0..).zip(set.members) {
            let bytes = choice.backlogs.bytes(set.link_of(*member));
            if bytes < shortest || equal == 0 {
                (shortest, equal, best) = (bytes, 1, index);
            } else if bytes == shortest {
                // The n-th equal one takes the place of those before it with probability 1/n.
                equal += 1;
                if hash_words(bits, [equal]).is_multiple_of(equal) {
                    best = index;
                }
            }
        }
        best
    }

    fn reads_backlogs(&self) -> bool {
        true
    }
}
