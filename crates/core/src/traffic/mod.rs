//! Traffic sources: when applications write and how much, and when flows arrive.

pub mod application;
pub mod arrivals;
pub mod distribution;
pub mod reordering;
