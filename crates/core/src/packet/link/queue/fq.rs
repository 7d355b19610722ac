//! Fair queueing, as Linux has it (`sch_fq.c`): a queue for each flow, and flows take turns. It has no control of delay: full queues drop what comes.
//!
//! Linux's `fq` also paces the flows of its own host. Pacing belongs to the hosts here, and a router's `fq` has none.

use super::flow_queues::{FlowQueue, FlowQueues};
use super::{Admission, AtService, Build, Coming, Dequeued, Discipline, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The queues and their turns.
    pub struct Parameters {
        /// Packets that the queue of a flow holds.
        pub flow_limit: u32 = 100, in 1..=u32::MAX;
        /// Bytes that a flow sends in its turn.
        pub quantum: u32 = 3028, in 1..=1048576;
        /// Bytes that a flow sends in its first turn.
        pub initial_quantum: u32 = 15140, in 1..=1048576;
        /// A flow that had no packets for longer begins with a full quantum.
        pub refill_delay: Duration = Duration::from_millis(40);
        /// Queues, less one, to which a hash assigns flows.
        pub orphan_mask: u32 = 1023, in 0..=65535;
    }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        let flows = FlowQueues::new(self.orphan_mask + 1, self.quantum, place.draws);
        Discipline::AtService(Box::new(Fq { settings: *self, limit: place.limit, flows }))
    }

    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Packets(10_000)
    }
}

/// When the queue of a flow was left without packets; `None` before its first packet.
type Emptied = Option<Time>;

struct Fq {
    settings: Parameters,
    limit: QueueLimit,
    flows: FlowQueues<Emptied>,
}

impl AtService for Fq {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        let size = sizes[packet.flow() as usize].of(packet);
        let number = self.flows.number(coming.flow);
        let waiting = self.flows.queue(number).line.packets();
        let has_room = coming.has_room(self.limit, self.flows.backlog(), size) && waiting < self.settings.flow_limit;
        if has_room { Admission::Accepted } else { Admission::Refused }
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        let Parameters { quantum, initial_quantum, refill_delay, .. } = self.settings;
        self.flows.push(packet, size, coming, |queue: &FlowQueue<Emptied>| match queue.state {
            None => initial_quantum.into(),
            Some(emptied) if coming.now - emptied > refill_delay => queue.deficit.max(quantum.into()),
            Some(_) => queue.deficit,
        });
    }

    fn pass(&mut self, packet: Packet, size: u32, coming: &Coming, sizes: &FlowSizes) {
        self.enqueue(packet, size, coming);
        self.dequeue(coming.now, sizes, &mut Vec::new());
    }

    fn dequeue(&mut self, now: Time, _sizes: &FlowSizes, _dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        // Linux looks at the lists only while packets wait.
        while self.flows.backlog().0 > 0 {
            let number = self.flows.turn()?;
            if let Some(held) = self.flows.pop(number) {
                self.flows.charge(number, held.size);
                return Some(Dequeued { packet: held.packet, since: held.since, marks: false });
            }
            self.flows.leave();
            self.flows.queue(number).state = Some(now);
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
