//! Records during a run, and tables of numbers.
//!
//! [`columns`] declares a column, [`table`] has its values. [`samples`] records time series and the counters at the end of the warm-up,
//! [`route_log`] the changes of routes.
//!
//! May use: links, flows, forwarding and estimates, which it reads. It does not know the engine, which takes the samples and makes the result tables.

pub mod columns;
pub mod route_log;
pub(in crate::packet) mod samples;
pub mod table;
