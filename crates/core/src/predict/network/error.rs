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
}
