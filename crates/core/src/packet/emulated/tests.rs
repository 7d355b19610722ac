//! Compares the network without hosts with the packet engine's network, on random networks with failures, losses, queues, sprayings and measured
//! routes. The oracle runs with its hosts, and the emulated network gets the packets that these hosts send. Both process the same event at every
//! step, deliver the same packets at the same time, and count the same.

use super::{EmulatedNetwork, SentPacket, Taker};
use crate::packet::Oracle;
use crate::packet::engine::EventLoop;
use crate::packet::engine::clock::NetworkEvent;
use crate::packet::engine::network::HostEvent;
use crate::packet::link::packet::{ACK, MARK, Packet, SYN};
use crate::packet::oracle::event_loop::ReferenceLoop;
use crate::packet::output::table::Table;
use crate::packet::properties::random_run::{build, mesh_spec, run_spec};
use crate::spec::{LinkId, NodeId};
use crate::units::Time;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Flow, segment, flags of the direction and the mark, and the time of a packet that reaches its host.
type Arrived = (u32, u32, bool, bool, Time);

#[derive(Default)]
struct Log {
    arrived: Vec<Arrived>,
    captured: Vec<(LinkId, Time)>,
}

impl Taker<Packet> for Log {
    fn deliver(&mut self, at: Time, _host: NodeId, packet: Packet, marked: bool) {
        // The oracle's ACKs echo marks by the flag that queues set on data.
        let marked = marked || packet.has(MARK);
        self.arrived.push((packet.flow(), packet.segment(), packet.has(ACK), marked, at));
    }

    fn capture(&mut self, at: Time, link: LinkId, _packet: &Packet) {
        self.captured.push((link, at));
    }
}

fn bits(table: &Table) -> Vec<u64> {
    table.columns.iter().flat_map(|(_, values)| values.bits()).collect()
}

/// Events of the oracle's hosts since the last call: packets that they have received, and packets that they have sent.
fn take_host_events(oracle: &mut Oracle, arrived: &mut Vec<Arrived>) -> Vec<(SentPacket, Packet)> {
    let now = oracle.now();
    let mut sent = Vec::new();
    for event in oracle.network.host_log.replace(Vec::new()).into_iter().flatten() {
        match event {
            HostEvent::Come(packet, _) => {
                arrived.push((packet.flow(), packet.segment(), packet.has(ACK), packet.has(MARK), now));
            }
            HostEvent::Sent(packet, number, _) => {
                let sizes = oracle.network.sizes(packet.flow());
                let packet_sent = SentPacket {
                    flow: packet.flow(),
                    reverse: packet.has(ACK),
                    number,
                    size: sizes.of(&packet) as u16,
                    ecn: sizes.ecn(&packet),
                    control: packet.has(ACK | SYN),
                };
                sent.push((packet_sent, packet));
            }
        }
    }
    sent
}

/// Whether the oracle's next event is one of links or of the network, and not of hosts.
fn is_next_of_links(oracle: &Oracle) -> bool {
    let event_loop = &oracle.event_loop;
    if event_loop.arrivals.first().0 < event_loop.arrivals_before {
        return true;
    }
    let next = event_loop.timers.first().min(event_loop.next_preceding);
    let is_of_network = next <= oracle.clock.end() && oracle.clock.next_network_event() == next;
    is_of_network && oracle.clock.next_network_event_itself() != Some(&NetworkEvent::Retire)
}

/// Linux sends no messages, no L4S, and chooses no entropy values: these runs have TCP without a policy.
fn check_in_step(mut spec: Value) -> Result<(), TestCaseError> {
    for stack in spec["stacks"].as_array_mut().into_iter().flatten() {
        stack["protocol"] = json!({"name": "tcp"});
        stack["entropy"] = Value::Null;
        stack["l4s"] = json!(false);
    }
    let mut oracle: Oracle = build::<ReferenceLoop>(&spec);
    oracle.network.host_log = Some(Vec::new());
    let spec = serde_json::from_value(spec).expect("the generator makes runs");
    let mut emulated = EmulatedNetwork::<Packet>::new(spec).expect("the generator makes runs that can be");
    let (mut log, mut arrived) = (Log::default(), Vec::new());
    loop {
        let is_of_links = is_next_of_links(&oracle);
        let (arrival, link) = oracle.event_loop.arrivals.first();
        if is_of_links && arrival < Time::NEVER {
            prop_assert_eq!(emulated.arrivals.first(), (arrival, link), "the next event of a link");
        }
        let goes_on = ReferenceLoop::advance(&mut oracle, 1);
        if is_of_links {
            emulated.step(&mut log);
        }
        emulated.clock.set(oracle.now());
        for (sent, packet) in take_host_events(&mut oracle, &mut arrived) {
            emulated.send(sent, packet, &mut log);
        }
        prop_assert_eq!(&log.arrived, &arrived);
        if !goes_on {
            break;
        }
        log.arrived.clear();
        arrived.clear();
    }
    prop_assert_eq!(emulated.packet_hops(), oracle.packet_hops());
    prop_assert_eq!(emulated.packets_without_route(), oracle.packets_without_route());
    prop_assert_eq!(emulated.packets_expired(), oracle.packets_expired());
    let ends = oracle.hosts.planned().iter().map(|flow| flow.end);
    prop_assert_eq!(bits(&emulated.link_table(ends)), bits(&oracle.link_table()));
    prop_assert_eq!(bits(&emulated.take_link_series()), bits(&oracle.take_link_series()));
    prop_assert_eq!(bits(&emulated.take_link_state()), bits(&oracle.take_link_state()));
    prop_assert_eq!(emulated.route_changes().len(), oracle.route_changes().len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn over_parallel_relays_it_goes_in_step_with_the_oracle(spec in run_spec()) {
        check_in_step(spec)?;
    }

    #[test]
    fn over_meshes_it_goes_in_step_with_the_oracle(spec in mesh_spec()) {
        check_in_step(spec)?;
    }
}
