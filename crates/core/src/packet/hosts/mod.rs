//! The ends of flows: their state, and what a packet is to them.
//!
//! A [`flow`] is a pair of hosts with its routes, and a connection, datagrams, or the counts that are left of them. A [`connection`] makes packets of what
//! the sender and the receiver say.
//!
//! May use: packets, the SACK pool, route references, `tcp/` and the applications. It does not know links, other flows or the engine.

mod connection;
pub mod flow;
