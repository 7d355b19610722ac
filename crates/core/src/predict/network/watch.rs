//! Progress and cancellation of a prediction, for a thread that waits for it.

use crate::predict::network::error::PredictError;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Approximate share of the work that is done when routes and models are complete and the solver begins.
pub(super) const MODELLED: f64 = 0.3;

/// State of a prediction that two threads share.
#[derive(Debug, Default)]
pub struct Watch {
    /// Bits of the share of work done, which only grows. The bits of non-negative floating-point numbers are ordered
    /// like the numbers.
    share: AtomicU64,
    unwanted: AtomicBool,
    /// The part of the whole work that is done now; `None` for all of it.
    part: Mutex<Option<Range<f64>>>,
}

impl Watch {
    /// Approximate share of the work that is done.
    pub fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }

    /// Ends the work soon, with [`PredictError::Stopped`].
    pub fn stop(&self) {
        self.unwanted.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// If the caller has stopped the prediction.
    pub(super) fn check(&self) -> Result<(), PredictError> {
        if self.unwanted.load(Ordering::Relaxed) { Err(PredictError::Stopped) } else { Ok(()) }
    }

    /// From now on, shares of the work are shares of this part of it.
    pub(super) fn begin(&self, part: Range<f64>) {
        *self.part.lock().expect("no thread panics here") = Some(part);
    }

    /// Records that this share of a part of the work is done.
    pub(super) fn reach(&self, share: f64, of: &Range<f64>) {
        let mut reached = of.start + share.clamp(0.0, 1.0) * (of.end - of.start);
        if let Some(part) = &*self.part.lock().expect("no thread panics here") {
            reached = part.start + reached * (part.end - part.start);
        }
        self.share.fetch_max(reached.to_bits(), Ordering::Relaxed);
    }
}
