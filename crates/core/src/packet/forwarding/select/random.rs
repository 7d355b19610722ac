//! A draw: all members alike.

use super::{Choice, Choose, NextHopSet};

crate::parameters! {
    /// None.
    pub struct Parameters {}
}

impl Choose for Parameters {
    fn choose(&self, set: &NextHopSet<'_>, choice: Choice<'_>) -> u32 {
        set.uniform(choice.bits())
    }
}
