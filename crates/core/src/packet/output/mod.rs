//! What a run says besides its results: samples, changes of routes, and the tables that all of it comes in.
//!
//! [`columns`] has the declaration of a column, [`table`] its values. [`samples`] has the series and the counts at the end of the warm-up,
//! [`route_log`] the changes of routes.
//!
//! May use: what it reads (links, flows, forwarding, estimates). It does not know the engine, which takes the samples and makes the result tables.

pub mod columns;
pub mod route_log;
pub(in crate::packet) mod samples;
pub mod table;
