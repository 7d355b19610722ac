//! Flow queues with CoDel, RFC 8290: each flow has a queue with a CoDel of its own, and flows take turns. As in Linux (`sch_fq_codel.c`), CoDel takes
//! the queue as standing while the link holds more than one packet of all flows.
//!
//! Linux's limit of memory counts its buffers. Here only `limit` counts, in packets or bytes. There is no `ce_threshold`.

use super::codel::Codel;
use super::flow_queues::FlowQueues;
use super::{Admission, AtService, Build, Coming, Decision, Dequeued, Discipline, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The queues, and the CoDel of each.
    pub struct Parameters {
        /// Acceptable standing wait of a flow.
        pub target: Duration = Duration::from_millis(5);
        /// The wait must stay above target this long.
        pub interval: Duration = Duration::from_millis(100);
        /// Bytes that a flow sends in its turn.
        pub quantum: u32 = 1514, in 1..=1048576;
        /// Queues, to which a hash assigns flows.
        pub flows: u32 = 1024, in 1..=65536;
        /// Packets that a full queue drops at once, at most, from the flow with the most bytes.
        pub drop_batch: u32 = 64, in 1..=u32::MAX;
        /// Marks ECN-capable packets instead of dropping them.
        pub ecn: bool = true;
    }
    check is_ordered
}

fn is_ordered(parameters: &Parameters) -> Result<(), String> {
    super::codel::check_target(parameters.target, parameters.interval)
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::AtService(Box::new(FqCodel {
            settings: *self,
            limit: place.limit,
            flows: FlowQueues::new(self.flows, self.quantum, place.draws),
        }))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(10_240)
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

struct FqCodel {
    settings: Parameters,
    limit: QueueLimit,
    /// The CoDel of a flow exists from its first packet on.
    flows: FlowQueues<Option<Codel>>,
}

impl FqCodel {
    /// Drops from the head of the queue with the most bytes: half of it, but at most a batch. Returns whether the packet that comes to queue `coming`
    /// remains: it may be the only one of its queue.
    fn drop_from_fattest(&mut self, coming: u32, size: u32, dropped: &mut Vec<Packet>) -> bool {
        let (fattest, bytes) = self.flows.fattest(coming, size);
        let (mut count, mut gone) = (0, 0);
        let mut remains = true;
        while remains && (count == 0 || count < self.settings.drop_batch && gone < bytes / 2) {
            match self.flows.pop(fattest) {
                Some(held) => {
                    gone += u64::from(held.size);
                    dropped.push(held.packet);
                }
                None => remains = false,
            }
            count += 1;
        }
        self.codel(fattest).count_other_drops(count);
        remains
    }

    fn codel(&mut self, number: u32) -> &mut Codel {
        let Parameters { target, interval, ecn, .. } = self.settings;
        self.flows.queue(number).state.get_or_insert_with(|| Codel::new(target, interval, ecn))
    }
}

impl AtService for FqCodel {
    fn admit(
        &mut self,
        packet: &mut Packet,
        coming: &Coming,
        sizes: &FlowSizes,
        dropped: &mut Vec<Packet>,
    ) -> Admission {
        let size = sizes[packet.flow() as usize].of(packet);
        let number = self.flows.number(coming.flow);
        while !coming.has_room(self.limit, self.flows.backlog(), size) {
            if !self.drop_from_fattest(number, size, dropped) {
                return Admission::Refused;
            }
        }
        Admission::Accepted
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.flows.push_with_quantum(packet, size, coming);
    }

    fn pass(&mut self, packet: Packet, size: u32, coming: &Coming, sizes: &FlowSizes) {
        self.enqueue(packet, size, coming);
        self.dequeue(coming.now, sizes, &mut Vec::new());
    }

    fn dequeue(&mut self, now: Time, sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        let mtu = u64::from(sizes.largest());
        while let Some(number) = self.flows.turn() {
            let Some(held) = self.flows.pop(number) else {
                self.codel(number).on_empty();
                self.flows.leave();
                continue;
            };
            let left = self.flows.backlog().1;
            let ecn_capable = sizes[held.packet.flow() as usize].may_be_marked(&held.packet);
            match self.codel(number).dequeue(now, now - held.since, left, mtu, ecn_capable) {
                Decision::Drop => dropped.push(held.packet),
                decision => {
                    self.flows.charge(number, held.size);
                    let marks = decision == Decision::Mark;
                    return Some(Dequeued { packet: held.packet, since: held.since, marks });
                }
            }
        }
        None
    }

    fn backlog(&self) -> (u32, u64) {
        self.flows.backlog()
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.flows.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::link::packet_sizes::{IpEcn, PacketSizes};
    use crate::packet::link::queue::FlowKey;
    use crate::rng::{Purpose, Stream};
    use crate::units::Rate;

    fn coming(flow: u32) -> Coming {
        let flow = FlowKey { flow, reverse: false, entropy: 0 };
        Coming { now: Time::ZERO, flow, transmitting: None, at_last_hop: false }
    }

    /// Flow 0 has nine packets of 1500 bytes, flow 1 has one, and there is room for ten. Half of flow 0 is 6750 bytes, which five packets exceed.
    #[test]
    fn a_full_queue_drops_half_of_the_flow_with_the_most_bytes_from_its_head() {
        let draws = Stream::new(1, Purpose::QueueManagement, 0);
        let place = Place { limit: QueueLimit::Packets(10), rate: Rate(8_000_000), draws };
        let Discipline::AtService(mut queue) = Parameters::default().build(place) else { panic!("it holds packets") };
        let sizes = FlowSizes::new(vec![PacketSizes::new(1500, 1500, 40, IpEcn::NotEct, u32::MAX); 2]);
        let mut dropped = Vec::new();
        for (number, flow) in [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1].into_iter().enumerate() {
            let mut packet = Packet::new(flow, number as u32, 0, 0);
            assert_eq!(queue.admit(&mut packet, &coming(flow), &sizes, &mut dropped), Admission::Accepted);
            queue.enqueue(packet, 1500, &coming(flow));
        }
        assert_eq!(
            dropped.iter().map(|packet| (packet.flow(), packet.segment())).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4].map(|number| (0, number))
        );
        let leave = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &sizes, &mut Vec::new()));
        // Each flow sends 1514 bytes in its turn, which is a packet and a bit of the next one.
        assert_eq!(leave.map(|left| left.packet.flow()).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0]);
    }
}
