//! HighSpeed TCP, RFC 3649: with the window, the increase grows and the decrease shrinks. So a large window needs no
//! unrealistically small loss ratio.

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent};

crate::parameters! {
    /// HighSpeed TCP's constants, which make its response function.
    pub struct Parameters {
        /// Window up to which it is Reno, segments (RFC 3649 section 5, Low_Window: 38).
        pub low_window: f64 = 38.0, in 2.0..=10_000.0;
        /// Loss ratio at which it has that window (Low_P: 0.001).
        pub low_p: f64 = 0.001, in 0.000001..=0.1;
        /// Window of the other point that the response function goes through, segments (High_Window: 83000).
        pub high_window: f64 = 83_000.0, in 20_000.0..=1e9;
        /// Loss ratio at that window (High_P: 1e-7).
        pub high_p: f64 = 1e-7, in 1e-12..=0.0000009;
        /// Share of the window that a loss takes there (section 7, High_Decrease: 0.1).
        pub high_decrease: f64 = 0.1, in 0.01..=0.5;
        /// Whether the next row of the table of appendix B has increase and decrease, as in Linux: a whole increase, and the
        /// decrease at that row's window.
        pub whole_steps: bool = false;
    }
}

/// Window at loss ratio `p` (RFC 3649 section 5): a line between two points, in logarithms.
pub fn response(p: f64, parameters: &Parameters) -> f64 {
    let Parameters { low_window, low_p, high_window, high_p, .. } = parameters;
    let slope = libm::log(high_window / low_window) / libm::log(high_p / low_p);
    low_window * libm::pow(p / low_p, slope)
}

/// Loss ratio at window `w`, the inverse of [`response`].
pub fn loss_ratio(w: f64, parameters: &Parameters) -> f64 {
    let Parameters { low_window, low_p, high_window, high_p, .. } = parameters;
    let slope = libm::log(high_p / low_p) / libm::log(high_window / low_window);
    low_p * libm::pow(w / low_window, slope)
}

/// Share of the window that a loss takes at window `w` (RFC 3649 section 7, b(w)). Beyond High_Window, where the RFC is silent,
/// it is constant.
pub fn decrease(w: f64, parameters: &Parameters) -> f64 {
    let Parameters { low_window, high_window, high_decrease, .. } = parameters;
    let above = libm::log(w / low_window) / libm::log(high_window / low_window);
    0.5 + (high_decrease - 0.5) * above.clamp(0.0, 1.0)
}

/// Segments by which the window `w` grows a round trip (RFC 3649 section 7, a(w)), at least Reno's one.
pub fn increase(w: f64, parameters: &Parameters) -> f64 {
    if w <= parameters.low_window {
        return 1.0;
    }
    let b = decrease(w, parameters);
    (w * w * loss_ratio(w, parameters) * 2.0 * b / (2.0 - b)).max(1.0)
}

/// A window that no flow has, segments: here the search for a row of the table ends.
const LARGEST_WINDOW: f64 = 1e9;

/// The window from which on it grows by `segments` a round trip: the rows of the table of RFC 3649 appendix B.
pub fn window_of_increase(segments: f64, parameters: &Parameters) -> f64 {
    let (mut low, mut high) = (parameters.low_window, parameters.low_window * 2.0);
    while high < LARGEST_WINDOW && increase(high, parameters) < segments {
        high *= 2.0;
    }
    while high - low > 1e-6 * high {
        let middle = (low + high) / 2.0;
        *(if increase(middle, parameters) < segments { &mut low } else { &mut high }) = middle;
    }
    high
}

/// HighSpeed TCP's state.
pub type HighSpeed = LossBased<ByWindow>;

/// a(w) and b(w) for windows above `from` and up to `to`.
#[derive(Debug, Clone, Copy)]
struct Row {
    from: f64,
    to: f64,
    a: f64,
    b: f64,
}

/// Increase and decrease by window.
#[derive(Debug, Clone)]
pub struct ByWindow {
    parameters: Parameters,
    row: Row,
}

