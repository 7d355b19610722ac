//! TCP as state machines without I/O: segments in, segments and a next deadline out.
//!
//! A transport stack is congestion control x loss detection x ACK policy, each a trait with a registry; what is not a
//! policy (sequence space, scoreboard, RTT estimate, delivery rate, recovery, pacing, undo) belongs to the sender and
//! the receiver. Sequence numbers count whole segments of the flow, from 0; every transmission has its own increasing
//! number besides, so that the order of sending is known and not only the order of bytes.

pub mod ack;
pub mod congestion;
pub mod detection;
pub mod events;
pub mod persist;
pub mod prr;
pub mod rate;
pub mod receiver;
mod room;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
