//! Controls that come with the scenario: Reno's window compared with worked numbers, and controls that are refused or
//! fail.

use super::super::{PredictError, Prediction, Watch};
use super::{RENO, line, near};
use crate::predict::network::laws::law::Law;
use crate::predict::network::laws::observed::Observed;
use crate::spec::{RunSpec, StackSpec};
use crate::tcp::congestion::Snapshot;
use crate::tcp::congestion::choice::ControlSpec;
use crate::tcp::congestion::custom::{ControlFactory, CustomSpec};
use crate::tcp::congestion::linux::LinuxControl;
use crate::tcp::congestion::supervision::Supervision;
use crate::tcp::congestion::{CongestionControl, Demands, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::Rate;
use serde_json::{Value, json};
use std::sync::Arc;

/// A control that halves its window at a loss, with optional deviations.
#[derive(Debug, Clone, Default)]
struct Halving {
    cwnd: f64,
    has_lost: bool,
    /// Grows per ACK instead of per segment.
    counts_acks: bool,
    /// Never changes its window after the first loss.
    ignores_losses: bool,
    /// Keeps three segments in the queue.
    avoids_queues: bool,
    paces: bool,
    samples_rates: bool,
    /// Fails at the first loss.
    fails: bool,
    fault: Supervision,
}

impl CongestionControl for Halving {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        if ack.growth > 0 && !(self.ignores_losses && self.has_lost) {
            let growth = if self.counts_acks { 1.0 } else { f64::from(ack.growth) };
            self.cwnd += if self.has_lost { growth / self.cwnd } else { growth };
        }
        if let (true, true, Some(now), Some(least)) = (self.avoids_queues, ack.round_start, ack.rtt, rtt.minimum()) {
            self.cwnd = self.cwnd.min(3.0 / (1.0 - least.as_secs() / now.as_secs()).max(1e-3)).max(2.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        self.has_lost = true;
        if self.fails {
            self.fault.record(event.now, "line 7: KeyError: 'loss'".into());
        } else if !self.ignores_losses {
            self.cwnd = (self.cwnd / 2.0).max(2.0);
        }
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.paces.then(|| Rate::from_bps(1e6))
    }

    fn demands(&self) -> Demands {
        Demands { rate_samples: self.samples_rates, ..Demands::default() }
    }
}

impl LinuxControl for Halving {}

impl ControlFactory for Halving {
    fn build(&self, flow: FlowContext, fault: &Supervision) -> Box<dyn Snapshot> {
        Box::new(Halving { cwnd: f64::from(flow.initial_window), fault: fault.clone(), ..self.clone() })
    }
}

/// A run of one flow with this control. Its receiver sends ACKs according to `ack`.
fn run(control: Halving, ack: &Value) -> RunSpec {
    let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40, "ack": ack}), 0.0);
    let mut custom: CustomSpec = serde_json::from_value(json!({"python": "", "class": "Mine"})).expect("a control");
    custom.provide(Arc::new(control));
    spec.stacks[0].congestion = ControlSpec::Custom(custom);
    spec
}

fn immediate() -> Value {
    json!({"name": "immediate"})
}

fn predict(control: Halving, threads: usize) -> Result<Prediction, PredictError> {
    super::super::predict(run(control, &immediate()), threads, &Watch::default()).map(|(prediction, _)| prediction)
}

#[test]
fn a_control_that_counts_segments_has_renos_window() {
    let stack = |ack: Value| -> StackSpec { run(Halving::default(), &ack).stacks[0].clone() };
    for ack in [immediate(), json!({"name": "delayed", "every": 2})] {
        let mine = Observed::new(&stack(ack), false);
        // Rarer events need too many calls, so the line through the others is extrapolated.
        for (events, rtt_s) in [(0.0005, 0.05), (0.002, 0.02), (0.02, 0.1), (0.1, 0.005)] {
            let expected = RENO.window(events, rtt_s, 1.0) * (1.0 - events);
            near(mine.balance(events, rtt_s, rtt_s, 1.0).window, expected, 0.1);
        }
    }
}

#[test]
fn a_control_that_counts_acks_is_found_out() {
    for (ack, increase) in [(immediate(), 1.0), (json!({"name": "delayed", "every": 2}), 0.5)] {
        let spec = run(Halving { counts_acks: true, ..Halving::default() }, &ack);
        let mine = Observed::new(&spec.stacks[0], false);
        for events in [0.03, 0.06, 0.1] {
            let expected = Law { increase, ..RENO }.window(events, 0.05, 1.0) * (1.0 - events);
            near(mine.balance(events, 0.05, 0.05, 1.0).window, expected, 0.15);
        }
    }
}

#[test]
fn it_fills_its_link_with_any_number_of_threads() {
    let found = predict(Halving::default(), 1).expect("a prediction");
    near(found.flows[0].goodput_bps, 1e7 * 1460.0 / 1500.0, 5e-3);
    assert_eq!(predict(Halving::default(), 3).expect("a prediction"), found);
}

#[test]
fn what_an_ideal_path_does_not_show_is_refused_by_name() {
    let usual = Halving::default();
    for (control, expected) in [
        (Halving { paces: true, ..usual.clone() }, "stack s: its congestion control paces its packets"),
        (Halving { samples_rates: true, ..usual.clone() }, "stack s: its congestion control measures delivery rates"),
        (Halving { ignores_losses: true, ..usual.clone() }, "stack s: its congestion control hardly answers losses"),
        (Halving { avoids_queues: true, ..usual }, "stack s: its congestion control hardly answers losses"),
    ] {
        let message = predict(control, 1).expect_err("a refusal").to_string();
        let expected = expected.replace("stack s:", &format!("stack {}:", name()));
        assert!(message.contains(&expected) && message.contains("--engine packet"), "{message}");
    }
}

#[test]
fn its_failure_is_an_error_with_its_place() {
    let message = predict(Halving { fails: true, ..Halving::default() }, 1).expect_err("a fault").to_string();
    let expected = format!("stack '{}', congestion, observed over an ideal path, at 0.0", name());
    assert!(message.starts_with(&expected), "{message}");
    assert!(message.ends_with("line 7: KeyError: 'loss'"), "{message}");
}

fn name() -> String {
    run(Halving::default(), &immediate()).stacks[0].name.clone()
}
