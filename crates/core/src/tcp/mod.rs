//! TCP as state machines without I/O: segments in, segments and a next deadline out.
//!
//! A transport stack is congestion control x loss detection x ACK policy, each a trait with a registry. Everything else belongs
//! to the sender and the receiver: sequence space, scoreboard, RTT estimate, delivery rate, recovery, pacing, undo. Sequence
//! numbers count whole segments of the flow, from 0. Transmissions have increasing numbers of their own, which keep the order of
//! sending.

pub mod accecn;
pub mod ack;
pub mod congestion;
pub mod detection;
pub mod events;
pub mod kernel_clock;
pub mod persist;
pub mod prr;
pub mod rate;
pub mod receiver;
mod room;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
