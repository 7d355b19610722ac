//! Properties of every run: links against a naive queue, conservation of packets, both loops against each other, measured links, and delays.

mod agreement;
mod conservation;
mod delays;
mod disciplines;
mod emptied;
pub mod link_oracle;
mod measuring;
pub mod random_run;
mod retirement;
mod shifted;
mod subflows;
mod threads;
mod trimming;
mod turns;
mod varying;
mod waiting;
