//! Drops a packet that finds the queue full, and no other.

use super::{Build, Discipline};
use crate::rng::Stream;
use crate::spec::QueueLimit;

crate::parameters! {
    /// None: the limit belongs to every queue.
    pub struct Parameters {}
}

impl Build for Parameters {
    fn build(&self, _limit: QueueLimit, _draws: Stream) -> Discipline {
        Discipline::DropTail
    }
}
