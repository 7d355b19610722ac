//! Veno as Linux has it, in whole segments (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks",
//! JSAC 21(2), 2003). It is Reno that grows more slowly with a backlog. At a loss without one it takes a fifth of the window.
//!
//! Differences from the paper:
//! - The backlog is taken at every ACK, from its own RTT, in whole halves of a segment. An ACK without an RTT counts as congestion.
//! - Growth at a long queue needs a window of acknowledged segments twice. An ACK that completes one counts for nothing.
//! - During recovery after a timeout it is Reno.

use super::FlowContext;
use super::linux_based::{LinuxBased, Rules};
use super::linux_window::Window;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// Halves of a segment in the queue from which on the path counts as congested.
const BETA: u32 = 6;
/// RTT samples before the first judgement.
const LEAST_SAMPLES: u32 = 2;

/// The backlog in halves of a segment (Fu and Liew 2003, equation 1): the window's share of the queueing delay.
pub fn backlog(cwnd: u32, base: u64, rtt: u64) -> u32 {
    2 * cwnd - (2 * u64::from(cwnd) * base / rtt) as u32
}

/// The algorithm's state.
pub type LinuxVeno = LinuxBased<ByBacklog>;

/// The measurements; RTTs in microseconds.
#[derive(Debug, Clone)]
pub struct ByBacklog {
    base: Option<u64>,
    last: Option<u64>,
    samples: u32,
    backlog: u32,
    /// Whether the next window of acknowledged segments grows a congested flow.
    grows: bool,
    recovering: bool,
}

impl ByBacklog {
    fn forget(&mut self) {
        (self.base, self.last, self.grows) = (None, None, true);
    }
}

impl Rules for ByBacklog {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> ByBacklog {
        ByBacklog { base: None, last: None, samples: 0, backlog: 0, grows: true, recovering: false }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, _open: bool, _rtt: &RttEstimate) {
        if let Some(rtt) = ack.rtt {
            let micros = rtt.0 / Duration::from_micros(1).0 + 1;
            self.base = Some(self.base.map_or(micros, |base| base.min(micros)));
            self.last = Some(self.last.map_or(micros, |last| last.min(micros)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn grow(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent, _rtt: &RttEstimate) {
        if self.recovering {
            window.grow_as_reno(acked);
            return;
        }
        let last = self.last.take();
        if self.samples <= LEAST_SAMPLES {
            window.grow_as_reno(acked);
            return;
        }
        let measured = self.base.zip(last);
        self.backlog = measured.map_or(2 * window.cwnd, |(base, last)| backlog(window.cwnd, base, last));
        let rest = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if rest > 0 && self.backlog < BETA {
            window.grow(window.cwnd, rest);
        } else if rest > 0 && window.credit < window.cwnd {
            window.credit += rest;
        } else if rest > 0 {
            window.cwnd += u32::from(self.grows);
            self.grows = !self.grows;
            window.credit = 0;
        }
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        self.recovering = true;
        if self.backlog < BETA { cwnd * 4 / 5 } else { cwnd / 2 }
    }

    fn on_recovered(&mut self, _window: &mut Window, _timeout: bool) {
        (self.recovering, self.last) = (false, None);
    }

    fn on_restart(&mut self) {
        self.forget();
        self.recovering = false;
    }

    fn undo(&mut self) {
        self.recovering = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionControl;
    use super::super::bottleneck::flow;
    use super::super::ideal::{Ideal, RTT};
    use super::*;
    use crate::tcp::events::CongestionKind;

    #[test]
    fn the_backlog_counts_halves_of_a_segment() {
        assert_eq!(backlog(60, 50_000, 60_000), 20);
        assert_eq!(backlog(61, 50_000, 50_000), 0);
    }

    #[test]
    fn without_a_queue_a_loss_takes_a_fifth_and_with_one_a_half() {
        for (rtt, remains) in [(RTT, 80.0), (RTT.scale(1.1), 50.0)] {
            let mut path = Ideal::new(LinuxVeno::new(Parameters::default(), flow(1)));
            path.grow_to(100.0);
            path.ack_after(rtt, 0);
            path.ack_after(rtt, 1);
            let cwnd = path.control.cwnd();
            path.congestion(CongestionKind::Loss);
            assert!((path.control.cwnd() - remains * cwnd / 100.0).abs() <= 1.0, "{}", path.control.cwnd());
        }
    }
}
