//! Captures: the packets that enter a link, as a pcapng file.
//!
//! The [`recorder`] shows the engine's packets as segments with addresses and ports, [`headers`] writes them as bytes, and [`pcapng`] as blocks of a
//! file.
//!
//! May use: packets, the SACK pool, flows and the spec.

mod headers;
pub mod pcapng;
pub(in crate::packet) mod recorder;
