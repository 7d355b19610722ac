//! Routings that measure their links.
//!
//! An [`estimate`] of delay and loss comes from a link's counters, with an [`interval`]; the [`controller`] of a routing samples the links and
//! computes routes.
//!
//! May use: routing, metrics and the spec. It sees links only as readings of their counters.

pub mod controller;
pub mod estimate;
pub mod interval;
