//! BLEST, the blocking estimation scheduler (Ferlin, Alay, Mehani and Boreli, IFIP Networking 2016). A slower subflow gets no segment if that would hold so
//! much of the receive window for its long round trip that the fastest subflow is blocked.

use super::{Scheduler, View};
use crate::units::Time;

/// Bounds and steps of the factor `lambda` in the authors' implementation: it begins with 1.2.
const LAMBDA: f64 = 1.2;
const LEAST_LAMBDA: f64 = 1.0;
const MOST_LAMBDA: f64 = 1.3;
const STEP_UP: f64 = 0.04;
const STEP_DOWN: f64 = 0.01;

pub struct Blest {
    /// Corrects the estimate of what the fastest subflow sends (section IV of the paper).
    lambda: f64,
    changed: Time,
    was_blocked: bool,
}

impl Default for Blest {
    fn default() -> Blest {
        Blest { lambda: LAMBDA, changed: Time::ZERO, was_blocked: false }
    }
}

impl Blest {
    /// Corrects the factor, once per round trip of the slower subflow: upwards if the window has blocked the connection since.
    fn correct(&mut self, view: &View, slow: usize) {
        if view.now - self.changed < view.subflows[slow].srtt {
            return;
        }
        self.changed = view.now;
        let step = if std::mem::take(&mut self.was_blocked) { STEP_UP } else { -STEP_DOWN };
        self.lambda = (self.lambda + step).clamp(LEAST_LAMBDA, MOST_LAMBDA);
    }
}

/// Segments that a subflow sends within `rtts` of its round trips, while its window grows by one in each (equation 1 of the paper).
fn segments_within(rtts: f64, cwnd: f64) -> f64 {
    (cwnd + (rtts - 1.0) / 2.0) * rtts
}

impl Scheduler for Blest {
    fn choose(&mut self, view: &View) -> Option<usize> {
        let chosen = view.fastest(|subflow| subflow.has_room)?;
        let fastest = view.fastest(|subflow| subflow.works).unwrap_or(chosen);
        if chosen == fastest {
            return Some(chosen);
        }
        self.correct(view, chosen);
        let (slow, fast) = (&view.subflows[chosen], &view.subflows[fastest]);
        let rtts = slow.srtt.as_secs() / fast.srtt.as_secs().max(f64::MIN_POSITIVE);
        // Equation 2: the window without what the slower subflow would hold.
        let left = f64::from(view.window) - f64::from(slow.outstanding + 1);
        (segments_within(rtts, fast.cwnd) * self.lambda <= left).then_some(chosen)
    }

    fn on_window_closed(&mut self) {
        self.was_blocked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choice, subflow};
    use super::*;

    /// In three round trips of the fast subflow, a window of 10 sends 10 + 11 + 12 segments; times 1.2 that is 39.6. The window has 100.
    #[test]
    fn the_slow_subflow_waits_if_it_would_block_the_fast_one() {
        assert_eq!(segments_within(3.0, 10.0), 33.0);
        let choose = |outstanding| {
            let mut blest = Blest { changed: Time::NEVER, ..Blest::default() };
            choice(&mut blest, &[subflow(10, 10.0, 10), subflow(30, 100.0, outstanding)], 50)
        };
        assert_eq!(choose(59), Some(1), "it leaves 40 segments");
        assert_eq!(choose(60), None, "it would leave 39");
        let idle = [subflow(10, 10.0, 9), subflow(30, 100.0, 90)];
        assert_eq!(choice(&mut Blest::default(), &idle, 50), Some(0), "the fast one has room");
    }

    #[test]
    fn the_factor_follows_the_blocking() {
        let subflows = [subflow(10, 10.0, 10), subflow(30, 10.0, 0)];
        let mut blest = Blest::default();
        let at = |ms: u64, blest: &mut Blest| {
            let now = Time::ZERO + crate::units::Duration::from_millis(ms);
            blest.choose(&View { now, subflows: &subflows, unsent: 1, window: 100 });
            (blest.lambda * 100.0).round()
        };
        assert_eq!(at(30, &mut blest), 119.0);
        blest.on_window_closed();
        assert_eq!(at(59, &mut blest), 119.0, "a round trip is not over");
        assert_eq!(at(60, &mut blest), 123.0);
        assert_eq!(at(90, &mut blest), 122.0);
    }
}
