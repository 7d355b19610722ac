//! The kernel engine: Linux's own TCP over the packet engine's network, in real time.
//!
//! | task | file |
//! | --- | --- |
//! | addresses, ports and marks of IPv4 packets | [`packets`] |
//! | the flow of a packet | [`flow_table`] |
//! | packets between devices, in whatever time the caller has | [`network`] |
//! | Linux's packets over the packet engine's network | [`emulator`] |
//! | round trips of TCP's data, as its host sees them | `round_trips` |
//! | frames over cables between switches | [`cables`] |
//! | how late packets leave | [`lateness`] |
//! | the time of a run | [`clock`] |
//! | packets in real time, between TUN devices | [`driver`] |
//! | connections of Linux that send and receive | [`traffic`], [`socket_options`], [`multipath`] |
//! | a run: a thread for packets and one for traffic | [`run`] |
//!
//! The network itself is `anabranch_core::packet::emulated`. The first seven know no clock and no system.

pub mod cables;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod driver;
pub mod emulator;
pub mod flow_table;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod multipath;
pub mod network;
pub mod packets;
mod round_trips;
#[cfg(target_os = "linux")]
pub mod run;
#[cfg(target_os = "linux")]
pub mod socket_options;
#[cfg(target_os = "linux")]
pub mod traffic;
