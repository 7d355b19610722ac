//! Sends packets of Linux through the network, at times that the caller sets.

use crate::flow_table::FlowTable;
use crate::network::{Network, Output};
use crate::packets::{self, FiveTuple};
use crate::round_trips::RoundTrips;
use anabranch_core::packet::BuildError;
use anabranch_core::packet::capture::pcapng::Capture;
use anabranch_core::packet::emulated::{DelayFigures, EmulatedNetwork, Taker};
use anabranch_core::packet::output::table::Table;
use anabranch_core::spec::{LinkId, NodeId, RunSpec};
use anabranch_core::units::Time;
use std::collections::BTreeMap;

/// Events since the last report.
pub struct Report {
    /// The time reached.
    pub now: Time,
    /// Packets that have crossed a link.
    pub packet_hops: u64,
    /// Samples of links.
    pub link_series: Table,
    /// Samples of routings that measure links.
    pub link_state: Table,
    /// Pieces of captures.
    pub captures: Vec<(LinkId, Vec<u8>)>,
}

/// The network, the flows of its packets, and its captures.
pub struct Emulator {
    network: EmulatedNetwork<Vec<u8>>,
    flows: FlowTable,
    captures: BTreeMap<LinkId, Capture>,
    /// If the run asks for delays.
    round_trips: Option<RoundTrips>,
    foreign: u64,
}

/// Takes packets out of the network, marked if a queue has marked them.
struct Ends<'run, O> {
    output: &'run mut O,
    captures: &'run mut BTreeMap<LinkId, Capture>,
    round_trips: &'run mut Option<RoundTrips>,
}

impl<O: Output> Taker<Vec<u8>> for Ends<'_, O> {
    fn deliver(&mut self, at: Time, host: NodeId, mut packet: Vec<u8>, marked: bool) {
        if marked {
            packets::mark(&mut packet);
        }
        if let Some(round_trips) = self.round_trips {
            round_trips.on_delivered(at, &packet);
        }
        self.output.write(at, host, &packet);
    }

    fn capture(&mut self, at: Time, link: LinkId, packet: &Vec<u8>) {
        if let Some(capture) = self.captures.get_mut(&link) {
            capture.record_bytes(at, packet);
        }
    }
}

impl Emulator {
    /// The network of a run, idle, at time zero.
    ///
    /// # Errors
    /// As for the packet engine.
    pub fn new(spec: RunSpec) -> Result<Emulator, BuildError> {
        let name = |link: LinkId| {
            let ends = &spec.links[link as usize];
            format!("{}-{}", spec.nodes[ends.src as usize], spec.nodes[ends.dst as usize])
        };
        let named = spec.captures.iter().filter(|link| (**link as usize) < spec.links.len());
        let captures = named.map(|link| (*link, Capture::new(&name(*link)))).collect();
        let round_trips = spec.delays.then(|| RoundTrips::new(Time::ZERO + spec.warm_up));
        let network = EmulatedNetwork::new(spec)?;
        Ok(Emulator { flows: FlowTable::new(&network), network, captures, round_trips, foreign: 0 })
    }

    /// The network.
    pub fn network(&self) -> &EmulatedNetwork<Vec<u8>> {
        &self.network
    }

    /// Figures about the delays of a flow. Flows of another program, and connections with subflows, have no round trips.
    pub fn delay_figures(&self, flow: u32) -> DelayFigures {
        let ends = self.network.endpoints(flow);
        let data = FiveTuple { source: ends.sender, destination: ends.receiver, protocol: packets::TCP };
        let known = self.round_trips.as_ref().filter(|_| !self.network.has_subflows(flow));
        let samples = known.and_then(|round_trips| round_trips.samples(&data));
        self.network.delay_figures(flow, samples)
    }

    /// Packets dropped because they belong to no traffic group.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Reports the events since the last call.
    pub fn report(&mut self) -> Report {
        let captures = self.captures.iter_mut();
        Report {
            now: self.network.now(),
            packet_hops: self.network.packet_hops(),
            link_series: self.network.take_link_series(),
            link_state: self.network.take_link_state(),
            captures: captures.map(|(link, capture)| (*link, capture.take())).collect(),
        }
    }
}

/// The device of a host has the number of its node.
impl Network for Emulator {
    /// Sends a packet of a device. Packets other than IPv4 between the ends of a traffic group are counted as
    /// foreign, and dropped.
    fn send(&mut self, now: Time, _device: NodeId, packet: &[u8], output: &mut impl Output) {
        self.advance(now, output);
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.on_sent(now, packet);
        }
        let sent = packets::read(packet).and_then(|header| self.flows.look_up(&mut self.network, &header));
        match sent {
            Some(sent) => {
                let Emulator { network, captures, round_trips, .. } = self;
                network.send(sent, packet.to_vec(), &mut Ends { output, captures, round_trips });
            }
            None => self.foreign += 1,
        }
    }

    fn advance(&mut self, now: Time, output: &mut impl Output) {
        let Emulator { network, captures, round_trips, .. } = self;
        network.run_until(now, &mut Ends { output, captures, round_trips });
    }

    fn next_event(&self) -> Time {
        self.network.next_event()
    }
}

#[cfg(test)]
mod tests;
