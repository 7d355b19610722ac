//! Queue disciplines: what decides whether a packet that comes to a link is queued, marked or dropped.
//!
//! Drop-tail and the ECN threshold are decided in [`super::Link`]; [`red`] and [`codel`] have state of their own.
//!
//! A discipline may see: the time, its backlog in packets and bytes, the packet's size, and whether it may be marked. It may use nothing of the engine.

pub mod codel;
pub mod red;
