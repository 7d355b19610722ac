//! The packet engine: every packet, in virtual time.

mod ahead;
mod beside;
mod bound;
mod build;
pub mod capture;
mod capturing;
mod choice;
pub mod codel;
mod column;
mod compare;
mod controller;
mod ends;
mod feasible;
mod feeds;
mod flow;
mod forwarding;
mod handing_over;
mod headers;
mod heads;
mod hosts;
mod idle;
mod inbox;
mod line;
mod link;
mod link_state;
pub mod loss;
mod merging;
mod observe;
#[expect(clippy::module_inception, reason = "a packet is what the packet engine moves")]
mod packet;
mod parts;
mod plain;
#[cfg(test)]
mod properties;
pub mod red;
mod results;
mod route_log;
mod runs;
mod scheduler;
mod simulation;
pub mod table;
mod wheel;
mod windows;

pub use build::BuildError;
pub use compare::disagreement;
pub use parts::Parts;
pub use route_log::RouteChange;
pub use simulation::{Engine, EventLoop};

/// A run in windows of time: the fast way.
pub type Simulation = Engine<windows::Windows>;

/// A run packet by packet: the oracle.
pub type PlainSimulation = Engine<plain::Plain>;
