//! Congestion controls that pace at a measured bandwidth.

pub mod bbr;
pub mod bbr3;
pub mod model;
