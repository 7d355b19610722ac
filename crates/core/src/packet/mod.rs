//! The packet engine: every packet, in virtual time.

mod beside;
mod build;
pub mod capture;
pub mod codel;
mod engine;
mod flow;
mod forwarding;
mod line;
mod link;
pub mod loss;
mod observe;
mod packet;
pub mod red;
mod results;
mod scheduler;
pub mod table;

pub use build::BuildError;
pub use engine::Simulation;
