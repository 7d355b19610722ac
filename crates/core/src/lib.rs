//! TCP over networks with many paths and lossy links: routing, transport and the packet engine, in virtual time.
//!
//! Pure Rust: no I/O, no clock, no globals. The same [`spec::RunSpec`] gives the same results, bit for bit.

pub mod drill;
pub mod entropy;
pub mod histogram;
pub mod packet;
pub mod parameters;
pub mod predict;
mod prefetch;
pub mod review;
pub mod rng;
pub mod robust;
pub mod routing;
pub mod spec;
pub mod tcp;
#[cfg(test)]
mod tests;
pub mod traffic;
pub mod uet;
pub mod units;
