//! The default loop: time is cut into epochs so short that nothing in an epoch at one node reaches another node.
//!
//! An epoch has three phases ([`event_loop`]): [`arrivals`] at links' far ends, nodes in order by their [`inbox`], and links in order
//! ([`merge`], with a [`loser_tree`]). [`deliver`] takes bursts at the ends of flows, [`fan_in`] knows which links need no order,
//! [`timing_wheel`] and [`timers`] what is due, and [`prefetch`] what later packets need.
//!
//! May use: the engine and what the engine uses (links, forwarding, hosts, captures). Nothing in those may use this folder.

mod arrivals;
mod deliver;
pub mod event_loop;
mod fan_in;
mod inbox;
mod loser_tree;
mod merge;
mod prefetch;
pub(in crate::packet) mod timers;
mod timing_wheel;
