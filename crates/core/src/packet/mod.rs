//! The packet engine: every packet, in virtual time.
//!
//! A run is an [`Engine`] ([`engine`]): links, forwarding, hosts, captures and samples, and an event loop that decides in which order they are
//! visited. [`epochs`] is the loop that everybody uses, [`oracle`] the plain one that it is compared with; both give the same results to the bit.
//!
//! A packet goes from its [`hosts`] over [`link`]s, each of which knows its next one by [`forwarding`], to its host. [`build`] makes an engine of
//! a spec, [`parallel`] divides one over threads, [`link_state`] computes routes from what links measure, [`output`] and [`capture`] say what
//! happened.
//!
//! [`emulated`] is a network whose packets come from outside: from Linux, in the kernel engine.
//!
//! Links, forwarding, link state and captures know nothing of the loops and of hosts.

mod build;
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
