//! Entries of the heap of a search.

use std::cmp::Ordering;

/// A price or distance with its node, ordered; never NaN.
#[derive(PartialEq)]
pub struct Key(pub f64, pub u32);

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
