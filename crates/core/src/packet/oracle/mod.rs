//! The reference loop: processes all events of the whole network one by one.
//!
//! Contains the [`event_loop`] over a [`winner_tree`] of all links, the [`trace`] of packets for a replay, and [`compare`], which runs both loops and finds the first difference.
//! It need not be fast. It uses only the links' general path, so it shares no fast path with [`super::epochs`].
//!
//! May use: the engine and what the engine uses, the timers of epochs; `compare` also the epochs' loop and the partitions.

pub(in crate::packet) mod compare;
pub mod event_loop;
mod trace;
pub(in crate::packet) mod winner_tree;
