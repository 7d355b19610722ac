//! The loop in windows equals the plain loop: every result of every flow and link, every sample, every captured packet, bit
//! for bit, over random networks in which hosts are routers too, with delays that are nought or alike.

use super::random_run::{dense_spec, mesh_spec, run_spec};
use crate::packet::oracle::compare::{disagreement, disagreement_in_parts};
use proptest::prelude::*;
use serde_json::Value;

fn check_agreement(spec: Value) -> Result<(), TestCaseError> {
    let spec = serde_json::from_value(spec).expect("the generator makes runs");
    prop_assert_eq!(disagreement(&spec).expect("the generator makes runs that can be"), None);
    Ok(())
}

/// The fast loop in parts equals itself, whatever a part is. Measured links are left out, which a run in parts has not.
fn check_parts(mut spec: Value, parts: usize) -> Result<(), TestCaseError> {
    spec["routings"][0]["link_state"] = Value::Null;
    let spec = serde_json::from_value(spec).expect("the generator makes runs");
    prop_assert_eq!(disagreement_in_parts(&spec, parts, false).expect("the generator makes runs that can be"), None);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn over_parallel_relays(spec in run_spec()) {
        check_agreement(spec)?;
    }

    #[test]
    fn where_packets_come_in_runs(spec in dense_spec()) {
        check_agreement(spec)?;
    }

    #[test]
    fn over_meshes(spec in mesh_spec()) {
        check_agreement(spec)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn of_parallel_relays_in_parts(spec in run_spec(), parts in 2usize..4) {
        check_parts(spec, parts)?;
    }

    #[test]
    fn of_meshes_in_parts(spec in mesh_spec(), parts in 2usize..5) {
        check_parts(spec, parts)?;
    }
}
