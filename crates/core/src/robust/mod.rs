//! What robust routing needs often and fast: candidate paths of all pairs, paths by prices, and the traffic matrix that
//! loads a link most. The linear programs around them are the caller's.

mod candidates;
mod pricing;
mod transport;

pub use candidates::{Paths, Selection, candidate_paths};
pub use pricing::cheapest_paths;
pub use transport::{Entry, Worst, worst_matrix};
