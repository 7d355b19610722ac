//! Delays that a run records, against the times of all packets at their hosts.

use super::random_run::{mesh_spec, run_spec};
use crate::histogram::tests::exact_quantile;
use crate::packet::Oracle;
use crate::packet::engine::network::HostEvent;
use crate::packet::hosts::delays;
use crate::packet::output::table::Table;
use crate::spec::RunSpec;
use crate::units::Time;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

fn spec_with_delays(mut spec: Value, delays: bool) -> RunSpec {
    spec["delays"] = json!(delays);
    serde_json::from_value(spec).expect("the generator makes runs")
}

fn finished(spec: RunSpec) -> Oracle {
    let mut oracle = Oracle::new(spec).expect("a run that can be");
    oracle.network.host_log = Some(Vec::new());
    while oracle.advance(1 << 20) {}
    oracle
}

/// The delays of each flow's data, in the order of arrival after the warm-up. The log has packets before they are stamped. So a segment's
/// arrival belongs to its first transmission that has not arrived, where each was sent once. The log does not tell which connection
/// a subflow belongs to.
fn delays_by_flow(oracle: &mut Oracle, flows: usize) -> Vec<Option<Vec<u64>>> {
    let warm_up = Time::ZERO + oracle.spec.warm_up;
    let mut sent: HashMap<(u32, u32), Vec<Time>> = HashMap::new();
    let is_one =
        |flow| oracle.spec.subflows_of(&oracle.spec.traffic[oracle.hosts.identity(flow).group as usize]).is_none();
    let mut by_flow: Vec<_> = (0..flows as u32).map(|flow| is_one(flow).then(Vec::new)).collect();
    for event in oracle.network.host_log.take().into_iter().flatten() {
        match event {
            HostEvent::Sent(packet, _, at) if delays::counts(&packet) => {
                sent.entry((packet.flow(), packet.segment())).or_default().push(at);
            }
            HostEvent::Come(packet, at) if delays::counts(&packet) => {
                let Some(of_flow) = by_flow.get_mut(packet.flow() as usize) else { continue };
                let sent = &sent[&(packet.flow(), packet.segment())];
                if sent.len() > 1 {
                    *of_flow = None; // sent again: the log does not tell which one has come
                } else if let Some(list) = of_flow.as_mut().filter(|_| at >= warm_up) {
                    list.push((at - sent[0]).0); // at its end, the warm-up ends before a packet arrives
                }
            }
            _ => {}
        }
    }
    by_flow
}

/// The columns that are known only with delays.
fn is_recorded(column: &str) -> bool {
    ["delay_m", "delay_p", "rtt_m", "rtt_p", "jitter_s", "queue_delay_median", "queue_delay_p"]
        .iter()
        .any(|start| column.starts_with(start))
}

fn check_unchanged(with: &Table, without: &Table) -> Result<(), TestCaseError> {
    for ((name, recorded), (_, plain)) in with.columns.iter().zip(&without.columns) {
        if is_recorded(name) {
            prop_assert!(without.numbers(name).iter().all(|value| value.is_nan()), "{name} is unknown");
        } else {
            prop_assert_eq!(recorded.bits(), plain.bits(), "{}", name);
        }
    }
    Ok(())
}

fn check(spec: Value) -> Result<(), TestCaseError> {
    let mut oracle = finished(spec_with_delays(spec.clone(), true));
    let plain = finished(spec_with_delays(spec, false));
    let (flows, links) = (oracle.flow_table(), oracle.link_table());
    check_unchanged(&flows, &plain.flow_table())?;
    check_unchanged(&links, &plain.link_table())?;
    let figures = |row: usize| {
        ["delay_median_s", "delay_p95_s", "delay_p99_s", "delay_max_s", "delay_mean_s", "jitter_s"]
            .map(|column| flows.numbers(column)[row] * 1e12)
    };
    let count = flows.numbers("delay_mean_s").len();
    for (flow, delays) in delays_by_flow(&mut oracle, count).into_iter().enumerate() {
        let Some(mut delays) = delays else { continue };
        let [found @ .., greatest, mean, jitter] = figures(flow);
        if delays.is_empty() {
            prop_assert!(greatest.is_nan() && mean.is_nan() && jitter.is_nan() && found[0].is_nan());
            continue;
        }
        let differences = delays.windows(2).map(|pair| pair[0].abs_diff(pair[1]) as f64);
        let exact = differences.fold(0.0, |jitter, difference| jitter + (difference - jitter) / 16.0);
        prop_assert!(delays.len() == 1 && jitter.is_nan() || (jitter - exact).abs() <= exact * 1e-9 + 1e-3);
        delays.sort_unstable();
        for (share, found) in [0.5, 0.95, 0.99].into_iter().zip(found) {
            let exact = exact_quantile(&delays, share) as f64;
            prop_assert!((found - exact).abs() <= exact / 256.0 + 1e-3, "{share}: {found} and {exact}");
        }
        prop_assert!((greatest / delays[delays.len() - 1] as f64 - 1.0).abs() < 1e-9);
        let exact = delays.iter().map(|delay| *delay as f64).sum::<f64>() / delays.len() as f64;
        prop_assert!((mean / exact - 1.0).abs() < 1e-9, "{mean} and {exact}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn are_those_of_all_packets_and_change_nothing(spec in run_spec()) {
        check(spec)?;
    }

    #[test]
    fn are_those_of_all_packets_over_meshes(spec in mesh_spec()) {
        check(spec)?;
    }
}
