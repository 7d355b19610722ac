//! The packet engine: every packet, in virtual time.
//!
//! A run is an [`Engine`] ([`engine`]): links, forwarding, hosts, captures and samples, and an event loop that decides the order of their events.
//! [`epochs`] is the loop for normal use. [`oracle`] is a plain loop for comparison. Both give the same results to the bit.
//!
//! A packet goes from its [`hosts`] over [`link`]s to its destination host; [`forwarding`] determines each next link. [`build`] makes an engine
//! from a spec, [`parallel`] divides an engine over threads, [`link_state`] computes routes from measurements of links, and [`output`] and
//! [`capture`] record the results.
//!
//! [`emulated`] is a network whose packets come from outside: from Linux, in the kernel engine.
//!
//! Links, forwarding, link state and captures know neither the loops nor hosts.

mod build;
pub(crate) use build::check_stack;
pub mod capture;
pub mod emulated;
mod engine;
mod epochs;
mod forwarding;
mod hosts;
mod link;
mod link_state;
mod oracle;
pub mod output;
mod parallel;
#[cfg(test)]
pub(crate) mod properties;

pub use build::BuildError;
pub use engine::{Engine, EventLoop, results};
pub use forwarding::Unlisted;
pub use forwarding::select::Selector;
pub use link::impairment::LossSpec;
pub use link::jitter::{DistributionSpec, JitterSpec};
pub use link::queue::DisciplineSpec;
pub use oracle::compare::disagreement;
pub use output::route_log::RouteChange;
pub use parallel::Partitions;

/// A run in epochs: the fast way.
pub type Simulation = Engine<epochs::event_loop::EpochLoop>;

/// A run packet by packet: the oracle.
pub type Oracle = Engine<oracle::event_loop::ReferenceLoop>;
