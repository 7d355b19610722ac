//! Errors of a prediction.

use crate::packet::BuildError;

/// The reason why a run has no prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// No engine can simulate the run.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The model cannot predict this.
    #[error("the predict engine cannot predict {0}; run the packet engine (--engine packet)")]
    Refused(String),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
    /// A congestion control of the scenario failed.
    #[error("stack '{stack}', congestion, observed over an ideal path, {problem}")]
    Fault {
        /// The name of its stack.
        stack: String,
        /// Time and reason of the failure.
        problem: String,
    },
}
