//! The default event loop: time is divided into epochs so short that an event at one node reaches no other node in the same epoch.
//!
//! [`event_loop`] has the state and the sequence of epochs. An epoch begins with [`gather`], which finds its due links and timers by a
//! [`timing_wheel`] and [`timers`]. It has three phases: [`arrivals`] at links' far ends, [`nodes`] in order by their [`inbox`], and links in
//! order ([`merge`], with a [`loser_tree`]). [`deliver`] processes bursts at the ends of flows. [`fan_in`] finds the links that need no order.
//! [`prefetch`] loads the state of later packets into the cache.
//!
//! May use: the engine and what the engine uses (links, forwarding, hosts, captures). Nothing in those may use this folder.

mod arrivals;
mod deliver;
pub mod event_loop;
mod fan_in;
mod gather;
mod inbox;
mod loser_tree;
mod merge;
mod nodes;
mod prefetch;
pub(in crate::packet) mod timers;
mod timing_wheel;
