//! A run that begins later, with all its events, has the same results: nothing counts from the time zero of the run.

use super::random_run::{MS, build, replace_disciplines, run_spec, without_variations};
use crate::packet::Simulation;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Multiples of this shift the clocks of all stacks by whole periods. Linux's timers round waits of more than 252 ms to slots of 8, 64
/// or 512 ticks, here of 4 ms; the longest is 2,048 ms. Finished flows retire every 100 ms.
const LINUX_PERIOD: u64 = 51_200 * MS;

/// The period of the clocks of the other stacks: finished flows retire every 100 ms.
const PERIOD: u64 = 100 * MS;

fn later(mut spec: Value, by: u64) -> Value {
    let shift = |value: &mut Value| {
        if let Some(at) = value.as_u64() {
            *value = json!(at + by);
        }
    };
    shift(&mut spec["duration"]);
    shift(&mut spec["warm_up"]);
    for group in spec["traffic"].as_array_mut().into_iter().flatten() {
        shift(&mut group["start"]);
        shift(&mut group["stop"]);
    }
    for event in spec["events"].as_array_mut().into_iter().flatten() {
        shift(&mut event["at"]);
    }
    spec
}

/// The results of a run by column, bit for bit, without the two times that are those of the run.
fn results(spec: &Value) -> Vec<(&'static str, Vec<u64>)> {
    let mut simulation: Simulation = build(spec);
    while simulation.advance(1_000_000) {}
    let columns = simulation.flow_table().columns.into_iter().chain(simulation.link_table().columns);
    columns
        .filter(|(name, _)| !matches!(*name, "start_s" | "end_s"))
        .map(|(name, values)| (name, values.bits()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_begins_later_has_the_same_results(spec in run_spec(), periods in 1u64..20) {
        let mut spec = without_variations(spec);
        // These are taken at multiples of an interval since the run's begin.
        spec["sample"] = Value::Null;
        spec["routings"][0]["link_state"] = Value::Null;
        // Their timers count from the run's begin.
        replace_disciplines(&mut spec, &["ared", "sfq"]);
        let is_linux = spec["stacks"].as_array().into_iter().flatten().any(|stack| stack["follows"] == "linux");
        let by = if is_linux { LINUX_PERIOD } else { PERIOD * periods };
        for (now, then) in results(&spec).into_iter().zip(results(&later(spec, by))) {
            prop_assert_eq!(now, then);
        }
    }
}
