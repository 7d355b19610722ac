//! Properties of every run: links against a naive queue, conservation of packets, both loops against each other, and measured links.

mod agreement;
mod conservation;
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
