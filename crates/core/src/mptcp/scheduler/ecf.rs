//! ECF, earliest completion first (Lim, Nahum, Towsley and Gibbens, CoNEXT 2017). A slower subflow gets no segment if the fastest one, although it is full
//! now, would finish all data earlier.

use super::{Scheduler, View};

/// How much a decision to wait lasts (the paper's `beta`).
const BETA: f64 = 0.25;

#[derive(Default)]
pub struct Ecf {
    /// Whether the last decision was to wait.
    waits: bool,
}

impl Scheduler for Ecf {
    /// Algorithm 1 of the paper.
    fn choose(&mut self, view: &View) -> Option<usize> {
        let chosen = view.fastest(|subflow| subflow.has_room)?;
        let fastest = view.fastest(|subflow| subflow.works).unwrap_or(chosen);
        if chosen == fastest {
            return Some(chosen);
        }
        let (slow, fast) = (&view.subflows[chosen], &view.subflows[fastest]);
        let (rtt_f, rtt_s) = (fast.srtt.as_secs(), slow.srtt.as_secs());
        let margin = fast.rttvar.max(slow.rttvar).as_secs();
        let unsent = f64::from(view.unsent);
        let hysteresis = if self.waits { 1.0 + BETA } else { 1.0 };
        if (1.0 + unsent / fast.cwnd) * rtt_f < hysteresis * (rtt_s + margin) {
            if unsent / slow.cwnd * rtt_s >= 2.0 * rtt_f + margin {
                self.waits = true;
                return None;
            }
        } else {
            self.waits = false;
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{choice, subflow};
    use super::*;

    /// Round trips of 10 and 100 ms, windows of 10: the fast subflow, full now, sends 50 segments in (1 + 5) * 10 = 60 ms, the slow one ends no earlier than after
    /// 100 ms. It sends 100 segments in 110 ms.
    #[test]
    fn the_slow_subflow_waits_if_the_fast_one_finishes_earlier() {
        let subflows = [subflow(10, 10.0, 10), subflow(100, 10.0, 0)];
        let mut ecf = Ecf::default();
        assert_eq!(choice(&mut ecf, &subflows, 50), None);
        // Once it waits, it goes on waiting up to 1.25 * 100 ms.
        assert_eq!(choice(&mut ecf, &subflows, 100), None);
        assert_eq!(choice(&mut ecf, &subflows, 120), Some(1));
        assert_eq!(choice(&mut ecf, &subflows, 100), Some(1));
        // Two segments take the slow subflow 20 ms of its window, no longer than two round trips of the fast one.
        assert_eq!(choice(&mut ecf, &subflows, 1), Some(1));
    }

    #[test]
    fn the_fast_subflow_sends_while_it_has_room() {
        assert_eq!(choice(&mut Ecf::default(), &[subflow(100, 10.0, 0), subflow(10, 10.0, 9)], 50), Some(1));
    }
}
