//! The packet engine: every packet, in virtual time.

pub mod capture;
pub mod codel;
pub mod loss;
pub mod red;
