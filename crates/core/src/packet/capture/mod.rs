//! Captures: the packets that enter a link, as a pcapng file.
//!
//! The [`recorder`] records the packets of captured links. [`flow_view`] gives them addresses, ports and sequence numbers, [`headers`] writes
//! these as bytes, and [`pcapng`] as blocks of a file.
//!
//! May use: packets, the SACK pool, flows and the spec.

pub(in crate::packet) mod flow_view;
mod headers;
pub mod pcapng;
pub(in crate::packet) mod recorder;
