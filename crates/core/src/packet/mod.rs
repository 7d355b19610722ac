//! The packet engine: every packet, in virtual time.

mod beside;
mod build;
pub mod capture;
mod capturing;
pub mod codel;
mod engine;
mod flow;
mod forwarding;
mod line;
mod link;
pub mod loss;
mod observe;
#[expect(clippy::module_inception, reason = "a packet is what the packet engine moves")]
mod packet;
#[cfg(test)]
mod properties;
pub mod red;
mod results;
mod scheduler;
pub mod table;

pub use build::BuildError;
pub use engine::Simulation;
