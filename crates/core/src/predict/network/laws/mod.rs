//! The laws of congestion controls: the mean window at which growth and reductions balance, from a formula or by observation.
//!
//! May use: the compiled run, and TCP's congestion controls.

pub mod ideal_path;
pub mod law;
pub mod observed;
pub mod provided;
pub mod trial;
