//! Functions that robust routing needs often and fast: candidate paths of all pairs, paths by prices, and the traffic
//! matrix that loads a link most. The caller solves the linear programs around them.

mod candidates;
mod choices;
mod key;
mod pricing;
mod transport;
mod worst_case;

pub use candidates::{Paths, Selection, candidate_paths};
pub use choices::{Choices, Goal, Options, Traffic};
pub use pricing::cheapest_paths;
pub use transport::{Entry, Worst, worst_matrix};
pub use worst_case::{Limits, Workspace, WorstCase};
