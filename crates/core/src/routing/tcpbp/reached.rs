//! An entry in the heap of a search.

use crate::spec::NodeId;
use std::cmp::Ordering;

/// A node in the heap; the nearest is the greatest.
#[derive(Debug, Clone, Copy)]
pub struct Reached {
    /// Distance of the node: not negative, not NaN.
    pub length: f64,
    /// The node.
    pub node: NodeId,
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Reached {}

impl Ord for Reached {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // Numbers that are not negative are ordered as their bits.
        other.length.to_bits().cmp(&self.length.to_bits())
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
