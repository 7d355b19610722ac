//! What applications write, and when: the source of every flow.

pub mod application;
pub mod arrivals;
pub mod distribution;
