//! The models of links: their flows, their congestion events, and how queues and prices follow their load.
//!
//! May use: `laws/` and `flows/`.

pub mod bbr_share;
pub mod discipline;
pub mod model;
pub mod price;
pub mod sawtooth;
pub mod step;
pub mod totals;
