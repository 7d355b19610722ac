//! Paths on which a control runs alone, for its tests.

pub mod bottleneck;
pub mod ideal;
