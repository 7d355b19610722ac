//! HighSpeed TCP as Linux has it: the table of RFC 3649 appendix B, in whole segments.
//!
//! The table is computed. Its windows are within 0.3 % of Linux's, and within 5 % in the last row, above 84,000 segments.
//!
//! Differences from [`highspeed`](crate::tcp::congestion::loss_based::highspeed):
//! - Growth counts ACKs, not segments, so that delayed ACKs halve it. An ACK adds at most one segment.
//! - The row of the table is looked up in congestion avoidance only. So the loss that ends slow start halves the window.
//! - The decrease is that of the row's window, in whole 256ths.

use super::based::{LinuxBased, Rules};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::congestion::loss_based::highspeed;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// Rows of the table.
const ROWS: u32 = 72;
/// Greater than the windows of the table.
const LARGEST_WINDOW: u32 = 100_000;

/// a(w): segments by which the window `w` grows a round trip (RFC 3649 section 7, with `p(w) = 0.078/w^1.2` of section 5).
pub fn increase(w: f64) -> f64 {
    let b = highspeed::decrease(w, &highspeed::Parameters::default());
    w * w * (0.078 / libm::pow(w, 1.2)) * 2.0 * b / (2.0 - b)
}

/// A row: up to the window `to` it grows by `increase` segments a round trip, and a loss takes `decrease`/256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The windows of the row are above this.
    from: u32,
    /// The greatest window.
    to: u32,
    /// a(w) of RFC 3649.
    increase: u32,
    /// b(w) of RFC 3649, in 256ths.
    decrease: u32,
}

impl Row {
    /// The row that grows by `increase` segments.
    pub fn new(increase: u32) -> Row {
        let to = greatest_window(increase);
        let decrease = (256.0 * highspeed::decrease(f64::from(to), &highspeed::Parameters::default())) as u32;
        Row { from: greatest_window(increase - 1), to, increase, decrease }
    }

    /// The row of a window, from this one on.
    pub fn of(mut self, cwnd: u32) -> Row {
        while cwnd > self.to && self.increase < ROWS {
            self = Row::new(self.increase + 1);
        }
        while cwnd <= self.from {
            self = Row::new(self.increase - 1);
        }
        self
    }
}

/// The greatest window of the row that grows by `segments`: the least whose growth is as large.
fn greatest_window(segments: u32) -> u32 {
    let low_window = highspeed::Parameters::default().low_window as u32;
    match segments {
        0 => 0,
        1 => low_window,
        _ => {
            let (mut low, mut high) = (low_window, LARGEST_WINDOW);
            while high - low > 1 {
                let middle = u32::midpoint(low, high);
                *(if increase(f64::from(middle)) < f64::from(segments) { &mut low } else { &mut high }) = middle;
            }
            high
        }
    }
}

/// The algorithm's state.
pub type LinuxHighSpeed = LinuxBased<ByWindow>;

/// The row of the table.
#[derive(Debug, Clone)]
pub struct ByWindow {
    row: Row,
}

impl Rules for ByWindow {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> ByWindow {
        ByWindow { row: Row::new(1) }
    }

    fn grow(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent, _rtt: &RttEstimate) {
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        self.row = self.row.of(window.cwnd);
        window.credit += self.row.increase;
        if window.credit >= window.cwnd {
            window.credit -= window.cwnd;
            window.cwnd += 1;
        }
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        cwnd - (u64::from(cwnd) * u64::from(self.row.decrease) / 256) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::Ideal;
    use crate::tcp::events::CongestionKind;

    /// RFC 3649 appendix B: windows 38, 118, 221 and 347 with decreases of 0.50, 0.44, 0.41 and 0.38.
    #[test]
    fn rfc3649_appendix_b_the_rows() {
        let rows = [1, 2, 3, 4].map(Row::new).map(|row| (row.from, row.to, row.decrease));
        assert_eq!(rows, [(0, 38, 128), (38, 118, 112), (118, 221, 104), (221, 347, 98)]);
        assert_eq!([38, 39, 221, 222].map(|cwnd| Row::new(1).of(cwnd).increase), [1, 2, 3, 4]);
        assert_eq!(Row::new(4).of(30), Row::new(1));
        assert_eq!(Row::new(1).of(u32::MAX).increase, ROWS);
    }

    #[test]
    fn growth_counts_acks() {
        let mut path = Ideal::new(LinuxHighSpeed::new(Parameters::default(), flow(1)));
        path.grow_to(200.0);
        path.congestion(CongestionKind::Loss);
        assert_eq!(path.control.cwnd(), 100.0); // the row is still the first: halved
        (0..50).for_each(|_| path.ack(2)); // the second row: 50 ACKs of 2 segments add 2 * 50 / 100 of a segment
        assert_eq!(path.control.cwnd(), 101.0);
        path.congestion(CongestionKind::Loss);
        assert_eq!(path.control.cwnd(), 57.0); // 101 - 101 * 112 / 256
    }
}
