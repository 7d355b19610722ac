//! Congestion controls whose window follows the queueing delay.

pub mod backlog;
pub mod compound;
pub mod swift;
pub mod vegas;
