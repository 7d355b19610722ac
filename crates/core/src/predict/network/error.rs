//! What a prediction refuses.

use crate::packet::BuildError;

/// Why a run has no prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// No engine can run it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The model does not know this.
    #[error("the predict engine cannot predict {0}; run the packet engine (--engine packet)")]
    Refused(String),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
    /// A congestion control that comes with the scenario could not go on.
    #[error("stack '{stack}', congestion, observed over an ideal path, {problem}")]
    Fault {
        /// The name of its stack.
        stack: String,
        /// When, and why.
        problem: String,
    },
}
