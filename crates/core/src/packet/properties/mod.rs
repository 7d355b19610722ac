//! Properties of every run: links against a naive queue, conservation of packets, both loops against each other, measured links, and delays.

mod agreement;
mod conservation;
mod delays;
mod disciplines;
pub mod link_oracle;
mod measuring;
pub mod random_run;
mod retirement;
mod shifted;
mod threads;
mod trimming;
mod turns;
mod varying;
mod waiting;
