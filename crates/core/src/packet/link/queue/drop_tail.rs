//! Drops a packet that finds the queue full, and no other.

use super::{Build, Discipline, Place};

crate::parameters! {
    /// None: the limit belongs to every queue.
    pub struct Parameters {}
}

impl Build for Parameters {
    fn build(&self, _place: Place) -> Discipline {
        Discipline::DropTail
    }
}
