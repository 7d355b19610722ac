//! Tests of the core as a whole. They use public items only, and are part of the library so that it is compiled once for all tests.

mod capture_tshark;
mod connection_properties;
mod drill_scripts;
mod drop_scripts;
mod engine_properties;
mod limits;
mod newreno_without_sack;
