//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", 2003): every acknowledged segment
//! adds a fixed amount to the window. So the time to recover from a loss does not depend on the window.

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent};

crate::parameters! {
    /// Scalable TCP's constants.
    pub struct Parameters {
        /// Segments by which the window grows for each one acknowledged (Kelly 2003: 0.01; Linux: 0.02, for delayed ACKs).
        pub increase: f64 = 0.01, in 0.0001..=0.5;
        /// Share of the window that a loss takes (Kelly 2003: 1/8).
        pub decrease: f64 = 0.125, in 0.01..=0.9;
        /// Window up to which it is Reno, segments (Kelly 2003, the legacy window: 16; Linux has none).
        pub legacy_window: f64 = 16.0, in 0.0..=100_000.0;
        /// Whether the window always grows by at least one segment a round trip, as in Linux.
        pub at_least_reno: bool = false;
    }
}

/// Mean window if one of 1/`p` segments is lost: these segments, divided by the round trips from one loss to the next. The window
/// grows exponentially from (1 - b) W to W in -ln(1 - b) / a round trips.
pub fn average_window(increase: f64, decrease: f64, p: f64) -> f64 {
    increase / (p * -libm::log(1.0 - decrease))
}

/// Round trips from a loss until the window has recovered: independent of the window (Kelly 2003 section 3).
pub fn recovery_time(increase: f64, decrease: f64) -> f64 {
    -libm::log(1.0 - decrease) / libm::log(1.0 + increase)
}

/// Scalable TCP's state.
pub type Scalable = LossBased<Exponential>;

/// Exponential growth.
#[derive(Debug, Clone)]
pub struct Exponential(Parameters);

impl IncreaseDecrease for Exponential {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> Exponential {
        Exponential(parameters)
    }

    fn increase(&mut self, cwnd: f64, _ack: &AckEvent) -> f64 {
        let Parameters { increase, legacy_window, at_least_reno, .. } = self.0;
        let scalable = increase * cwnd;
        if cwnd <= legacy_window || (at_least_reno && scalable < 1.0) { 1.0 } else { scalable }
    }

    fn decrease(&mut self, window: f64, _event: &CongestionEvent) -> f64 {
        window * if window <= self.0.legacy_window { 0.5 } else { 1.0 - self.0.decrease }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, RTT, near};
    use crate::tcp::events::CongestionKind;

    #[test]
    fn kelly_2003_section_3_recovers_in_2_7_s_at_200_ms_whatever_the_window() {
        near(recovery_time(0.01, 0.125), 13.42, 0.005);
        near(recovery_time(0.01, 0.125) * 0.2, 2.7, 0.05);
        for window in [100.0, 10_000.0] {
            let mut path = Ideal::new(Scalable::new(Parameters::default(), flow(1)));
            path.grow_to(window);
            path.congestion(CongestionKind::Loss);
            near(path.control.cwnd(), 0.875 * window, 1.0);
            let start = path.now;
            path.grow_to(window);
            near(path.now.since(start).as_secs() / RTT.as_secs(), 13.42, 0.15);
        }
    }

    #[test]
    fn an_acknowledged_segment_adds_a_hundredth() {
        let mut path = Ideal::new(Scalable::new(Parameters::default(), flow(1)));
        path.grow_to(200.0);
        path.congestion(CongestionKind::Loss);
        let cwnd = path.control.cwnd();
        (0..100).for_each(|_| path.ack(1));
        near(path.control.cwnd(), cwnd + 1.0, 1e-9);
    }

    #[test]
    fn up_to_the_legacy_window_it_is_reno() {
        let mut law = Exponential::new(Parameters::default());
        let event = CongestionEvent { now: crate::units::Time::ZERO, kind: CongestionKind::Loss, prior_in_flight: 0 };
        assert_eq!((law.decrease(16.0, &event), law.decrease(17.0, &event)), (8.0, 14.875));
        let mut path = Ideal::new(Scalable::new(Parameters::default(), flow(1)));
        path.congestion(CongestionKind::Loss); // of the initial window of 10
        path.acks_for(0.95);
        near(path.control.cwnd(), 5.0 + 9.5, 0.6);
    }

    #[test]
    fn mean_window_under_periodic_loss() {
        for p in [1e-4, 3e-5] {
            let expected = average_window(0.01, 0.125, p);
            let mut path = Ideal::new(Scalable::new(Parameters::default(), flow(1)));
            near(path.average(p, expected, 200), expected, 0.02 * expected);
        }
    }

    #[test]
    fn linux_has_no_legacy_window_and_at_least_the_growth_of_reno() {
        let linux = Parameters { increase: 0.02, legacy_window: 0.0, at_least_reno: true, ..Parameters::default() };
        let mut path = Ideal::new(Scalable::new(linux, flow(1)));
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 8.75, 1e-9);
        path.acks_for(1.0);
        near(path.control.cwnd(), 18.75, 0.7);
    }
}
