//! BIC (Xu, Harfoush, Rhee, "Binary increase congestion control for fast long-distance networks", INFOCOM 2004): a binary search for
//! the window at which the last loss happened.
//!
//! In a round trip, the paper increases the window by half of the distance to that window, at least by Smin and at most by Smax.
//! Above it, the paper searches for a new maximum with steps that double. This file follows Linux with its constants. A round trip
//! adds a quarter of the distance, or steps of a fifth of a segment where the distance is less than two. Above the old window, it
//! adds a third of the distance. After a timeout the old window is forgotten (also Linux).

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};

crate::parameters! {
    /// BIC's constants.
    pub struct Parameters {
        /// Factor of the window after a loss (paper: 0.875; Linux: 819/1024).
        pub beta: f64 = 0.7998046875, in 0.01..=0.99;
        /// Window up to which it is Reno, segments (paper and Linux: 14).
        pub low_window: f64 = 14.0, in 0.0..=100_000.0;
        /// The most by which the window grows per round trip, segments (Smax; paper: 32, Linux: 16).
        pub max_increment: f64 = 16.0, in 1.0..=10_000.0;
        /// A round trip goes 1/`search` of the way to the old window (paper: 2, Linux: 4).
        pub search: f64 = 4.0, in 1.5..=100.0;
        /// Round trips for `search` segments close to the old window, below and beyond it (Linux: 20).
        pub smooth_part: f64 = 20.0, in 1.0..=10_000.0;
        /// Factor of the growth above `low_window`. Linux multiplies by its estimate of segments per ACK, since it counts ACKs; here
        /// segments count. Its estimate stays at 31/16 when every segment is acknowledged.
        pub ack_compensation: f64 = 1.0, in 0.1..=10.0;
        /// Whether to release bandwidth faster when the window shrinks from loss to loss.
        pub fast_convergence: bool = true;
    }
}

/// Segments by which the window grows a round trip when the last loss came at `w_max`.
pub fn increment(cwnd: f64, w_max: f64, parameters: &Parameters) -> f64 {
    let Parameters { low_window, max_increment, search, smooth_part, ack_compensation, .. } = *parameters;
    if cwnd <= low_window {
        return 1.0;
    }
    let smooth = search / smooth_part;
    let step = if cwnd < w_max {
        let step = (w_max - cwnd) / search;
        if step < 2.0 { smooth } else { step }
    } else {
        let beyond = cwnd - w_max;
        if beyond < search { smooth } else { beyond / (search - 1.0) }
    };
    step.min(max_increment) * ack_compensation
}

/// The least growth a round trip while no loss is remembered, as a share of the window (Linux).
const WITHOUT_MAXIMUM: f64 = 0.05;

/// The window to search for after a loss at `window` (paper section III, fast convergence). If it has shrunk since the loss
/// before, this is the middle between the window and its remainder.
pub fn maximum_after_loss(window: f64, w_max: f64, beta: f64, fast_convergence: bool) -> f64 {
    if fast_convergence && window < w_max { window * (1.0 + beta) / 2.0 } else { window }
}

/// BIC's state.
pub type Bic = LossBased<BinarySearch>;

/// The binary search.
#[derive(Debug, Clone)]
pub struct BinarySearch {
    parameters: Parameters,
    /// The window to search for; zero if there is none.
    w_max: f64,
    w_max_before: f64,
}

impl IncreaseDecrease for BinarySearch {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> BinarySearch {
        BinarySearch { parameters, w_max: 0.0, w_max_before: 0.0 }
    }

