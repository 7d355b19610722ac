//! What holds for every run, by properties: a link against a naive queue, and the engine's books.

mod agreement;
mod conservation;
mod link_oracle;
mod random_run;
