//! Conservation of packets over random networks, traffic, queues, losses, sprayings and failures: every packet is accounted for. The
//! same run gives the same results in steps of any size, and no link exceeds its rate.

use super::random_run::{build, hasten, replace_disciplines, results, run_spec, without_variations};
use crate::packet::Simulation;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::hosts::flow::FlowState;
use crate::packet::oracle::event_loop::ReferenceLoop;
use crate::units::Time;
use proptest::prelude::*;
use serde_json::json;

/// Checks that all packets are accounted for at this time of a run.
fn check_books<L: EventLoop>(simulation: &Engine<L>) {
    let mut gone_or_inside = simulation.packets_without_route() + simulation.packets_expired();
    for (index, link) in simulation.network.links().iter().enumerate() {
        let counters = link.counters(simulation.now(), simulation.network.all_sizes(), simulation.network.fifos());
        let inside = link.packets_inside() as u64;
        assert_eq!(
            counters.offered,
            counters.queue_drops + counters.packets + counters.cut + inside,
            "link {index}: {counters:?}"
        );
        assert!(counters.losses - counters.cut - counters.refused <= counters.packets);
        gone_or_inside += counters.queue_drops + counters.losses + inside;
        // Bytes that crossed: at most the rate over time, and the packet that was complete at the start.
        let rate = simulation.spec.links[index].rate;
        let carried = link.most_departing(rate, Time::ZERO, simulation.now()).bytes_in(simulation.now() - Time::ZERO);
        assert!(counters.bytes <= carried + 1000, "link {index} carried {} of {carried}", counters.bytes);
    }
    let (by_hosts, to_hosts) = simulation.network.at_hosts();
    assert_eq!(by_hosts, to_hosts + gone_or_inside, "what hosts send arrives, or is lost, or is on its way");
    for (index, flow) in simulation.hosts.planned().iter().enumerate() {
        let sizes = simulation.network.sizes(index as u32);
        let counters = flow.state.counters(simulation.now(), sizes.last_segment);
        match &flow.state {
            FlowState::Tcp(connection) => {
                let board = connection.sender.scoreboard();
                let acknowledged = board.una().min(sizes.segments()); // of the data, without a FIN
                assert!(acknowledged <= counters.arrived && counters.arrived <= board.next());
                assert!(counters.longest_stall <= simulation.now() - flow.identity.start);
                assert_eq!(counters.sender.sent - counters.sender.retransmits, u64::from(board.next()));
            }
            FlowState::Finished(counters) => assert_eq!(counters.arrived, sizes.segments()),
            FlowState::Message(message) => {
                assert!(counters.arrived <= sizes.segments());
                assert_eq!(message.sender.in_flight(), message.sender.in_flight_by_books());
            }
            FlowState::Udp(_) => assert!(u64::from(counters.arrived) <= counters.sender.sent),
            FlowState::Multipath(connection) => {
                let data = &connection.data;
                assert!(data.una() <= connection.delivered() && connection.delivered() <= data.next());
                let first_sent = counters.sender.sent - counters.sender.retransmits;
                assert!(first_sent <= u64::from(data.next()), "a paced subflow has one more");
                let most = simulation.spec.stacks[0].window_segments();
                assert!(counters.receiver.reassembly_max <= most, "{counters:?}");
            }
            FlowState::Pending | FlowState::Subflow(_) => {}
        }
        assert!(counters.receiver.arrivals <= counters.sender.sent);
        assert!(u64::from(counters.arrived) <= counters.receiver.arrivals);
    }
}

