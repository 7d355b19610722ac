//! Congestion controls as Linux has them, in whole segments: those of its source, and [programs](program) for it.

pub mod based;
pub mod bbr;
pub mod bic;
pub mod cdg;
pub mod cubic;
pub mod dctcp;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
mod policer;
pub mod program;
pub mod reno;
pub mod rounds;
pub mod scalable;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod window;
pub mod yeah;
