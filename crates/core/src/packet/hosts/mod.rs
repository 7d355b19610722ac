//! The ends of flows.
//!
//! A [`flow`] has two hosts, its routes, and a TCP connection, datagrams, or the counters that remain of them. A [`connection`] translates between
//! packets and the segments of its sender and receiver; a [`message`] does so for a transport of messages. A [`line`] serves the messages of a host.
//!
//! [`delays`] has what a run records of its packets' delays.
//!
//! May use: packets, the SACK pool, route references, `tcp/` and the applications. It does not know the links' state, other flows or the engine.

mod connection;
pub mod delays;
pub mod flow;
pub mod line;
pub mod message;
