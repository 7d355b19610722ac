//! Drops a packet that finds the queue full, and no other.

use super::{Build, Discipline};
use crate::rng::Stream;

crate::parameters! {
    /// None: the limit belongs to every queue.
    pub struct Parameters {}
}

impl Build for Parameters {
    fn build(&self, _draws: Stream) -> Discipline {
        Discipline::DropTail
    }
}
