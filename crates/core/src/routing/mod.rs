//! Paths and next hops.
