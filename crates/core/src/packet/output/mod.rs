//! What a run says: result tables and samples.
//!
//! [`results`] makes the tables of flows and links, [`samples`] the series and the counts at the end of the warm-up, both as a [`table`] of
//! columns. [`bound`] refuses a goodput that no network could bring; [`idle`] is the completion time in an idle network.
//!
//! May use: everything that it reads; nothing that moves packets depends on it, but for the engine, which takes the samples.

pub(in crate::packet) mod bound;
pub(in crate::packet) mod idle;
pub(in crate::packet) mod results;
pub(in crate::packet) mod samples;
pub mod table;
