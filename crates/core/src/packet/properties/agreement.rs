//! The loop in windows equals the plain loop: every result of every flow and link, every sample, every captured packet, bit
//! for bit, over random networks in which hosts are routers too, with delays that are nought or alike.

use super::super::compare::disagreement;
use super::random_run::{mesh_spec, run_spec};
use proptest::prelude::*;
use serde_json::Value;

fn check_agreement(spec: Value) -> Result<(), TestCaseError> {
    let spec = serde_json::from_value(spec).expect("the generator makes runs");
    prop_assert_eq!(disagreement(&spec).expect("the generator makes runs that can be"), None);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn over_parallel_relays(spec in run_spec()) {
        check_agreement(spec)?;
    }

    #[test]
    fn over_meshes(spec in mesh_spec()) {
        check_agreement(spec)?;
    }
}