fn check_all_along<L: EventLoop>(simulation: &mut Engine<L>) {
    let mut going = true;
    while going {
        let before = simulation.now();
        going = simulation.advance(997);
        assert!(simulation.now() >= before, "time goes back");
        check_books(simulation);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for_at_any_time(spec in run_spec()) {
        check_all_along(&mut build::<ReferenceLoop>(&spec));
        let mut simulation: Simulation = build(&spec);
        check_all_along(&mut simulation);
        let (flows, links) = (simulation.flow_table(), simulation.link_table());
        for name in ["utilisation", "queue_drop_ratio", "loss_ratio"] {
            for value in links.numbers(name) {
                prop_assert!((0.0..=1.0).contains(&value), "{name} {value}");
            }
        }
        for utilisation in simulation.take_link_series().numbers("utilisation") {
            prop_assert!((0.0..=1.0).contains(&utilisation), "{utilisation} in a sample");
        }
        let waits = links.numbers("queue_delay_mean_s").into_iter().zip(links.numbers("queue_delay_max_s"));
        for (mean, longest) in waits {
            prop_assert!(mean.is_nan() || mean <= longest * (1.0 + 1e-12), "mean {mean} of at most {longest}");
        }
        prop_assert_eq!(simulation.impossible_goodput(), None);
        let limits = ["receive_window", "application", "congestion_window", "pacing"]
            .map(|limit| flows.numbers(&format!("limited_by_{limit}")));
        for flow in 0..limits[0].len() {
            let shares = limits.each_ref().map(|shares| shares[flow]);
            prop_assert!(shares.iter().all(|share| share.is_nan() || (0.0..=1.0).contains(share)), "{shares:?}");
            let sum: f64 = shares.iter().sum();
            prop_assert!(sum.is_nan() || sum <= 1.0 + 1e-12, "{shares:?} of flow {flow}");
        }
        for (time, idle) in flows.numbers("fct_s").into_iter().zip(flows.numbers("idle_fct_s")) {
            prop_assert!(time.is_nan() || idle.is_nan() || time >= idle * (1.0 - 1e-12), "complete in {time} s of {idle} s");
        }
    }

    #[test]
    fn the_same_run_gives_the_same_results_in_steps_of_any_size(spec in run_spec()) {
        let mut at_once: Simulation = build(&spec);
        while at_once.advance(1_000_000) {}
        let mut by_steps: Simulation = build(&spec);
        while by_steps.advance(1) {}
        prop_assert_eq!(at_once.packet_hops(), by_steps.packet_hops());
        prop_assert_eq!(results(&mut at_once), results(&mut by_steps));
    }

    /// Twice the rates and half the times give the same counts: the engine has no constant in units of time except the
    /// stack's, which are scaled too.
    #[test]
    fn twice_the_rate_and_half_the_time_count_the_same(spec in run_spec()) {
        // Where a rate changes during a transmission, or jitter is drawn, times are rounded to picoseconds.
        let mut slow = without_variations(spec);
        // PIE, DualPI2 and adaptive RED have constants in units of time, and CAKE's turns depend on the rate.
        replace_disciplines(&mut slow, &["pie", "fq-pie", "dualpi2", "ared", "cake"]);
        // Half an odd number of picoseconds is rounded, so estimates could be equal in one run only.
        slow["routings"][0]["link_state"] = json!(null);
        // Only bulk flows of NewReno: random intervals are rounded to picoseconds, and some algorithms have constants in units of time.
        for group in slow["traffic"].as_array_mut().unwrap() {
            group["application"] = json!({"kind": "bulk", "bytes": 200_000});
            group["transport"] = json!({"tcp": {"stack": 0}});
        }
        slow["stacks"][0]["protocol"] = json!({"name": "tcp"});
        slow["stacks"][0]["entropy"] = json!(null);
        slow["stacks"][0]["congestion"] = json!({"name": "newreno"});
        slow["stacks"][0]["slow_start"] = json!({"name": "classic"});
        slow["stacks"][0]["detection"] = json!({"name": "dup-ack"});
        slow["stacks"][0]["ack"] = json!({"name": "immediate"});
        slow["stacks"][0]["pacing"] = json!(false);
        slow["stacks"][0]["follows"] = json!("rfc"); // Linux's clock has a fixed tick
        slow["stacks"][0]["rto_granularity"] = json!(10_000_000_000_u64);
        let mut fast = slow.clone();
        hasten(&mut fast, 2);
        let (mut slow, mut fast): (Simulation, Simulation) = (build(&slow), build(&fast));
        while slow.advance(1_000_000) {}
        while fast.advance(1_000_000) {}
        prop_assert_eq!(slow.packet_hops(), fast.packet_hops());
        for name in ["delivered_bytes", "segments_sent", "retransmits", "timeouts", "recoveries", "undone"] {
            prop_assert_eq!(slow.flow_table().numbers(name), fast.flow_table().numbers(name), "{}", name);
        }
    }
}
