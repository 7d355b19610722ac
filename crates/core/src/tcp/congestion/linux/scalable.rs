//! Scalable TCP as Linux has it, in whole segments: one segment per 100 acknowledged, or Reno's growth while the window is smaller.
//! A loss takes an eighth of the window, independent of the flight. Linux has no legacy window.

use super::based::{LinuxBased, Rules};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// How many segments to acknowledge for one more in the window.
pub fn segments_per_increase(cwnd: u32) -> u32 {
    cwnd.min(100)
}

/// The algorithm's state.
pub type LinuxScalable = LinuxBased<Exponential>;

/// The rules have no state besides the window.
#[derive(Debug, Clone)]
pub struct Exponential;

impl Rules for Exponential {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> Exponential {
        Exponential
    }

    fn avoid(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent) {
        window.grow(segments_per_increase(window.cwnd), acked);
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        cwnd - cwnd / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::Ideal;
    use crate::tcp::events::CongestionKind;

    #[test]
    fn from_a_hundred_segments_on_it_grows_a_hundredth() {
        assert_eq!([50, 100, 400].map(segments_per_increase), [50, 100, 100]);
    }

    #[test]
    fn a_loss_takes_a_whole_eighth() {
        let mut path = Ideal::new(LinuxScalable::new(Parameters::default(), flow(1)));
        path.grow_to(407.0);
        path.congestion(CongestionKind::Loss);
        assert_eq!(path.control.cwnd(), 357.0);
        (0..100).for_each(|_| path.ack(1));
        assert_eq!(path.control.cwnd(), 358.0);
    }
}
