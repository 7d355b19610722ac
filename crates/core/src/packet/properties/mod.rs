//! What holds for every run, by properties: a link against a naive queue, the engine's books, and what routings measure.

mod agreement;
mod conservation;
mod link_oracle;
mod measuring;
pub mod random_run;
mod retirement;
mod threads;
mod turns;
