//! DRILL: the member with the shortest queue of two drawn ones and the last best, which it replaces (Ghorbani et al., SIGCOMM 2017).
//! A switch compares its queues for all destinations, so the links have one last best.

use super::{Choice, Choose, Memory, NextHopSet};

crate::parameters! {
    /// None.
    pub struct Parameters {}
}

impl Choose for Parameters {
    /// The memory is the last best member, plus one.
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32 {
        let bits = choice.bits();
        let Choice { memory, backlogs, .. } = choice;
        let count = set.members.len() as u64;
        let first = ((bits >> 32) * count) >> 32;
        // Another one than the first.
        let second = (first + 1 + (((bits & 0xffff_ffff) * (count - 1)) >> 32)) % count;
        let remembered = set.members.iter().position(|member| *memory == member + 1).unwrap_or(first as usize);
        let candidates = [first as usize, second as usize, remembered];
        let best = candidates.into_iter().min_by_key(|index| backlogs.bytes(set.link_of(set.members[*index])));
        let best = best.unwrap_or(0);
        *memory = set.members[best] + 1;
        best as u32
    }

    fn memory(&self) -> Memory {
        Memory::OfLinks
    }

    fn reads_backlogs(&self) -> bool {
        true
    }
}
