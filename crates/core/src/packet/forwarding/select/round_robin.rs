//! Round robin: each member in turn.

use super::{Choice, Choose, Memory, NextHopSet};

crate::parameters! {
    /// None.
    pub struct Parameters {}
}

impl Choose for Parameters {
    /// The memory is the index of the next member.
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32 {
        next(choice.memory, set.members.len())
    }

    fn memory(&self) -> Memory {
        Memory::OfSet
    }
}

/// The index of the member whose turn it is, of `members` members.
#[inline(always)]
pub fn next(turn: &mut u32, members: usize) -> u32 {
    let chosen = *turn;
    let is_last = chosen as usize + 1 >= members;
    *turn = if is_last { 0 } else { chosen + 1 };
    chosen
}