    fn increase(&mut self, cwnd: f64, _ack: &AckEvent) -> f64 {
        let increment = increment(cwnd, self.w_max, &self.parameters);
        if self.w_max == 0.0 && cwnd > self.parameters.low_window {
            increment.max(WITHOUT_MAXIMUM * cwnd * self.parameters.ack_compensation)
        } else {
            increment
        }
    }

    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64 {
        let Parameters { beta, low_window, fast_convergence, .. } = self.parameters;
        self.w_max_before = self.w_max;
        self.w_max = match event.kind {
            CongestionKind::Timeout { .. } => 0.0,
            _ => maximum_after_loss(window, self.w_max, beta, fast_convergence),
        };
        window * if window <= low_window { 0.5 } else { beta }
    }

    fn undo(&mut self) {
        self.w_max = self.w_max_before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, near};

    #[test]
    fn increments_towards_the_old_window_and_beyond() {
        let of = |cwnd| increment(cwnd, 1000.0, &Parameters::default());
        assert_eq!(of(14.0), 1.0);
        assert_eq!(of(800.0), 16.0); // a quarter of 200, capped
        assert_eq!(of(960.0), 10.0); // a quarter of 40
        assert_eq!(of(992.0), 2.0);
        assert_eq!(of(992.5), 0.2); // 4 segments in 20 round trips
        assert_eq!(of(1003.0), 0.2);
        assert_eq!(of(1012.0), 4.0); // a third of 12
        assert_eq!(of(1200.0), 16.0);
    }

    #[test]
    fn fast_convergence_searches_below_a_window_that_shrinks() {
        near(maximum_after_loss(900.0, 1000.0, 0.8, true), 810.0, 1e-9);
        assert_eq!(maximum_after_loss(900.0, 1000.0, 0.8, false), 900.0);
        assert_eq!(maximum_after_loss(1100.0, 1000.0, 0.8, true), 1100.0);
    }

    #[test]
    fn the_window_comes_back_fast_and_then_stays_near_its_maximum() {
        let mut path = Ideal::new(Bic::new(Parameters::default(), flow(1)));
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 799.8, 0.1);
        path.acks_for(1.0);
        near(path.control.cwnd(), 956.0, 3.0); // 8.5 round trips of 16 to 936, then a quarter of the way each
        path.acks_for(2.0);
        near(path.control.cwnd(), 995.0, 3.0); // 8 before it after 7.5 round trips, then a fifth each
        path.acks_for(4.0);
        near(path.control.cwnd(), 1002.0, 3.0);
        path.acks_for(4.0);
        assert!(path.control.cwnd() > 1150.0, "{}", path.control.cwnd());
    }

    #[test]
    fn a_small_window_is_halved() {
        let mut path = Ideal::new(Bic::new(Parameters::default(), flow(1)));
        path.congestion(CongestionKind::Loss);
        assert_eq!(path.control.cwnd(), 5.0);
    }

    #[test]
    fn after_a_timeout_there_is_no_maximum_and_growth_is_5_percent() {
        let mut path = Ideal::new(Bic::new(Parameters::default(), flow(1)));
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Timeout { repeated: false });
        path.grow_to(799.0);
        path.grow_to(800.0);
        path.acks_for(0.1);
        near(path.control.cwnd(), 840.0, 2.5);
    }

    #[test]
    fn after_a_timeout_a_low_window_grows_as_reno() {
        let mut path = Ideal::new(Bic::new(Parameters { low_window: 100.0, ..Parameters::default() }, flow(1)));
        path.grow_to(100.0);
        path.congestion(CongestionKind::Timeout { repeated: false });
        path.grow_to(60.0); // slow start ends at 50
        let before = path.control.cwnd();
        path.acks_for(1.0);
        near(path.control.cwnd(), before + 10.0, 0.5);
    }

    #[test]
    fn an_undo_brings_the_maximum_back() {
        let mut path = Ideal::new(Bic::new(Parameters::default(), flow(1)));
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Loss);
        path.acks_for(1.0);
        let before = path.control.cwnd();
        path.congestion(CongestionKind::Loss);
        path.control.undo();
        assert_eq!(path.control.cwnd(), before);
        path.acks_for(2.0);
        near(path.control.cwnd(), 995.0, 3.0);
    }
}
