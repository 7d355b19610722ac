//! The loop in windows equals the plain loop: every result of every flow and link, every sample, every captured packet, bit
//! for bit, over random networks in which hosts are routers too, with delays that are nought or alike.

use super::super::Simulation;
use super::super::plain::Plain;
use super::random_run::{build, mesh_spec, results, run_spec};
use proptest::prelude::*;
use serde_json::Value;

fn check_agreement(spec: &Value) -> Result<(), TestCaseError> {
    let mut plain = build::<Plain>(spec);
    let mut windows: Simulation = build(spec);
    while plain.advance(1_000_000) {}
    while windows.advance(1_000_000) {}
    prop_assert_eq!(plain.packet_hops(), windows.packet_hops());
    prop_assert_eq!(plain.packets_without_route(), windows.packets_without_route());
    prop_assert_eq!(plain.packets_expired(), windows.packets_expired());
    let links = spec["links"].as_array().map_or(0, Vec::len) as u32;
    for link in 0..links {
        prop_assert_eq!(plain.take_capture(link), windows.take_capture(link), "capture of link {}", link);
    }
    prop_assert_eq!(results(&mut plain), results(&mut windows));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn over_parallel_relays(spec in run_spec()) {
        check_agreement(&spec)?;
    }

    #[test]
    fn over_meshes(spec in mesh_spec()) {
        check_agreement(&spec)?;
    }
}
