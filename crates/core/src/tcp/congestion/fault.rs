//! Faults of a congestion control that comes with the scenario.

use crate::units::Time;
use std::sync::{Arc, Mutex, PoisonError};

/// The earliest fault of a run's flows of one stack. Its flows keep their last window after it, and the run is refused.
#[derive(Debug, Clone, Default)]
pub struct FirstFault(Arc<Mutex<Option<(Time, String)>>>);

impl FirstFault {
    /// Records that a flow's control failed at this time. Of several faults the earliest counts, in any order of calls.
    pub fn record(&self, now: Time, problem: String) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = (now, problem);
        if first.as_ref().is_none_or(|earlier| fault < *earlier) {
            *first = Some(fault);
        }
    }

    /// The earliest fault, with its time.
    pub fn first(&self) -> Option<String> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(now, problem)| format!("at {:.6} s: {problem}", now.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_fault_counts() {
        let faults = FirstFault::default();
        assert_eq!(faults.first(), None);
        for (time, problem) in [(3_000_000_000_000, "late"), (2_000_000_000_000, "early"), (2_500_000_000_000, "later")]
        {
            faults.clone().record(Time(time), problem.into());
        }
        assert_eq!(faults.first().as_deref(), Some("at 2.000000 s: early"));
    }
}
