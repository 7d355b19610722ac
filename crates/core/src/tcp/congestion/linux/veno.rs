//! Veno as Linux has it, in whole segments (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks",
//! JSAC 21(2), 2003). It is Reno that grows more slowly with a backlog. At a loss without one it takes a fifth of the window.
//!
//! Differences from the paper:
//! - The backlog is taken at every ACK, from its own RTT, in whole halves of a segment. An ACK without an RTT counts as congestion,
//!   unless there was none since a restart.
//! - Growth at a long queue needs a window of acknowledged segments twice. An ACK that completes one counts for nothing.
//! - While segments arrive out of order it is Reno.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// Halves of a segment in the queue from which on the path counts as congested.
const BETA: u32 = 6;
/// An unknown RTT, microseconds.
const UNKNOWN: u64 = 0x7fff_ffff;
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
    is_reno: bool,
}

impl ByBacklog {
    fn forget(&mut self) {
        (self.base, self.last, self.grows) = (None, None, true);
    }
}

impl Rules for ByBacklog {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> ByBacklog {
        ByBacklog { base: None, last: None, samples: 0, backlog: 0, grows: true, is_reno: false }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, _state: State, _rtt: &RttEstimate) {
        if let Some(rtt) = ack.rtt {
            let micros = rtt.0 / Duration::from_micros(1).0 + 1;
            self.base = Some(self.base.map_or(micros, |base| base.min(micros)));
            self.last = Some(self.last.map_or(micros, |last| last.min(micros)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn grow(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent, _rtt: &RttEstimate) {
        if self.is_reno {
            window.grow_as_reno(acked);
            return;
        }
        let last = self.last.take();
        if self.samples <= LEAST_SAMPLES {
            window.grow_as_reno(acked);
            return;
        }
        self.backlog = backlog(window.cwnd, self.base.unwrap_or(UNKNOWN), last.unwrap_or(UNKNOWN));
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
        self.is_reno = true;
        if self.backlog < BETA { cwnd * 4 / 5 } else { cwnd / 2 }
    }

    fn on_open(&mut self) {
        (self.is_reno, self.last) = (false, None);
    }

    fn on_disorder(&mut self) {
        self.is_reno = true;
    }

    fn on_restart(&mut self) {
        self.forget();
        self.is_reno = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::{flow, rtt_estimate};
    use crate::tcp::congestion::testing::ideal::{Ideal, RTT};
    use crate::tcp::events::CongestionKind;

    #[test]
    fn the_backlog_counts_halves_of_a_segment() {
        assert_eq!(backlog(60, 50_000, 60_000), 20);
        assert_eq!(backlog(61, 50_000, 50_000), 0);
    }

    /// A restart forgets the least RTT. Without any RTT since, Linux compares two equal placeholders: no backlog, and a loss takes a fifth.
    #[test]
    fn an_ack_without_an_rtt_counts_as_congestion_if_the_least_rtt_is_known() {
        for (restarts, backlog) in [(false, 200), (true, 0)] {
            let mut rules = ByBacklog::new(Parameters::default(), &flow(1));
            let (mut window, rtt) = (Window { ssthresh: 50, ..Window::new(100) }, rtt_estimate());
            let ack = AckEvent { rtt: Some(RTT), ..AckEvent::PREDICTED };
            (0..3).for_each(|_| rules.observe(&mut window, &ack, State::Open, &rtt));
            rules.grow(&mut window, 1, &ack, &rtt);
            if restarts {
                rules.on_restart();
            }
            rules.grow(&mut window, 1, &AckEvent::PREDICTED, &rtt);
            assert_eq!(rules.backlog, backlog);
        }
    }

    /// The queue halves Veno's growth: from 50, a hundred segments acknowledged add one, and then two hundred each. A late segment leaves growth to Reno
    /// (`TCP_CA_Disorder`).
    #[test]
    fn while_segments_arrive_out_of_order_it_is_reno() {
        let growth = [0, 1].map(|sacked| {
            let mut path = Ideal::new(LinuxVeno::new(Parameters::default(), flow(1)));
            path.grow_to(100.0);
            path.ack_after(RTT * 2, 1);
            path.congestion(CongestionKind::Loss);
            path.control.on_recovered();
            path.sacked = sacked;
            let before = path.control.cwnd();
            (0..1000).for_each(|_| path.ack_after(RTT * 2, 1));
            path.control.cwnd() - before
        });
        // The square of the window grows by two for each segment acknowledged, and with a queue by one.
        assert_eq!(growth, [9.0, 17.0]);
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
