//! Properties that hold for every model and every path.

use super::Flow;
use super::models::{Domain, FLOW, MODELS, Model};
use super::padhye::{self, Timing};
use proptest::prelude::*;

/// Argument values that are realistic for a network and its stack.
fn values(model: &'static Model) -> impl Strategy<Value = Vec<f64>> {
    let flow = (100.0..9000.0_f64, 1e-4..1.0_f64, -9.0..-0.4_f64, 1.0..7.0_f64, prop::bool::ANY).prop_map(
        |(mss, rtt, loss, window, limited)| {
            vec![mss, rtt, 10_f64.powf(loss), if limited { 10_f64.powf(window) } else { f64::INFINITY }]
        },
    );
    let rest: Vec<BoxedStrategy<f64>> = model
        .arguments
        .iter()
        .map(|argument| match (argument.name, argument.domain) {
            ("timeout_s", _) => (0.2..3.0_f64).boxed(),
            (_, Domain::AtLeastOne) => (1.0..4.0_f64).boxed(),
            (_, Domain::Share) => (0.01..0.95_f64).boxed(),
            _ => (0.01..2.0_f64).boxed(),
        })
        .collect();
    (flow, rest).prop_map(|(flow, rest)| [flow, rest].concat())
}

fn any_model() -> impl Strategy<Value = (&'static Model, Vec<f64>)> {
    (0..MODELS.len()).prop_flat_map(|index| (Just(&MODELS[index]), values(&MODELS[index])))
}

const RTT: usize = 1;
const LOSS: usize = 2;
const MAX_WINDOW: usize = 3;

fn with(values: &[f64], index: usize, value: f64) -> Vec<f64> {
    let mut changed = values.to_vec();
    changed[index] = value;
    changed
}

proptest! {
    #[test]
    fn the_strategy_stays_in_the_domains((model, values) in any_model()) {
        for (argument, value) in FLOW.iter().chain(model.arguments).zip(&values) {
            prop_assert!(argument.domain.contains(*value), "{} {value}", argument.name);
        }
    }

    #[test]
    fn no_model_exceeds_its_window((model, values) in any_model()) {
        let rate = model.evaluate(&values);
        prop_assert!(rate > 0.0 && rate <= values[MAX_WINDOW] * 8.0 * values[0] / values[RTT] * (1.0 + 1e-12), "{rate}");
    }

    #[test]
    fn more_loss_is_never_faster((model, values) in any_model(), factor in 1.0..100.0_f64) {
        // With a receiver's window, PFTK's full model has a step between its two formulas for round trips.
        let values = if model.name == "padhye" { with(&values, MAX_WINDOW, f64::INFINITY) } else { values };
        let more = with(&values, LOSS, (values[LOSS] * factor).min(0.9));
        prop_assert!(model.evaluate(&more) <= model.evaluate(&values) * (1.0 + 1e-12));
    }

    #[test]
    fn a_longer_round_trip_is_never_faster((model, values) in any_model(), factor in 1.0..100.0_f64) {
        let longer = with(&values, RTT, values[RTT] * factor);
        prop_assert!(model.evaluate(&longer) <= model.evaluate(&values) * (1.0 + 1e-12));
    }

    #[test]
    fn rates_are_proportional_to_the_segment((model, values) in any_model(), factor in 0.01..100.0_f64) {
        let larger = model.evaluate(&with(&values, 0, values[0] * factor));
        prop_assert!((larger / (model.evaluate(&values) * factor) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn rates_are_inverse_to_all_times((model, values) in any_model(), factor in 0.01..100.0_f64) {
        // CUBIC grows with real time. The other models depend only on the round-trip time and the timeout.
        if model.name == "cubic" {
            return Ok(());
        }
        let mut slower = with(&values, RTT, values[RTT] * factor);
        if model.arguments.first().is_some_and(|argument| argument.name == "timeout_s") {
            slower[FLOW.len()] *= factor;
        }
        prop_assert!((model.evaluate(&slower) * factor / model.evaluate(&values) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_short_form_is_near_the_full_model_and_the_nearer_the_less_loss(
        loss in -9.0..-1.53_f64, rtt_s in 0.001..0.5_f64, of_rtt in 1.0..20.0_f64, packets_per_ack in 1.0..2.0_f64
    ) {
        let loss = 10_f64.powf(loss);
        let flow = Flow { mss_bytes: 1460.0, rtt_s, loss, max_window: f64::INFINITY };
        let timing = Timing { packets_per_ack, timeout_s: of_rtt * rtt_s };
        let ratio = padhye::short(flow, timing) / padhye::full(flow, timing);
        prop_assert!((ratio - 1.0).abs() <= 0.3 * loss.sqrt(), "{ratio} at {loss}, timeout {of_rtt} RTT");
    }
}
