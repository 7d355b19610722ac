//! How far a prediction is, and whether it is still wanted: for who waits for it on another thread.

use super::error::PredictError;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The share of the work, about, when routes and models are there and the solver begins.
pub(super) const MODELLED: f64 = 0.3;

/// What two threads share of a prediction.
#[derive(Debug, Default)]
pub struct Watch {
    /// The bits of a share that only grows. Those of numbers that are not negative have the numbers' order.
    share: AtomicU64,
    unwanted: AtomicBool,
}

impl Watch {
    /// The share of the work that is done, about.
    pub fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }

    /// Ends the work soon, with [`PredictError::Stopped`].
    pub fn stop(&self) {
        self.unwanted.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// If it is not wanted any more.
    pub(super) fn check(&self) -> Result<(), PredictError> {
        if self.unwanted.load(Ordering::Relaxed) { Err(PredictError::Stopped) } else { Ok(()) }
    }

    /// So much of a part of the work is done.
    pub(super) fn reach(&self, share: f64, of: &Range<f64>) {
        let reached = of.start + share.clamp(0.0, 1.0) * (of.end - of.start);
        self.share.fetch_max(reached.to_bits(), Ordering::Relaxed);
    }
}
