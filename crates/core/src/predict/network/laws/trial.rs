//! Tests of a control that comes with the scenario, over an ideal path: whether it counts ACKs, and whether it reacts to events.

use super::ideal_path::FEW;
use super::law::{Balance, segments_per_ack};
use super::observed::{EVENTS, GREATEST, LEAST_REDUCTION, Observed, Setting};
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::choice::ControlSpec;

/// RTT at which the test for counting ACKs observes a control, seconds.
const TRIED_RTT_S: f64 = 1.0 / 16.0;
/// Least number of ACKs per window in this test, so that [`FEW`] makes a difference.
const TRIED_ACKS: f64 = 4.0 * FEW as f64;
/// Windows whose logarithms differ by less than this count as equal.
const SAME_WINDOW: f64 = 0.1;
/// Events per round trip, frequent and rare. A control that reacts to events has clearly different windows at these two rates.
const ANSWERED: [f64; 2] = [0.2, 0.03];
/// Least ratio of these two windows. It is 6.7 for Reno.
const LEAST_ANSWER: f64 = 2.0;

impl Observed {
    /// Whether the control counts ACKs instead of the segments that they acknowledge. Controls that come with the scenario are tested.
    pub(super) fn counts_acks(&self) -> bool {
        use CongestionSpec::{LinuxHighSpeed, LinuxHybla};
        match &self.stack.congestion {
            ControlSpec::Named(control) => matches!(control, LinuxHighSpeed(_) | LinuxHybla(_)),
            _ => *self.counts_acks.get_or_init(|| self.differs_with_all_acks()),
        }
    }

    /// Whether the window changes if the path sends as many ACKs as the receiver. The test uses events for which a window has enough ACKs.
    fn differs_with_all_acks(&self) -> bool {
        let window = |events: f64, all_acks: bool| {
            let setting = Setting { events, rtt_s: TRIED_RTT_S, least_s: TRIED_RTT_S, random: false, all_acks };
            self.observe(setting).map(|(balance, _)| balance.window)
        };
        let mut tried = None;
        for events in EVENTS.into_iter().rev() {
            let Some(all) = window(events, true) else { break };
            tried = Some((events, all));
            if all >= TRIED_ACKS * segments_per_ack(&self.stack.ack) {
                break;
            }
        }
        let differs = |(events, all): (f64, f64)| window(events, false).map(|few| (all / few).ln().abs() > SAME_WINDOW);
        tried.and_then(differs).unwrap_or(true)
    }

    /// Whether events reduce the window, and rare events leave a clearly larger window than frequent events. The path has this RTT; `idle_s` is the
    /// RTT without queues.
    pub fn answers_events(&self, rtt_s: f64, idle_s: f64) -> bool {
        let [frequent, rare] = ANSWERED.map(|events| {
            let all_acks = self.counts_acks();
            self.observe(Setting { events, rtt_s, least_s: idle_s, random: false, all_acks })
                .map(|(balance, _)| balance)
        });
        let window = |balance: Option<Balance>| balance.map_or(GREATEST, |balance| balance.window);
        let reduces = frequent.is_some_and(|balance| balance.remaining.ln() < -LEAST_REDUCTION);
        reduces && window(rare) >= LEAST_ANSWER * window(frequent)
    }
}
