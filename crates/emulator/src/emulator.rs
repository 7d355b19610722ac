//! Packets of Linux through the network, in whatever time the caller has.

use crate::flow_table::FlowTable;
use crate::packets;
use anabranch_core::packet::BuildError;
use anabranch_core::packet::capture::pcapng::Capture;
use anabranch_core::packet::emulated::{EmulatedNetwork, Taker};
use anabranch_core::spec::{LinkId, NodeId, RunSpec};
use anabranch_core::units::Time;
use std::collections::BTreeMap;

/// Who gets the packets that have reached their host.
pub trait Output {
    /// A packet reaches this host, and should have reached it at this time.
    fn write(&mut self, due: Time, host: NodeId, packet: &[u8]);
}

/// The network, the flows of its packets, and its captures.
pub struct Emulator {
    network: EmulatedNetwork<Vec<u8>>,
    flows: FlowTable,
    captures: BTreeMap<LinkId, Capture>,
    foreign: u64,
}

/// Takes packets out of the network, marked if a queue has marked them.
struct Ends<'run, O> {
    output: &'run mut O,
    captures: &'run mut BTreeMap<LinkId, Capture>,
}

impl<O: Output> Taker<Vec<u8>> for Ends<'_, O> {
    fn deliver(&mut self, at: Time, host: NodeId, mut packet: Vec<u8>, marked: bool) {
        if marked {
            packets::mark(&mut packet);
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
        let network = EmulatedNetwork::new(spec)?;
        Ok(Emulator { flows: FlowTable::new(&network), network, captures, foreign: 0 })
    }

    /// Moves packets on, up to this time.
    pub fn advance(&mut self, now: Time, output: &mut impl Output) {
        self.network.run_until(now, &mut Ends { output, captures: &mut self.captures });
    }

    /// A host sends a packet now. Packets other than IPv4 between the ends of a traffic group are counted as foreign, and dropped.
    pub fn send(&mut self, now: Time, packet: &[u8], output: &mut impl Output) {
        self.advance(now, output);
        let sent = packets::read(packet).and_then(|header| self.flows.look_up(&mut self.network, &header));
        match sent {
            Some(sent) => {
                self.network.send(sent, packet.to_vec(), &mut Ends { output, captures: &mut self.captures });
            }
            None => self.foreign += 1,
        }
    }

    /// When a packet moves next; [`Time::NEVER`] if none does.
    pub fn next_event(&self) -> Time {
        self.network.next_event()
    }

    /// The network.
    pub fn network(&self) -> &EmulatedNetwork<Vec<u8>> {
        &self.network
    }

    /// The network, to take its samples.
    pub fn network_mut(&mut self) -> &mut EmulatedNetwork<Vec<u8>> {
        &mut self.network
    }

    /// Packets dropped because they belong to no traffic group.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// The bytes of a link's capture since the last call; all calls together give the file. Empty if the run does not capture the link.
    pub fn take_capture(&mut self, link: LinkId) -> Vec<u8> {
        self.captures.get_mut(&link).map_or(Vec::new(), Capture::take)
    }
}

#[cfg(test)]
mod tests;
