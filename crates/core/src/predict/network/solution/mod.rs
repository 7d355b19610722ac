//! The equilibrium of flows and links, and what follows from it: limits of sprayed flows, classes and their errors, completion times, refusals.
//!
//! May use: `laws/`, `flows/` and `links/`.

pub mod batch;
pub mod bbr_limit;
pub mod class;
pub mod completion;
pub mod overlap;
pub mod provided;
pub mod refusal;
pub mod solver;
pub mod spraying;
