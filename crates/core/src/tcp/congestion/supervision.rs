//! What a run learns of the congestion controls that come with its scenario, and how it stops them: their first fault, and the work of long calls.

use crate::units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Work that a stop adds: more than any step of a run asks for.
const ENDS_A_STEP: u64 = 1 << 56;

/// The state that all flows of a stack share. A clone shares it too.
#[derive(Debug, Clone, Default)]
pub struct Supervision(Arc<State>);

#[derive(Debug, Default)]
struct State {
    fault: Mutex<Option<(Time, String)>>,
    work: AtomicU64,
    stopped: AtomicBool,
}

impl Supervision {
    /// Records that a flow's control failed at this time. Of several faults the earliest counts, in any order of calls. The flows keep their last
    /// window after it, and the run is refused.
    pub fn record(&self, now: Time, problem: String) {
        let mut first = self.0.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = (now, problem);
        if first.as_ref().is_none_or(|earlier| fault < *earlier) {
            *first = Some(fault);
        }
    }

    /// The earliest fault, with its time.
    pub fn fault(&self) -> Option<String> {
        let first = self.0.fault.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(now, problem)| format!("at {:.6} s: {problem}", now.as_secs()))
    }

    /// Counts the work of a long call, in events that take as long.
    pub fn spend(&self, events: u64) {
        self.0.work.fetch_add(events, Ordering::Relaxed);
    }

    /// The work of long calls so far, in events. A stop adds more than any step of a run asks for.
    pub fn work(&self) -> u64 {
        self.0.work.load(Ordering::Relaxed)
    }

    /// Ends long calls, and the present step of the run. A flow whose call is cut keeps its window.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::Relaxed) {
            self.spend(ENDS_A_STEP);
        }
    }

    /// Whether [`Self::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_fault_counts() {
        let faults = Supervision::default();
        assert_eq!(faults.fault(), None);
        for (time, problem) in [(3_000_000_000_000, "late"), (2_000_000_000_000, "early"), (2_500_000_000_000, "later")]
        {
            faults.clone().record(Time(time), problem.into());
        }
        assert_eq!(faults.fault().as_deref(), Some("at 2.000000 s: early"));
    }
}