impl ByWindow {
    /// The row of `w`, whose search is too long for every ACK.
    fn row(&mut self, w: f64) -> Row {
        if w <= self.row.from || w > self.row.to {
            let a = increase(w, &self.parameters).ceil();
            let from = window_of_increase(a - 1.0, &self.parameters);
            let to = window_of_increase(a, &self.parameters);
            self.row = Row { from, to, a, b: decrease(to, &self.parameters) };
        }
        self.row
    }
}

impl IncreaseDecrease for ByWindow {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> ByWindow {
        ByWindow { parameters, row: Row { from: 0.0, to: parameters.low_window, a: 1.0, b: 0.5 } }
    }

    fn increase(&mut self, cwnd: f64, _ack: &AckEvent) -> f64 {
        if self.parameters.whole_steps { self.row(cwnd).a } else { increase(cwnd, &self.parameters) }
    }

    fn decrease(&mut self, window: f64, _event: &CongestionEvent) -> f64 {
        let b = if self.parameters.whole_steps { self.row(window).b } else { decrease(window, &self.parameters) };
        window * (1.0 - b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, near};
    use crate::tcp::events::CongestionKind;

    fn defaults() -> Parameters {
        Parameters::default()
    }

    #[test]
    fn rfc3649_section_5_table_of_the_response_function() {
        // The RFC rounds the function to 0.12 / p^0.835 first.
        let table = [
            (1e-3, 38.0),
            (1e-4, 263.0),
            (1e-5, 1795.0),
            (1e-6, 12_279.0),
            (1e-7, 83_981.0),
            (1e-8, 574_356.0),
            (1e-9, 3_928_088.0),
            (1e-10, 26_864_653.0),
        ];
        for (p, w) in table {
            near(response(p, &defaults()), w, 0.015 * w);
            near(loss_ratio(response(p, &defaults()), &defaults()), p, 1e-9 * p);
        }
    }

    #[test]
    fn rfc3649_section_7_at_high_window_it_grows_by_72_segments_and_loses_a_tenth() {
        near(increase(83_000.0, &defaults()), 72.0, 0.6);
        near(decrease(83_000.0, &defaults()), 0.1, 1e-9);
        assert_eq!((increase(38.0, &defaults()), decrease(38.0, &defaults())), (1.0, 0.5));
        assert_eq!((increase(10.0, &defaults()), decrease(10.0, &defaults())), (1.0, 0.5));
    }

    #[test]
    fn rfc3649_appendix_b_table() {
        // The RFC rounds the loss ratio to 0.078 / w^1.2 first.
        let table = [
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
            (2378.0, 13.0, 0.28),
            (5036.0, 20.0, 0.25),
            (10_661.0, 30.0, 0.21),
            (19_965.0, 41.0, 0.17),
            (84_035.0, 71.0, 0.10),
        ];
        for (w, a, b) in table {
            near(increase(w, &defaults()), a, 0.032 * a);
            near(decrease(w, &defaults()), b, 0.0051);
            near(increase(window_of_increase(a, &defaults()), &defaults()), a, 1e-4);
        }
    }

    #[test]
    fn whole_steps_are_linux_reading_of_the_table() {
        let mut law = ByWindow::new(Parameters { whole_steps: true, ..defaults() });
        for (w, a, b) in [(10.0, 1.0, 0.5), (38.0, 1.0, 0.5), (41.0, 2.0, 0.44), (115.0, 2.0, 0.44), (130.0, 3.0, 0.41)]
        {
            assert_eq!(law.row(w).a, a, "{w}");
            near(law.row(w).b, b, 0.0051);
        }
    }

    #[test]
    fn rfc3649_section_5_mean_windows_under_periodic_loss() {
        for (p, periods) in [(1e-4, 200), (1e-5, 60)] {
            let mut path = Ideal::new(HighSpeed::new(defaults(), flow(1)));
            let expected = response(p, &defaults());
            near(path.average(p, expected, periods), expected, 0.05 * expected);
        }
    }

    #[test]
    fn a_loss_takes_the_share_of_its_window() {
        let mut path = Ideal::new(HighSpeed::new(defaults(), flow(1)));
        path.grow_to(1058.0);
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 1058.0 * 0.67, 4.0);
    }
}
