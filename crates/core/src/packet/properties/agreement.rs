//! The epoch loop equals the reference loop bit for bit: results of flows and links, samples and captures. The networks are random. Hosts
//! are routers too, and delays are zero or equal.

use super::random_run::{dense_spec, mesh_spec, run_spec};
use crate::packet::oracle::compare::{disagreement, disagreement_of_partitions};
use proptest::prelude::*;
use serde_json::Value;

fn check_agreement(spec: Value) -> Result<(), TestCaseError> {
    let spec = serde_json::from_value(spec).expect("the generator makes runs");
    prop_assert_eq!(disagreement(&spec).expect("the generator makes runs that can be"), None);
    Ok(())
}

/// Checks that a divided run equals the undivided run for any partitions. The run must not have a routing that measures its links.
fn check_partitions(mut spec: Value, partitions: usize) -> Result<(), TestCaseError> {
    spec["routings"][0]["link_state"] = Value::Null;
    let spec = serde_json::from_value(spec).expect("the generator makes runs");
    prop_assert_eq!(
        disagreement_of_partitions(&spec, partitions, false).expect("the generator makes runs that can be"),
        None
    );
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
    fn of_parallel_relays_in_partitions(spec in run_spec(), partitions in 2usize..4) {
        check_partitions(spec, partitions)?;
    }

    #[test]
    fn of_meshes_in_partitions(spec in mesh_spec(), partitions in 2usize..5) {
        check_partitions(spec, partitions)?;
    }
}
