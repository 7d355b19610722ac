//! The models of flows: their laws and limits, the links that they cross, and their rates at the prices of these links.
//!
//! May use: `laws/`, and the flows and routes that the packet engine plans.

pub mod crossing;
pub mod feeds;
pub mod loss;
pub mod model;
pub mod sender;
