//! How long a congestion control has been in each of its named states.

use crate::units::{Duration, Time};

/// A state's name and the time spent in it.
pub type StateTime = (&'static str, Duration);

/// The present one of `STATES` named states, and the time spent in each, counted from the first event.
#[derive(Debug, Clone)]
pub struct Occupancy<const STATES: usize> {
    times: [StateTime; STATES],
    present: usize,
    accounted: Option<Time>,
}

impl<const STATES: usize> Occupancy<STATES> {
    /// Begins in the first state.
    pub fn new(names: [&'static str; STATES]) -> Occupancy<STATES> {
        Occupancy { times: names.map(|name| (name, Duration::ZERO)), present: 0, accounted: None }
    }

    /// The index of the present state.
    pub fn present(&self) -> usize {
        self.present
    }

    /// Goes to a state, or stays; the time since the last event was spent in the former one.
    pub fn enter(&mut self, state: usize, now: Time) {
        if let Some(accounted) = self.accounted.replace(now) {
            let (_, time) = &mut self.times[self.present];
            *time = *time + now.since(accounted);
        }
        self.present = state;
    }

    /// The time spent in each state up to the last event.
    pub fn times(&self) -> &[StateTime] {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_belongs_to_the_state_before_the_event() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut occupancy = Occupancy::new(["a", "b"]);
        occupancy.enter(1, at(1000)); // the first event: nothing is known of the time before
        occupancy.enter(1, at(1300));
        occupancy.enter(0, at(1400));
        occupancy.enter(0, at(1450));
        assert_eq!(occupancy.times(), [("a", Duration::from_millis(50)), ("b", Duration::from_millis(400))]);
        assert_eq!(occupancy.present(), 0);
    }
}
